//! Sender-assisted reads: how a receiver reads a long message, alone or with its sender's help.

use crate::transport::AlignedBytes;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::endpoint::state::request::RequestState;
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::cross_memory_attach::{self, Outcome};
use crate::transport::shm::memory::iovec::{Iovec, Sink};
use crate::transport::shm::protocol::choose::Protocol;
use crate::transport::shm::protocol::copy_protocol::{CopyProtocol, LongMessage, Timed};
use crate::transport::shm::protocol::send_descriptors::{self, Besides, Entry, Found};
use crate::transport::shm::rendezvous::descriptor::Claim;
use crate::transport::shm::rendezvous::sender_assisted::{self, SenderAssist, Target};
use crate::transport::shm::tuning::{ASSISTED_BOUNCED_PIECE, ASSISTED_LANDED};
use std::sync::Arc;
use std::time::Instant;

/// Gives a sender that is about to bounce `piece` the time to begin: that takes it a third of what the system takes to bring
/// the piece here.
fn let_begin(assist: &SenderAssist, piece: u64) {
    /// About a microsecond.
    const LOOKS: u32 = 64;
    let mut looks = 0..LOOKS;
    while looks.next().is_some() && !assist.is_taken(piece) {
        std::hint::spin_loop();
    }
}

impl Endpoint {
    /// Reads a long message that was claimed.
    pub(crate) fn read<I: Iterator<Item = Iovec>>(
        &mut self,
        request: &RequestState,
        sender: u32,
        entry: &Entry,
        claim: &Claim<'_>,
        mut sink: Sink<I>,
    ) -> Outcome {
        let timed = self.begin_read((request, sender), entry, !sink.copies());
        let timed = timed.map(|timed| timed.after(claim.filled() as usize));
        let protocol = timed.and_then(|timed| timed.protocol);
        let outcome = self.read_in(protocol, (request, sender), (entry, claim), &mut sink);
        match (timed, &outcome) {
            (timed, Outcome::All) if entry.besides().exchanged => {
                request.exchanges.read(self, sender, timed);
            }
            (Some(timed), Outcome::All) => {
                let trials = self.trials(sender);
                trials.into_iter().for_each(|trials| trials.end(timed));
            }
            _ => {}
        }
        outcome
    }

    /// Begins to read a message, which is `combined` with what is there or not, and tells its sender which copy protocol is wanted for the
    /// next one.
    pub(super) fn begin_read(
        &mut self,
        (request, sender): (&RequestState, u32),
        entry: &Entry,
        combined: bool,
    ) -> Option<Timed> {
        if request.has_deferred() {
            // Both copy to where the message goes while the receiver's own copy waits: nothing else is as soon.
            entry.set_copy_protocol(Some(CopyProtocol::Assisted));
            return None;
        }
        let Besides { exchanged, alone } = entry.besides();
        let message = LongMessage {
            bytes: entry.bytes() as usize,
            combined,
            exchanged,
            alone,
            copied: request.copies_what_goes_to(sender),
        };
        self.begin_timed(request, sender, entry, message)
    }

    /// Finds out which copy protocol is wanted for a message, and tells its sender; none where it is always the same.
    fn begin_timed(
        &mut self,
        request: &RequestState,
        sender: u32,
        entry: &Entry,
        message: LongMessage,
    ) -> Option<Timed> {
        let of_exchange = message.exchanged.then(|| request.exchanges.since());
        let since = || of_exchange.unwrap_or_else(|| Some(Instant::now()));
        let trials = self.trials(sender)?;
        let timed = trials.begin(message, (entry.way(), entry.protocol()), since)?;
        if !message.exchanged {
            entry.set_copy_protocol(timed.protocol);
        }
        Some(timed)
    }

