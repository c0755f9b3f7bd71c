//! Receiving: how a port finds the message that is expected, puts others aside, and reads long ones where they are.

use super::engine::Offer;
use super::fabric::Carrier;
use super::fault::Fault;
use super::flight::Flight;
use super::help::{self, Help, Target};
use super::inbox::Inbox;
use super::member::RECENT;
use super::outbox::{self, Entry, Found};
use super::port::Port;
use super::reach::{self, Reached};
use super::rendezvous::{Asked, Claim};
use super::ring::{Header, Kind, Ring};
use super::runs::{Run, Sink};
use super::vigil::Vigil;
use crate::transport::{AlignedBytes, TransportError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pieces of a message that is combined which are read at once, where the sender does not help.
const LANDED: usize = 2;

/// A message taken out of its queue.
#[derive(Debug)]
pub(super) struct Unexpected {
    header: Header,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Eager(AlignedBytes),
    Rendezvous(Offer),
}

/// The message that a receive waits for.
struct Expected<'a> {
    flight: &'a Flight,
    from: u32,
    channel: u16,
    bytes: usize,
}

impl Expected<'_> {
    #[inline]
    fn is(&self, header: &Header) -> bool {
        header.call == self.flight.call && header.channel == self.channel
    }
}

impl Port {
    /// Gives the next message from `from` on `channel` for the flight's call to `sink`; `false` if it is not
    /// there yet. Messages for others are put aside.
    #[inline]
    pub(super) fn receive<I: Iterator<Item = Run>>(
        &mut self,
        flight: &Flight,
        from: u32,
        channel: u16,
        bytes: usize,
        sink: impl Fn() -> Sink<I>,
    ) -> Result<bool, TransportError> {
        let expected = Expected {
            flight,
            from,
            channel,
            bytes,
        };
        if !self.unexpected[from as usize].is_empty()
            && let Some(received) = self.receive_put_aside(&expected, &sink)?
        {
            return Ok(received);
        }
        let fabric = Arc::as_ptr(&self.fabric);
        // SAFETY: `self` holds the fabric for longer than this function runs.
        match unsafe { &*fabric }.link(from, self.rank) {
            Carrier::Ring(ring) => self.receive_from_ring(&expected, ring, &sink),
            Carrier::Inbox(inbox) => {
                self.empty_inbox(inbox)?;
                Ok(self.receive_put_aside(&expected, &sink)?.unwrap_or(false))
            }
        }
    }

    #[inline]
    fn receive_from_ring<I: Iterator<Item = Run>>(
        &mut self,
        expected: &Expected<'_>,
        ring: &Ring,
        sink: &impl Fn() -> Sink<I>,
    ) -> Result<bool, TransportError> {
        let from = expected.from;
        loop {
            let position = self.received[from as usize];
            // SAFETY: a rank has one port, used by one thread at a time, so it is the one consumer; the
            // position is what earlier releases left. The payload is used only until the release.
            let front = unsafe { ring.front(position, |header, payload| (header, payload)) };
            let Some((header, mut payload)) = front else {
                return Ok(false);
            };
            let mut slab = None;
            if header.kind == Kind::Slab {
                (slab, payload) = self.find_slab(ring, from, payload);
            }
            if !expected.is(&header) {
                self.put_aside(header, payload)?;
                self.release(ring, from, header.kind, slab);
                continue;
            }
            self.agree(expected.flight, from, &header)?;
            if header.kind != Kind::Rendezvous {
                self.fits(from, expected.bytes, header.bytes as usize)?;
                let payload = Run {
                    address: payload.cast_mut(),
                    bytes: header.bytes as usize,
                };
                // SAFETY: a payload is readable until its release and aligned for elements; the sink's memory is the
                // call's own, and its extents are whole elements.
                unsafe { sink().feed(payload) };
                self.release(ring, from, header.kind, slab);
                return Ok(true);
            }
            // SAFETY: the payload of this kind is an offer, which its sender wrote.
            let offer = unsafe { payload.cast::<Offer>().read() };
            self.release(ring, from, header.kind, None);
            let received = self.claim(expected, offer, sink)?;
            if !received {
                let content = Content::Rendezvous(offer);
                self.unexpected[from as usize].push_front(Unexpected { header, content });
            }
            return Ok(received);
        }
    }

