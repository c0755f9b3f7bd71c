//! The port: one rank's end of a fabric, with the messages that came before they were wanted.

use super::engine::{NodeEngine, Offer};
use super::fabric::{Carrier, Fabric};
use super::fault::Fault;
use super::flight::{Buffers, Flight};
use super::inbox::Inbox;
use super::member::{RECENT, Stamp};
use super::outbox::{Entry, Found};
use super::reach::{self, Reached};
use super::rendezvous::{Asked, Claim};
use super::ring::{EAGER_BYTES, Header, Kind, Producer, Ring, SLAB_BYTES};
use super::runs::{Run, Sink};
use super::vigil::Vigil;
use super::wait::Patience;
use crate::transport::{AlignedBytes, Combine, Signature, TransportError};
use allhands_core::progress::{Cursor, Status, advance};
use allhands_core::schedule::Plan;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One rank's end of a [`Fabric`]; one thread at a time uses it.
///
/// Dropping it says that the rank makes no further call.
pub struct Port {
    fabric: Arc<Fabric>,
    rank: u32,
    /// For each peer, our side of the ring to it.
    sent: Box<[Producer]>,
    /// For each peer, the position in the ring from it.
    received: Box<[u64]>,
    /// The position in our inbox.
    taken: u64,
    /// For each peer, messages that came before they were wanted.
    unexpected: Box<[VecDeque<Unexpected>]>,
    /// Where messages of other processes land before they are combined.
    landing: AlignedBytes,
    next_call: u64,
    /// The hash of all calls that were begun: who called differently once is found out by the next message.
    chain: u64,
    patience: Patience,
    /// When [`Port::look_out`] looked last.
    looked_out: Option<Instant>,
}

/// A message taken out of its queue.
#[derive(Debug)]
struct Unexpected {
    header: Header,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Eager(AlignedBytes),
    Rendezvous(Offer),
}

impl std::fmt::Debug for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Port")
            .field("rank", &self.rank)
            .field("next_call", &self.next_call)
            .finish_non_exhaustive()
    }
}

impl Port {
    /// The port of rank `rank`, of which there is one in the life of a fabric.
    ///
    /// # Errors
    /// [`TransportError::NoSuchRank`] or [`TransportError::RankTaken`].
    pub fn new(fabric: Arc<Fabric>, rank: u32) -> Result<Port, TransportError> {
        let ranks = fabric.ranks();
        if rank >= ranks {
            return Err(TransportError::NoSuchRank { rank, ranks });
        }
        if !fabric.member(rank).take() {
            return Err(TransportError::RankTaken { rank });
        }
        Ok(Port {
            rank,
            sent: vec![Producer::new(!fabric.is_crowded()); ranks as usize].into(),
            received: vec![0; ranks as usize].into(),
            taken: 0,
            unexpected: (0..ranks).map(|_| VecDeque::new()).collect(),
            landing: AlignedBytes::zeroed(0),
            next_call: 0,
            chain: 0,
            patience: Patience::new(fabric.is_crowded()),
            looked_out: None,
            fabric,
        })
    }

