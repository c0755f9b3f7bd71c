//! The port: one rank's end of a fabric, with the messages that came before they were wanted.

use super::engine::{Offer, ThreadEngine};
use super::fabric::Fabric;
use super::flight::{Buffers, Flight};
use super::member::Stamp;
use super::rendezvous::Claim;
use super::ring::{CELLS, EAGER_BYTES, Header, Kind};
use super::segments::Segment;
use super::wait::Patience;
use crate::transport::{AlignedBytes, Combine, TransportError};
use allhands_core::progress::{Cursor, Status, advance};
use allhands_core::schedule::Plan;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

/// One rank's end of a [`Fabric`]; one thread at a time uses it.
///
/// Dropping it says that the rank makes no further call.
pub struct Port {
    fabric: Arc<Fabric>,
    rank: u32,
    /// For each peer, the position in the ring to it.
    sent: Box<[u64]>,
    /// For each peer, the position in the ring from it.
    received: Box<[u64]>,
    /// For each peer, messages that came before they were wanted.
    unexpected: Box<[VecDeque<Unexpected>]>,
    next_call: u64,
    patience: Patience,
}

/// A message taken out of its ring.
struct Unexpected {
    header: Header,
    content: Content,
}

enum Content {
    Eager(AlignedBytes),
    Rendezvous(Offer),
}

// SAFETY: the descriptor of an offer may be claimed by whatever thread the receiving rank is on.
unsafe impl Send for Content {}

/// A message as its receiver is shown it.
pub(super) enum Payload<'a> {
    /// It lies in a ring's cell or in memory of the port.
    Eager(Segment),
    /// It lies in the sender's memory.
    Remote(&'a [Segment]),
}