    /// Gives the expected message to `sink` if it was put aside; `Some(false)` if it is there and cannot be read yet.
    fn receive_put_aside<I: Iterator<Item = Run>>(
        &mut self,
        expected: &Expected<'_>,
        sink: &impl Fn() -> Sink<I>,
    ) -> Result<Option<bool>, TransportError> {
        let from = expected.from;
        let queue = &self.unexpected[from as usize];
        let Some(at) = queue.iter().position(|m| expected.is(&m.header)) else {
            return Ok(None);
        };
        let Unexpected { header, content } = &queue[at];
        self.agree(expected.flight, from, header)?;
        let received = match content {
            Content::Eager(kept) => {
                let payload = Run {
                    address: kept.address(),
                    bytes: header.bytes as usize,
                };
                self.fits(from, expected.bytes, payload.bytes)?;
                // SAFETY: as for a payload in its cell.
                unsafe { sink().feed(payload) };
                true
            }
            Content::Rendezvous(offer) => {
                let offer = *offer;
                self.claim(expected, offer, sink)?
            }
        };
        if received {
            self.unexpected[from as usize].remove(at);
        }
        Ok(Some(received))
    }

    /// Puts everything aside that has come to our inbox.
    fn empty_inbox(&mut self, inbox: &Inbox) -> Result<(), TransportError> {
        loop {
            // SAFETY: as for a ring.
            let front = unsafe { inbox.front(self.taken, |header, payload| (header, payload)) };
            let Some((header, payload)) = front else {
                return Ok(());
            };
            self.put_aside(header, payload)?;
            // SAFETY: shown just now.
            unsafe { inbox.release(&mut self.taken) };
        }
    }

    fn put_aside(&mut self, header: Header, payload: *const u8) -> Result<(), TransportError> {
        let from = u32::from(header.from);
        let mine = self.fabric.member(self.rank).chain(header.call);
        if mine.is_some_and(|mine| mine != header.signature) {
            return Err(self.differs(from, header.call));
        }
        let content = match header.kind {
            Kind::Eager | Kind::Slab => {
                let kept = AlignedBytes::zeroed(header.bytes as usize);
                // SAFETY: the payload has this many bytes, and `kept` is new and as long.
                unsafe { payload.copy_to_nonoverlapping(kept.address(), kept.len()) };
                Content::Eager(kept)
            }
            // SAFETY: the payload of this kind is an offer, which its sender wrote.
            Kind::Rendezvous => Content::Rendezvous(unsafe { payload.cast::<Offer>().read() }),
        };
        self.unexpected[from as usize].push_back(Unexpected { header, content });
        Ok(())
    }

    /// The code of the slab that a message is in, and its address.
    fn find_slab(&self, ring: &Ring, from: u32, payload: *const u8) -> (Option<u32>, *const u8) {
        let Carrier::Ring(back) = self.fabric.link(self.rank, from) else {
            unreachable!("two ranks have rings both ways, or none");
        };
        // SAFETY: the payload was just shown, of this kind; its slab is used only until the release.
        let (code, slab) = unsafe { ring.read_slab(back, payload, |at| at) };
        (Some(code), slab)
    }

    #[inline]
    fn release(&mut self, ring: &Ring, from: u32, kind: Kind, slab: Option<u32>) {
        if let Some(code) = slab {
            let held = &mut self.sent[from as usize].held;
            if let Some(code) = held.keep_or_hand_back(code) {
                ring.handed_back.put(code);
            }
        }
        let position = &mut self.received[from as usize];
        // SAFETY: as in `receive`, which was shown the message at this position. A sender that found the ring full is
        // woken when it can see free cells.
        if unsafe { ring.release(position, kind) } {
            self.fabric.ring(from);
        }
    }

    /// Reads a long message from where its sender has it, and tells the sender; `false` if it must be staged first.
    fn claim<I: Iterator<Item = Run>>(
        &mut self,
        expected: &Expected<'_>,
        offer: Offer,
        sink: &impl Fn() -> Sink<I>,
    ) -> Result<bool, TransportError> {
        let from = expected.from;
        self.fits(from, expected.bytes, offer.bytes)?;
        let fabric = Arc::clone(&self.fabric);
        // SAFETY: a sender's outbox lives until its messages are read, and, if one was taken back, for ever.
        let entry = unsafe { Entry::at(fabric.arena(), offer.entry) };
        let claim = match entry.descriptor.claim() {
            Asked::Granted(claim) => claim,
            Asked::NotYet => return Ok(false),
            Asked::Revoked => {
                return Err(self.fabric.poison(self.rank, Fault::Dropped { rank: from }));
            }
        };
        match self.read(entry, &claim, sink()) {
            Reached::All => drop(claim),
            Reached::Forbidden => {
                claim.refuse();
                self.fabric.ring(from);
                return Ok(false);
            }
            Reached::Failed(errno) => {
                drop(claim);
                return Err(self.unreachable(from, errno));
            }
        }
        self.fabric.ring(from);
        Ok(true)
    }