    /// The rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.fabric.ranks()
    }

    /// The fabric.
    #[must_use]
    pub fn fabric(&self) -> &Arc<Fabric> {
        &self.fabric
    }

    /// The signature in the form that calls show to peers: once for a plan.
    #[must_use]
    pub fn stamp(&self, signature: &Signature) -> Stamp {
        self.fabric.stamp(self.rank, signature)
    }

    /// Begins a call: gives it the next sequence number and shows peers its signature.
    ///
    /// All ranks begin their calls in the same order. The flight may then be taken further by
    /// [`Port::test`] and completed by [`Port::wait`].
    ///
    /// # Errors
    /// The error that stopped the communicator, if there was one; the call has then not begun.
    ///
    /// # Panics
    /// If the flight is under way already, or is of another rank.
    ///
    /// # Safety
    /// Until the flight is no longer under way, or is dropped:
    /// - the buffers have the lengths that the flight's plan says (`space_bytes`), aligned for the element;
    ///   nobody but this call writes the input or touches the output, except that input and output
    ///   may share memory as the plan was lowered for;
    /// - the flight is driven with this plan and a cursor that was at its start, and with nothing else,
    ///   and plan and cursor come from [`Plan::lower`] of a verified schedule for this rank;
    /// - `combine` is given if the plan reduces, is for its element, and may be used.
    #[inline]
    pub unsafe fn begin(
        &mut self,
        flight: &mut Flight,
        stamp: &Stamp,
        buffers: Buffers,
        combine: Option<Combine>,
    ) -> Result<(), TransportError> {
        assert!(!flight.is_under_way(), "a flight is one call at a time");
        assert_eq!(flight.rank, self.rank, "a flight goes through its own port");
        if let Some(error) = self.fabric.error(self.rank) {
            return Err(error);
        }
        let call = self.next_call;
        self.next_call += 1;
        self.chain = (self.chain.rotate_left(5) ^ stamp.hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let me = self.fabric.member(self.rank);
        me.enter(call, stamp, self.chain);
        flight.depart(call, self.chain, buffers, combine);
        Ok(())
    }

    /// Takes a call as far as it goes without waiting.
    ///
    /// # Errors
    /// Whatever stopped the call; no peer touches its buffers any more, and the communicator is of
    /// no further use.
    #[inline]
    pub fn test(
        &mut self,
        flight: &mut Flight,
        plan: &Plan,
        cursor: &mut Cursor,
    ) -> Result<Status, TransportError> {
        if !flight.is_under_way() {
            return Ok(Status::Done);
        }
        let status = advance(plan, cursor, &mut NodeEngine::new(self, flight));
        match status {
            Ok(Status::Done) => flight.arrive(),
            Ok(Status::Pending) => {}
            Err(_) => flight.stop(),
        }
        status
    }

    /// Completes a call, waiting for peers.
    ///
    /// Other flights do not move meanwhile; a rank with several under way waits with [`Port::wait_until`].
    ///
    /// # Errors
    /// As [`Port::test`].
    #[inline]
    pub fn wait(
        &mut self,
        flight: &mut Flight,
        plan: &Plan,
        cursor: &mut Cursor,
    ) -> Result<(), TransportError> {
        let call = flight.call();
        let result = self.wait_until(call, |port| port.test(flight, plan, cursor));
        if result.is_err() {
            flight.stop();
        }
        result
    }

    /// Calls `step` until it says done: first in a spin, then yielding, then asleep between looks.
    ///
    /// `call` is the oldest call that is waited for. `step` takes every flight under way further, since
    /// a peer may need another one first; it returns what the caller waits for.
    ///
    /// # Errors
    /// Those of `step`, and whatever stops the communicator or shows that it cannot go on. The caller then
    /// stops ([`Port::stop`]) or drops the flights that it drove.
    pub fn wait_until(
        &mut self,
        call: u64,
        mut step: impl FnMut(&mut Port) -> Result<Status, TransportError>,
    ) -> Result<(), TransportError> {
        // The shortest calls are complete at the first look.
        if step(self)? == Status::Done {
            return Ok(());
        }
        self.wait_long(call, &mut step)
    }

    fn wait_long(
        &mut self,
        call: u64,
        step: &mut impl FnMut(&mut Port) -> Result<Status, TransportError>,
    ) -> Result<(), TransportError> {
        let (mut last_check, mut nap) = (None, Patience::NAP);
        loop {
            let start = Instant::now();
            for look in 0..self.patience.looks() {
                if step(self)? == Status::Done {
                    return Ok(());
                }
                self.patience.pause(look);
                if look % 64 == 63 && self.patience.is_over(start) {
                    break;
                }
            }
            self.fabric.announce_sleep(self.rank);
            let status = step(self);
            if matches!(status, Ok(Status::Pending)) {
                // Until the first check is due a sleep is short, so that mistakes show early.
                self.fabric.member(self.rank).bell.sleep(nap);
                nap = (2 * nap).min(Patience::LONGEST_NAP);
            }
            self.fabric.rise(self.rank);
            if status? == Status::Done {
                return Ok(());
            }
            if self.patience.is_check_due(&mut last_check) {
                self.check(call)?;
            }
        }
    }

    /// Ends a call that cannot complete: afterwards no peer touches its buffers. The communicator is of
    /// no further use, unless it already was not.
    pub fn stop(&mut self, flight: &mut Flight) {
        if flight.is_under_way() {
            let rank = self.rank;
            self.fabric.poison(rank, Fault::Dropped { rank });
            flight.stop();
        }
    }

    /// Looks now and then whether call `call` can complete at all, for those who test and never wait.
    ///
    /// # Errors
    /// Whatever stops the communicator. The caller then stops the flights that it drove.
    pub fn look_out(&mut self, call: u64) -> Result<(), TransportError> {
        if self.patience.is_check_due(&mut self.looked_out) {
            self.check(call)?;
        }
        Ok(())
    }

    /// Looks whether the calls waited for can complete at all.
    #[cold]
    fn check(&mut self, call: u64) -> Result<(), TransportError> {
        if let Some(error) = self.fabric.error(self.rank) {
            return Err(error);
        }
        match self.fabric.trouble(self.rank, call) {
            // A rank that leaves when another has died: the reason is what counts.
            Some(Fault::Left { .. }) if self.fabric.vigil().is_any_dead() => {
                self.fabric.mourn(self.rank, Some(call))
            }
            Some(fault) => Err(self.fabric.poison(self.rank, fault)),
            None => self.fabric.mourn(self.rank, Some(call)),
        }
    }

    /// Appends a message to the queue to `to` and wakes it; `false` if the queue is full.
    ///
    /// `fill` writes `header.bytes` bytes, at most [`EAGER_BYTES`].
    #[inline]
    pub(super) fn send(&mut self, to: u32, header: Header, fill: impl FnOnce(*mut u8)) -> bool {
        assert!(
            header.bytes as usize <= EAGER_BYTES,
            "a payload fits its cell"
        );
        let sent = match self.fabric.link(self.rank, to) {
            // SAFETY: a rank has one port, used by one thread at a time (`&mut self`), so it is the one producer; the
            // side is what earlier pushes left. `fill` writes the payload.
            Carrier::Ring(ring) => unsafe { ring.push(&mut self.sent[to as usize], header, fill) },
            // SAFETY: `fill` writes the payload.
            Carrier::Inbox(inbox) => unsafe { inbox.push(header, fill) },
        };
        if sent {
            self.fabric.ring(to);
        }
        sent
    }

    /// As [`Port::send`], of a message that is longer than a cell and at most [`SLAB_BYTES`]; `None` where there is no
    /// ring to carry it.
    #[inline]
    pub(super) fn send_slab(
        &mut self,
        to: u32,
        header: Header,
        fill: impl FnOnce(*mut u8),
    ) -> Option<bool> {
        let Carrier::Ring(ring) = self.fabric.link(self.rank, to) else {
            return None;
        };
        assert!(
            header.bytes as usize <= SLAB_BYTES,
            "a payload fits its slab"
        );
        // SAFETY: as in `send`.
        let sent = unsafe { ring.push_slab(&mut self.sent[to as usize], header, fill) };
        if sent {
            self.fabric.ring(to);
        }
        Some(sent)
    }

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
            let Some((header, payload)) = front else {
                return Ok(false);
            };
            if !expected.is(&header) {
                self.put_aside(header, payload)?;
                self.release(ring, from, header.kind);
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
                self.release(ring, from, header.kind);
                return Ok(true);
            }
            // SAFETY: the payload of this kind is an offer, which its sender wrote.
            let offer = unsafe { payload.cast::<Offer>().read() };
            self.release(ring, from, header.kind);
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

    #[inline]
    fn release(&mut self, ring: &Ring, from: u32, kind: Kind) {
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
            self.patience.pause(look);
            look += 1;
            if look % 1024 == 0 && self.fabric.vigil().is_any_dead() {
                return Reached::Failed(reach::NO_SUCH_PROCESS);
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

impl Drop for Port {
    fn drop(&mut self) {
        self.fabric.leave(self.rank, std::thread::panicking());
    }
}