impl Payload<'_> {
    /// The message's memory.
    #[inline]
    pub(super) fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        match self {
            Payload::Eager(segment) => std::slice::from_ref(segment),
            Payload::Remote(segments) => segments,
        }
        .iter()
        .copied()
    }
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
        let positions = || vec![0; ranks as usize].into_boxed_slice();
        Ok(Port {
            rank,
            sent: positions(),
            received: positions(),
            unexpected: (0..ranks).map(|_| VecDeque::new()).collect(),
            next_call: 0,
            patience: Patience::new(ranks),
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
    ///   nobody but this call writes the input or touches output and scratch, except that input and output
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
        self.fabric.member(self.rank).enter(call, stamp);
        flight.depart(call, *stamp, buffers, combine);
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
        let status = advance(plan, cursor, &mut ThreadEngine::new(self, flight));
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
        let mut last_check = None;
        loop {
            for look in 0..self.patience.looks() {
                if step(self)? == Status::Done {
                    return Ok(());
                }
                self.patience.pause(look);
            }
            self.fabric.member(self.rank).bell.announce();
            let status = step(self);
            let bell = &self.fabric.member(self.rank).bell;
            if !matches!(status, Ok(Status::Pending)) {
                bell.cancel();
                return status.map(|_| ());
            }
            // Until the first check is due a sleep is short, so that mistakes show early.
            bell.sleep(Patience::NAP);
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
            self.fabric
                .poison(rank, TransportError::CallDropped { rank });
            flight.stop();
        }
    }

    /// Looks whether the calls waited for can complete at all.
    #[cold]
    fn check(&mut self, call: u64) -> Result<(), TransportError> {
        if let Some(error) = self.fabric.error(self.rank) {
            return Err(error);
        }
        match self.fabric.trouble(self.rank, call) {
            Some(error) => Err(self.fabric.poison(self.rank, error)),
            None => Ok(()),
        }
    }

    /// Appends a message to the ring to `to` and wakes it; `false` if the ring is full.
    ///
    /// `fill` writes `header.bytes` bytes, at most [`EAGER_BYTES`].
    #[inline]
    pub(super) fn send(&mut self, to: u32, header: Header, fill: impl FnOnce(*mut u8)) -> bool {
        assert!(
            header.bytes as usize <= EAGER_BYTES,
            "a payload fits its cell"
        );
        let ring = self.fabric.outgoing(self.rank, to);
        // SAFETY: a rank has one port, used by one thread at a time (`&mut self`), so it is the one
        // producer; the position is what earlier pushes left. `fill` writes the payload.
        let sent = unsafe { ring.push(&mut self.sent[to as usize], header, fill) };
        if sent {
            self.fabric.member(to).bell.ring();
        }
        sent
    }

    /// Shows `read` the next message from `from` on `channel` for the flight's call; `false` if it is not
    /// there yet. Messages for others are put aside.
    #[inline]
    pub(super) fn receive(
        &mut self,
        flight: &Flight,
        from: u32,
        channel: u16,
        bytes: usize,
        read: impl FnOnce(Payload<'_>),
    ) -> Result<bool, TransportError> {
        let wanted = |h: &Header| h.call == flight.call && h.channel == channel;
        if !self.unexpected[from as usize].is_empty() {
            let queue = &mut self.unexpected[from as usize];
            if let Some(at) = queue.iter().position(|m| wanted(&m.header))
                && let Some(message) = queue.remove(at)
            {
                self.agree(flight, from, &message.header)?;
                match message.content {
                    Content::Eager(kept) => {
                        let got = message.header.bytes as usize;
                        self.fits(from, bytes, got)?;
                        read(eager(kept.address(), got));
                    }
                    Content::Rendezvous(offer) => self.claim(from, bytes, offer, read)?,
                }
                return Ok(true);
            }
        }
        let fabric = Arc::as_ptr(&self.fabric);
        // SAFETY: `self` holds the fabric for longer than this function runs.
        let Some(ring) = unsafe { &*fabric }.incoming(from, self.rank) else {
            return Ok(false);
        };
        loop {
            let position = self.received[from as usize];
            // SAFETY: a rank has one port, used by one thread at a time, so it is the one consumer; the
            // position is what earlier releases left. The payload is used only until the release.
            let front = unsafe { ring.front(position, |header, payload| (header, payload)) };
            let Some((header, payload)) = front else {
                return Ok(false);
            };
            let found = wanted(&header);
            if found {
                self.agree(flight, from, &header)?;
                if header.kind == Kind::Eager {
                    self.fits(from, bytes, header.bytes as usize)?;
                    read(eager(payload.cast_mut(), header.bytes as usize));
                    self.release(ring, from);
                } else {
                    // SAFETY: the payload of this kind is an offer, which its sender wrote.
                    let offer = unsafe { payload.cast::<Offer>().read() };
                    self.release(ring, from);
                    self.claim(from, bytes, offer, read)?;
                }
                return Ok(true);
            }
            self.put_aside(from, header, payload)?;
            self.release(ring, from);
        }
    }

    fn put_aside(
        &mut self,
        from: u32,
        header: Header,
        payload: *const u8,
    ) -> Result<(), TransportError> {
        let mine = self.fabric.member(self.rank).entry(header.call);
        if let Some(mine) = mine.filter(|mine| mine.hash != header.signature) {
            return Err(self.differs(from, header.call, &mine));
        }
        let content = match header.kind {
            Kind::Eager => {
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
    fn release(&mut self, ring: &super::ring::Ring, from: u32) {
        let position = &mut self.received[from as usize];
        // SAFETY: as in `receive`, which was shown the message at this position.
        unsafe { ring.release(position) };
        // A sender that found the ring full is woken twice a lap: a receiver that needs its next
        // message drains the ring and so gets there; if none does, the sender's own nap ends.
        if position.is_multiple_of(CELLS / 2) {
            self.fabric.member(from).bell.ring();
        }
    }

    /// Reads a long message from the memory of its sender, and tells it.
    fn claim(
        &mut self,
        from: u32,
        bytes: usize,
        offer: Offer,
        read: impl FnOnce(Payload<'_>),
    ) -> Result<(), TransportError> {
        self.fits(from, bytes, offer.bytes)?;
        let descriptor =
            NonNull::new(offer.descriptor.cast_mut()).expect("an offer has an address");
        // SAFETY: each offer is claimed once. Its descriptor lives until it is DONE: its flight holds
        // it, and when the flight takes it back the fabric does.
        let Some(claim) = (unsafe { Claim::new(descriptor) }) else {
            let error = TransportError::CallDropped { rank: from };
            return Err(self.fabric.poison(self.rank, error));
        };
        claim.with(|segments| read(Payload::Remote(segments)));
        drop(claim);
        self.fabric.member(from).bell.ring();
        Ok(())
    }

    #[inline]
    fn agree(&self, flight: &Flight, from: u32, header: &Header) -> Result<(), TransportError> {
        if header.signature == flight.stamp.hash {
            return Ok(());
        }
        Err(self.differs(from, header.call, &flight.stamp))
    }

    #[cold]
    fn differs(&self, from: u32, call: u64, mine: &Stamp) -> TransportError {
        let theirs = self.fabric.member(from).entry(call);
        let error = self.fabric.mismatch(self.rank, from, mine, theirs.as_ref());
        self.fabric.poison(self.rank, error)
    }

    #[inline]
    fn fits(&self, from: u32, expected: usize, received: usize) -> Result<(), TransportError> {
        if expected == received {
            return Ok(());
        }
        let error = TransportError::Length {
            rank: self.rank,
            other: from,
            expected,
            received,
        };
        Err(self.fabric.poison(self.rank, error))
    }
}

#[inline]
fn eager(address: *mut u8, bytes: usize) -> Payload<'static> {
    Payload::Eager(Segment { address, bytes })
}

impl Drop for Port {
    fn drop(&mut self) {
        self.fabric.leave(self.rank, std::thread::panicking());
    }
}