    /// Reads a message by a copy protocol, as far as its sender lets one choose.
    fn read_in<I: Iterator<Item = Iovec>>(
        &mut self,
        protocol: Option<CopyProtocol>,
        (request, sender): (&RequestState, u32),
        (entry, claim): (&Entry, &Claim<'_>),
        sink: &mut Sink<I>,
    ) -> Outcome {
        let segment = Arc::clone(&self.segment);
        let is_bounced = entry.way() == Protocol::Bounce;
        if entry.way() == Protocol::Assisted
            && let Some(outcome) = self.read_assisted(request, sender, entry, sink)
        {
            return outcome;
        }
        let from_bounce_buffer = match protocol {
            Some(CopyProtocol::Strings | CopyProtocol::Vectors) => Distance::Near,
            // As of medium buffers.
            _ if segment.is_oversubscribed() => Distance::Near,
            _ => Distance::Back,
        };
        for found in entry.found(segment.arena()) {
            let outcome = match found {
                // SAFETY: claimed, so readable until the claim is dropped; aligned for elements, as every iovec of a
                // message is; the sink's memory is the call's own.
                Found::Here(iovec) if !is_bounced => unsafe {
                    sink.feed(iovec, segment.distance());
                    Outcome::All
                },
                Found::Here(iovec) => {
                    self.read_bounced(sender, claim, (iovec, from_bounce_buffer), sink)
                }
                Found::There(iovec) => {
                    cross_memory_attach::read(entry.process(), iovec, sink, &mut self.landing)
                }
            };
            if !matches!(outcome, Outcome::All) {
                return outcome;
            }
        }
        Outcome::All
    }

    /// Reads a message together with its sender; none where that does not pay or has failed.
    fn read_assisted<I: Iterator<Item = Iovec>>(
        &mut self,
        request: &RequestState,
        sender: u32,
        entry: &Entry,
        sink: &mut Sink<I>,
    ) -> Option<Outcome> {
        if !self.segment.may_assist() {
            return None;
        }
        let bytes = entry.bytes() as usize;
        let from = entry.single(self.segment.arena())?;
        match from {
            // While an own copy goes on, the few bounce buffers would soon be full.
            Found::There(from) if !sink.copies() || !request.has_deferred() => {
                self.take_from_bounce_buffers(sender, entry, from, sink)
            }
            _ => self.copy_assisted(request, sender, entry, from, sink.single(bytes)?),
        }
    }

    /// Copies `from` to `into`, some pieces here and some at the sender.
    fn copy_assisted(
        &self,
        request: &RequestState,
        sender: u32,
        entry: &Entry,
        from: Found,
        into: Iovec,
    ) -> Option<Outcome> {
        let (assist, piece_bytes) = (&entry.assist, sender_assisted::piece_bytes(into.bytes));
        let pieces = into.bytes.div_ceil(piece_bytes) as u64;
        let target = Target::Memory {
            place: send_descriptors::encode(self.segment.arena(), into),
            process: self.segment.arena().process(),
        };
        assist.open(piece_bytes, target);
        request.finish_deferred();
        let (mut own, mut outcome) = (0, Outcome::All);
        let distance = self.segment.distance();
        while outcome == Outcome::All
            && let Some(piece) = assist.take(pieces)
        {
            let start = piece as usize * piece_bytes;
            let here = into.piece(start, piece_bytes);
            outcome = match from.piece(start, piece_bytes) {
                // SAFETY: claimed, so readable until the claim is dropped; the sink's memory is the call's own, and this
                // piece of it is ours alone.
                Found::Here(iovec) => unsafe {
                    distance.copy(iovec.address, here.address, here.bytes);
                    Outcome::All
                },
                // SAFETY: as above.
                Found::There(iovec) => unsafe {
                    cross_memory_attach::fetch(entry.process(), iovec, here)
                },
            };
            own += 1;
        }
        let (theirs, mut look) = (assist.close() - own, 0);
        loop {
            let (copied, well) = assist.copied();
            if copied == theirs {
                return (well || outcome != Outcome::All).then_some(outcome);
            }
            if let Some(gone) = self.wait_for_sender(sender, &mut look) {
                return Some(gone);
            }
        }
    }

    /// Takes what is in `from`, in pieces that the sender has bounced and pieces that are read here.
    fn take_from_bounce_buffers<I: Iterator<Item = Iovec>>(
        &mut self,
        sender: u32,
        entry: &Entry,
        from: Iovec,
        sink: &mut Sink<I>,
    ) -> Option<Outcome> {
        let (assist, grain) = (&entry.assist, sink.grain());
        let piece_bytes = (ASSISTED_BOUNCED_PIECE / grain).max(1) * grain;
        let segment = Arc::clone(&self.segment);
        entry.bounced(segment.arena(), 0, 0)?;
        if self.landing.len() < ASSISTED_LANDED * piece_bytes {
            self.landing = AlignedBytes::zeroed(ASSISTED_LANDED * piece_bytes);
        }
        // Once the sender has bounced something it would be too late to find out that this process may not read for itself.
        let allowed = self.land(entry, from.piece(0, grain)).1;
        if allowed != Outcome::All {
            return Some(allowed);
        }
        assist.open(piece_bytes, Target::BounceBuffers);
        let (mut done, mut bounced, mut look, mut outcome) = (0, 0, 0, Outcome::All);
        while done < from.bytes && outcome == Outcome::All {
            let piece = (done / piece_bytes) as u64;
            // A sender that has not come may have other things to do: fewer calls then.
            let most = if bounced > 0 { 1 } else { ASSISTED_LANDED };
            let count = (from.bytes - done).div_ceil(piece_bytes).min(most);
            let (mut here, mut distance) = (from.piece(done, piece_bytes), Distance::Near);
            if done == 0 || bounced > 0 {
                let_begin(assist, piece);
            }
            if assist.take_these(piece, count as u64) {
                (here, outcome) = self.land(entry, from.piece(done, count * piece_bytes));
                if outcome == Outcome::Forbidden {
                    outcome = Outcome::Failed(1);
                }
            } else {
                while outcome == Outcome::All && assist.copied().0 == bounced {
                    outcome = self
                        .wait_for_sender(sender, &mut look)
                        .unwrap_or(Outcome::All);
                }
                let at = SenderAssist::bounce_buffer(bounced, piece_bytes);
                here = entry.bounced(segment.arena(), at, here.bytes)?;
                (bounced, distance) = (bounced + 1, Distance::Back);
            }
            if outcome == Outcome::All {
                // SAFETY: filled, by us or by the sender, who leaves it until it is told that it is used, and nobody else
                // reads it; whole elements, aligned, as all pieces and bounce buffers begin at whole elements; the sink's memory is
                // the call's own.
                unsafe { sink.feed(here, distance) };
                assist.combined(bounced);
                done += here.bytes;
            }
        }
        assist.close();
        Some(outcome)
    }

    /// Reads a part of a sender's memory to where pieces land, which is long enough for it; gives where it is then.
    fn land(&self, entry: &Entry, there: Iovec) -> (Iovec, Outcome) {
        let here = Iovec {
            address: self.landing.address(),
            bytes: there.bytes,
        };
        debug_assert!(here.bytes <= self.landing.len(), "pieces have room");
        // SAFETY: `landing` is ours and is long enough.
        let outcome = unsafe { cross_memory_attach::fetch(entry.process(), there, here) };
        (here, outcome)
    }

    /// Reads a message while its sender bounces it.
    fn read_bounced<I: Iterator<Item = Iovec>>(
        &self,
        sender: u32,
        claim: &Claim<'_>,
        bounced: (Iovec, Distance),
        sink: &mut Sink<I>,
    ) -> Outcome {
        // SAFETY: what is filled is readable until the claim is dropped; an aligned bounce buffer, which nobody else reads; the sink's
        // memory is the call's.
        unsafe { self.read_as_it_comes(sender, bounced, sink, || claim.filled() as usize) }
    }
}

#[cfg(all(test, not(loom), target_os = "linux"))]
mod tests {
    use super::*;
    use crate::launch::{Roll, Segment};
    use crate::transport::endpoint::state::request::Buffers;
    use crate::transport::shm::failure::liveness::Membership;
    use crate::transport::shm::failure::member::Stamp;
    use crate::transport::shm::segment::shared_segment::SharedSegment;
    use crate::transport::shm::tuning::DEFERRED_LEAST;
    use allhands_core::algorithm;
    use allhands_core::call::{Call, Collective};
    use allhands_core::progress::{Cursor, Status};
    use allhands_core::schedule::{Layout, OpKind, Plan, Space};