    /// Why a message of `other` could not be read.
    #[cold]
    fn unreachable(&self, other: u32, errno: u32) -> TransportError {
        let (rank, start) = (self.rank, Instant::now());
        // A process that is ending has no memory any more, before anybody can see that it has ended.
        while self.fabric.vigil().is_watching() && start.elapsed() < Vigil::NOTICED_WITHIN {
            if let Some(error) = self.fabric.error(rank) {
                return error;
            }
            if let Err(error) = self.fabric.mourn(rank, None) {
                return error;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let fault = Fault::Unreachable { rank, other, errno };
        self.fabric.poison(rank, fault)
    }

    fn read<I: Iterator<Item = Run>>(
        &mut self,
        entry: &Entry,
        claim: &Claim<'_>,
        mut sink: Sink<I>,
    ) -> Reached {
        let fabric = Arc::clone(&self.fabric);
        let is_whole = claim.filled() == entry.bytes();
        if is_whole && let Some(reached) = self.read_together(entry, &mut sink) {
            return reached;
        }
        for found in entry.found(fabric.arena()) {
            let reached = match found {
                // SAFETY: claimed, so readable until the claim is dropped; aligned for elements, as every run of a
                // message is; the sink's memory is the call's own.
                Found::Here(run) if is_whole => unsafe {
                    sink.feed(run);
                    Reached::All
                },
                Found::Here(run) => self.read_staged(claim, run, &mut sink),
                Found::There(run) => {
                    reach::read(entry.process(), run, &mut sink, &mut self.landing)
                }
            };
            if !matches!(reached, Reached::All) {
                return reached;
            }
        }
        Reached::All
    }

    /// Reads a message together with its sender; none where that does not pay or has failed.
    fn read_together<I: Iterator<Item = Run>>(
        &mut self,
        entry: &Entry,
        sink: &mut Sink<I>,
    ) -> Option<Reached> {
        let bytes = entry.bytes() as usize;
        if bytes < help::LEAST || !self.fabric.may_help() {
            return None;
        }
        let from = entry.single(self.fabric.arena())?;
        match from {
            Found::There(from) if !sink.copies() => self.combine_together(entry, from, sink),
            _ => self.copy_together(entry, from, sink.single(bytes)?),
        }
    }

    /// Copies `from` to `into`, some pieces here and some at the sender.
    fn copy_together(&self, entry: &Entry, from: Found, into: Run) -> Option<Reached> {
        let (help, piece_bytes) = (&entry.help, help::piece_bytes(into.bytes));
        let pieces = into.bytes.div_ceil(piece_bytes) as u64;
        let target = Target::Memory {
            place: outbox::tell(self.fabric.arena(), into),
            process: std::process::id(),
        };
        help.open(piece_bytes, target);
        let (mut own, mut reached) = (0, Reached::All);
        while reached == Reached::All
            && let Some(piece) = help.take(pieces)
        {
            let start = piece as usize * piece_bytes;
            let here = into.piece(start, piece_bytes);
            reached = match from.piece(start, piece_bytes) {
                // SAFETY: claimed, so readable until the claim is dropped; the sink's memory is the call's own, and this
                // piece of it is ours alone.
                Found::Here(run) => unsafe {
                    std::ptr::copy(run.address, here.address, here.bytes);
                    Reached::All
                },
                // SAFETY: as above.
                Found::There(run) => unsafe { reach::fetch(entry.process(), run, here) },
            };
            own += 1;
        }
        let (theirs, mut look) = (help.close() - own, 0);
        loop {
            let (copied, well) = help.copied();
            if copied == theirs {
                return (well || reached != Reached::All).then_some(reached);
            }
            if let Some(gone) = self.wait_for_sender(&mut look) {
                return Some(gone);
            }
        }
    }

    /// Combines what is in `from`, pieces that were read here and pieces that the sender has staged.
    fn combine_together<I: Iterator<Item = Run>>(
        &mut self,
        entry: &Entry,
        from: Run,
        sink: &mut Sink<I>,
    ) -> Option<Reached> {
        let (help, grain) = (&entry.help, sink.grain());
        let piece_bytes = (help::STAGED_PIECE / grain).max(1) * grain;
        let fabric = Arc::clone(&self.fabric);
        entry.staged(fabric.arena(), 0, 0)?;
        if self.landing.len() < LANDED * piece_bytes {
            self.landing = AlignedBytes::zeroed(LANDED * piece_bytes);
        }
        help.open(piece_bytes, Target::Stages);
        let (mut done, mut staged, mut look, mut reached) = (0, 0, 0, Reached::All);
        while done < from.bytes && reached == Reached::All {
            let piece = (done / piece_bytes) as u64;
            // A sender that has not come may have other things to do: fewer calls then.
            let most = if staged > 0 { 1 } else { LANDED };
            let count = (from.bytes - done).div_ceil(piece_bytes).min(most);
            let mut here = from.piece(done, piece_bytes);
            if help.take_these(piece, count as u64) {
                let there = from.piece(done, count * piece_bytes);
                here = Run {
                    address: self.landing.address(),
                    bytes: there.bytes,
                };
                // SAFETY: `landing` is ours and is long enough for so many pieces.
                reached = match unsafe { reach::fetch(entry.process(), there, here) } {
                    Reached::Forbidden if done > 0 => Reached::Failed(1),
                    reached => reached,
                };
            } else {
                while reached == Reached::All && help.copied().0 == staged {
                    reached = self.wait_for_sender(&mut look).unwrap_or(Reached::All);
                }
                let at = Help::stage(staged, piece_bytes);
                here = entry.staged(fabric.arena(), at, here.bytes)?;
                staged += 1;
            }
            if reached == Reached::All {
                // SAFETY: filled, by us or by the sender, who leaves it until it is combined; whole elements, aligned, as all
                // pieces and stages begin at whole elements; the sink's memory is the call's own.
                unsafe { sink.feed(here) };
                help.combined(staged);
                done += here.bytes;
            }
        }
        help.close();
        Some(reached)
    }

    /// Lets time pass in which a sender copies; says so if it never will.
    fn wait_for_sender(&self, look: &mut u32) -> Option<Reached> {
        self.patience.pause(*look);
        *look += 1;
        let gone = (*look).is_multiple_of(1024) && self.fabric.vigil().is_any_dead();
        gone.then_some(Reached::Failed(reach::NO_SUCH_PROCESS))
    }

    /// Reads a message while its sender stages it.
    fn read_staged<I: Iterator<Item = Run>>(
        &self,
        claim: &Claim<'_>,
        run: Run,
        sink: &mut Sink<I>,
    ) -> Reached {
        let (mut done, mut look) = (0, 0);
        while done < run.bytes {
            let filled = claim.filled() as usize;
            let whole = if filled < run.bytes {
                filled - filled % sink.grain()
            } else {
                filled
            };
            if whole > done {
                let piece = Run {
                    address: run.address.wrapping_add(done),
                    bytes: whole - done,
                };
                // SAFETY: filled, so readable until the claim is dropped; whole elements of an aligned stage.
                unsafe { sink.feed(piece) };
                done = whole;
                continue;
            }
            if let Some(gone) = self.wait_for_sender(&mut look) {
                return gone;
            }
        }
        Reached::All
    }

    #[inline]
    fn agree(&self, flight: &Flight, from: u32, header: &Header) -> Result<(), TransportError> {
        if header.signature == flight.chain {
            return Ok(());
        }
        Err(self.differs(from, header.call))
    }

    #[cold]
    fn differs(&self, from: u32, call: u64) -> TransportError {
        let mut recent = call.saturating_sub(RECENT)..=call;
        let compare = |call| self.fabric.compare(self.rank, from, call);
        let fault = recent.find_map(compare);
        // A call so long ago that it is forgotten: the present one must do.
        let mine = self
            .fabric
            .member(self.rank)
            .entry(call)
            .unwrap_or_default();
        self.fabric.poison(
            self.rank,
            fault.unwrap_or(Fault::Mismatch {
                rank: self.rank,
                other: from,
                mine,
                theirs: None,
            }),
        )
    }

    #[inline]
    fn fits(&self, from: u32, expected: usize, received: usize) -> Result<(), TransportError> {
        if expected == received {
            return Ok(());
        }
        let fault = Fault::Length {
            rank: self.rank,
            other: from,
            expected: expected as u64,
            received: received as u64,
        };
        Err(self.fabric.poison(self.rank, fault))
    }
}