    /// A segment such as two processes with cores of their own have, whose ranks are both of this one.
    fn segment() -> Arc<SharedSegment> {
        let segment = Segment::create().unwrap();
        let membership = Membership::new(Roll::begin(segment, 2).unwrap(), 0, 2);
        let mapped = segment.map().unwrap();
        // SAFETY: a new mapping, which only the roll uses besides.
        unsafe { SharedSegment::of_world(mapped, 2, Arc::new(membership)).unwrap() }
    }

    /// A rank that calls gather, to rank 0. The request comes first, so that it is dropped before its buffers.
    struct Rank {
        request: RequestState,
        input: AlignedBytes,
        output: AlignedBytes,
        plan: Plan,
        cursor: Cursor,
        endpoint: Endpoint,
    }

    impl Rank {
        fn new(segment: &Arc<SharedSegment>, rank: u32, bytes: usize) -> Rank {
            let algorithm = algorithm::find(Collective::Gather, "direct").unwrap();
            let call = Call::new(Collective::Gather, 2);
            let shape = algorithm.shape(call, "").unwrap();
            let schedule = algorithm.schedule(&shape, rank);
            let plan = Plan::lower(&schedule, &shape.call, &Layout::Regular(bytes), 1).unwrap();
            let [input, output] = [Space::Input, Space::Output]
                .map(|space| AlignedBytes::zeroed(plan.space_bytes[space.index()]));
            // SAFETY: as long as that, and ours.
            unsafe { std::ptr::write_bytes(input.address(), rank as u8 + 1, input.len()) };
            let endpoint = Endpoint::new(Arc::clone(segment), rank).unwrap();
            Rank {
                request: RequestState::new(&endpoint, &plan, 0, &Stamp::default()).unwrap(),
                cursor: Cursor::new(&plan),
                input,
                output,
                plan,
                endpoint,
            }
        }

        /// Begins a call and takes it as far as it goes.
        fn begin(&mut self) -> Status {
            let buffers = Buffers {
                input: self.input.address(),
                output: self.output.address(),
            };
            self.cursor.reset(&self.plan);
            let (endpoint, request) = (&mut self.endpoint, &mut self.request);
            // SAFETY: the buffers are as long as the plan says, which is a registered algorithm's, and live longer than the request.
            unsafe { endpoint.begin(request, &Stamp::default(), buffers, None) }.unwrap();
            self.test()
        }

        fn test(&mut self) -> Status {
            let endpoint = &mut self.endpoint;
            endpoint
                .test(&mut self.request, &self.plan, &mut self.cursor)
                .unwrap()
        }

        /// The entry of the message that it sends.
        fn entry(&self) -> &Entry {
            let sends = |op: &_| matches!(op, OpKind::Send { .. });
            let ticket = self.plan.ops.iter().position(|op| sends(&op.kind));
            self.request.descriptors().entry(ticket.unwrap() as u32)
        }
    }

    /// What rank 0 wants of rank 1, by which way the next message comes, and what comes, of blocks of so many bytes; the first message is
    /// there before its receiver begins if it is `early`, and otherwise while that has a part of its own copy still before it.
    fn two_gathers(bytes: usize, early: bool) -> (Option<CopyProtocol>, Protocol, Vec<u8>) {
        let segment = segment();
        let mut receiver = Rank::new(&segment, 0, bytes);
        let mut sender = Rank::new(&segment, 1, bytes);
        let mut wanted = None;
        for call in 0..2 {
            if early {
                sender.begin();
            }
            let mut status = receiver.begin();
            if !early {
                sender.begin();
            }
            while status == Status::Pending || sender.test() == Status::Pending {
                status = receiver.test();
            }
            wanted = match call {
                0 => sender.entry().protocol(),
                _ => wanted,
            };
        }
        // SAFETY: the call is over, and the buffer initialized.
        let came = unsafe { std::slice::from_raw_parts(receiver.output.address(), 2 * bytes) };
        (wanted, sender.entry().way(), came.to_vec())
    }

    #[test]
    fn a_receiver_with_a_deferred_copy_asks_its_sender_for_assistance() {
        for (bytes, protocol, way) in [
            (DEFERRED_LEAST, CopyProtocol::Assisted, Protocol::Assisted),
            // Nothing is deferred: the first that is tried.
            (DEFERRED_LEAST - 1, CopyProtocol::Lines, Protocol::Bounce),
        ] {
            for early in [false, true] {
                let (wanted, next, came) = two_gathers(bytes, early);
                assert_eq!((wanted, next), (Some(protocol), way), "{bytes} {early}");
                let (own, others) = came.split_at(bytes);
                assert!(own.iter().all(|byte| *byte == 1), "{bytes}");
                assert!(others.iter().all(|byte| *byte == 2), "{bytes}");
            }
        }
    }
}
