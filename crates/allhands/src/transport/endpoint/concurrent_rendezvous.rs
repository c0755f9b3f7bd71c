//! Concurrent rendezvous: long messages of several senders that one step receives, copied by all their senders at the same time.
//!
//! ```text
//! receiver      claims what has come, opens all of it ─▶ takes pieces of what has most left ─▶ waits for the senders' pieces
//! sender a                     copies pieces of its own message ─▶ finds none
//! sender b                     copies pieces of its own message ─▶ finds none
//! ```
//!
//! Where ranks share cores, a receiver that takes one message after the other keeps all senders but one waiting, and the
//! other cores with them. A sender on another core writes to where its message goes, as the system's way there is half as
//! long for who has the bytes in its cache as for who has not; one on the receiver's core passes pieces by way of its bounce buffer,
//! which is twice as fast while both copies find them in that core's cache. From there they go past the caches, where the
//! messages of all ranks are more than these hold.

use crate::transport::shm::memory::cross_memory_attach::{self, Outcome};
use crate::transport::shm::memory::iovec::{Iovec, Sink};
use crate::transport::shm::protocol::choose::Protocol;
use crate::transport::shm::protocol::send_descriptors::{self, Entry, Found};
use crate::transport::shm::rendezvous::receiver_initiated::{Answer, ReadyToReceive, Room, Wanted};
use crate::transport::shm::rendezvous::sender_assisted::{self, SenderAssist, Target};
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::tuning::{
    ASSISTED_BOUNCED_PIECE, CONCURRENT_LEAST, CONCURRENT_PATIENT_LOOKS, CONCURRENT_SHORT_LOOKS,
};
use allhands_core::schedule::{Extent, OpKind, Plan, PlanItem, PlanOp};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// Where a receive stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has not begun, or is over.
    Idle,
    Awaited,
    Received,
}

/// A receive of a step with several.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) ticket: u32,
    pub(crate) from: u32,
    pub(crate) channel: u16,
    pub(crate) into: Extent,
    /// Whether it is the only one of its plan from this sender on this channel.
    is_alone: bool,
    state: Cell<State>,
    announced_ready: Cell<bool>,
}

impl Incoming {
    /// Whether its message is waited for.
    pub(crate) fn is_awaited(&self) -> bool {
        self.state.get() == State::Awaited
    }

    /// Notes that its message is here, or on its way.
    pub(crate) fn received(&self) {
        self.state.set(State::Received);
    }

    /// Which message it is, in a call with this number and hash.
    fn wanted(&self, (call, signature): (u64, u64)) -> Wanted {
        Wanted {
            call,
            signature,
            channel: self.channel,
            bytes: self.into.bytes,
        }
    }

    /// What its sender has answered, if it was told that this rank is ready.
    pub(crate) fn answer(&self, segment: &SharedSegment, rank: u32) -> Answer {
        let ready = segment.ready_to_receive(self.from, rank);
        let announced = ready.filter(|_| self.announced_ready.get());
        let answer = announced.map_or(Answer::None, ReadyToReceive::look);
        if answer == Answer::Declined {
            // Its sender has said that nobody can be written to: it is not told again.
            self.announced_ready.set(false);
        }
        answer
    }

    /// Tells its sender, who has not announced it, that `into` is ready for it.
    pub(crate) fn announce_ready(
        &self,
        segment: &SharedSegment,
        rank: u32,
        call: (u64, u64),
        into: Iovec,
    ) {
        if !self.is_alone || self.announced_ready.get() || !segment.may_assist() {
            return;
        }
        if let Some(ready) = segment.ready_to_receive(self.from, rank) {
            let room = Room {
                place: send_descriptors::encode(segment.arena(), into),
                process: std::process::id(),
            };
            ready.open(self.wanted(call), room);
            self.announced_ready.set(true);
        }
    }

    /// Takes a ready-to-receive back; waits for a sender who has accepted it.
    pub(crate) fn shut(&self, segment: &SharedSegment, rank: u32) {
        let ready = segment.ready_to_receive(self.from, rank);
        if let Some(ready) = ready.filter(|_| self.announced_ready.take()) {
            let mut answer = ready.shut();
            while answer == Answer::Coming && !segment.liveness().is_dead(self.from) {
                std::thread::yield_now();
                answer = ready.look();
            }
        }
    }
}

/// The receives of a plan's steps that receive several long messages and send nothing.
#[derive(Debug, Default)]
pub(crate) struct ConcurrentRendezvous {
    /// In the order of their tickets.
    incoming: Box<[Incoming]>,
    /// Those of each step.
    steps: Box<[Range<usize>]>,
}

impl ConcurrentRendezvous {
    /// Those of a plan among `ranks` ranks that share cores.
    pub(crate) fn new(plan: &Plan, ranks: u32) -> ConcurrentRendezvous {
        let (mut incoming, mut steps) = (Vec::new(), Vec::new());
        for item in plan.items.iter().filter(|item| item.repeat.is_none()) {
            let start = incoming.len();
            incoming.extend(receives(plan, item, ranks));
            if incoming.len() < start + 2 {
                incoming.truncate(start);
            } else {
                steps.push(start..incoming.len());
            }
        }
        ConcurrentRendezvous {
            incoming: incoming.into(),
            steps: steps.into(),
        }
    }

    fn find(&self, ticket: u32) -> Option<usize> {
        // Most plans have none.
        if self.incoming.is_empty() {
            return None;
        }
        self.incoming
            .binary_search_by_key(&ticket, |one| one.ticket)
            .ok()
    }

    /// Whether `ticket` is one of several receives.
    #[inline]
    pub(crate) fn has(&self, ticket: u32) -> bool {
        self.find(ticket).is_some()
    }

    /// Notes that `ticket` has begun, if it is one of several; whether it is.
    #[inline]
    pub(crate) fn begin(&self, ticket: u32) -> bool {
        let at = self.find(ticket);
        if let Some(at) = at {
            self.incoming[at].state.set(State::Awaited);
        }
        at.is_some()
    }

    /// The receives of the step of `ticket`, by their places.
    pub(crate) fn step(&self, ticket: u32) -> Range<usize> {
        let at = self.find(ticket).unwrap_or(0);
        let step = self.steps.iter().find(|step| step.contains(&at));
        step.cloned().unwrap_or_default()
    }

    /// The receive at a place.
    pub(crate) fn at(&self, place: usize) -> &Incoming {
        &self.incoming[place]
    }

    /// Ends `ticket` if its message is received; whether it is.
    pub(crate) fn end(&self, ticket: u32) -> bool {
        let one = self.find(ticket).map(|at| &self.incoming[at]);
        let received = one.filter(|one| one.state.get() == State::Received);
        received.inspect(|one| one.state.set(State::Idle)).is_some()
    }

    /// Forgets a call that cannot complete: afterwards no sender writes to its memory.
    pub(crate) fn reset(&self, segment: &SharedSegment, rank: u32) {
        for one in &self.incoming {
            one.shut(segment, rank);
            one.state.set(State::Idle);
        }
    }
}

/// The long messages that a step receives as they come; none if it sends, too.
fn receives<'p>(
    plan: &'p Plan,
    item: &PlanItem,
    ranks: u32,
) -> impl Iterator<Item = Incoming> + use<'p> {
    let tickets = item.start..item.end;
    let ops = &plan.ops[item.start as usize..item.end as usize];
    let sends = ops.iter().any(|op| matches!(op.kind, OpKind::Send { .. }));
    let all = tickets.zip(ops).filter(move |_| !sends);
    all.filter_map(move |(ticket, op)| {
        let (OpKind::Recv { from, channel, .. }, [into]) = (op.kind, &plan.extents[op.target()])
        else {
            return None;
        };
        let fits = from < ranks && !op.moves() && op.bytes() >= CONCURRENT_LEAST;
        fits.then_some(Incoming {
            ticket,
            from,
            channel,
            into: *into,
            is_alone: plan
                .ops
                .iter()
                .filter(|op| comes(op, from, channel))
                .count()
                == 1,
            state: Cell::new(State::Idle),
            announced_ready: Cell::new(false),
        })
    })
}

/// Whether an operation receives from this rank on this channel.
fn comes(op: &PlanOp, sender: u32, of: u16) -> bool {
    match op.kind {
        OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
            (from, channel) == (sender, of)
        }
        _ => false,
    }
}

/// A message that its receiver has claimed, and that its sender was asked to copy; ends when dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct Begun {
    segment: Arc<SharedSegment>,
    pub(crate) sender: u32,
    /// The offset of its entry.
    entry: u64,
    from: Found,
    into: Iovec,
    piece_bytes: usize,
    pieces: u64,
    /// Whether the sender copies to its bounce buffers, in whose order pieces then are taken.
    by_bounce_buffers: bool,
    /// Pieces that were copied here from the sender's memory.
    own: u64,
    /// Pieces that were copied here from the sender's bounce buffers.
    bounced: u64,
}

// SAFETY: the addresses are of memory of the call, which its maker keeps valid for the request, from whatever thread, and of the
// sender's, which is claimed.
unsafe impl Send for Begun {}

impl Begun {
    /// Asks `sender`, whose message in the entry at this offset was just claimed, to copy it; none where that does not pay or
    /// may not be. If there is one, it keeps the claim.
    pub(crate) fn new<I: Iterator<Item = Iovec>>(
        segment: &Arc<SharedSegment>,
        sender: u32,
        entry_at: u64,
        sink: &mut Sink<I>,
    ) -> Option<Begun> {
        let arena = segment.arena();
        // SAFETY: claimed, so the sender's send descriptors live.
        let entry = unsafe { Entry::at(arena, entry_at) };
        let bytes = entry.bytes() as usize;
        if bytes < CONCURRENT_LEAST || entry.way() == Protocol::Bounce || !segment.may_assist() {
            return None;
        }
        let (from, into) = (entry.single(arena)?, sink.single(bytes)?);
        let mut by_bounce_buffers = false;
        if let Found::There(iovec) = from {
            // Once the sender has copied something it would be too late to find out that this process may not read for itself.
            // SAFETY: the sink's memory is the call's own.
            let allowed =
                unsafe { cross_memory_attach::fetch(entry.process(), iovec.piece(0, 1), into) };
            if allowed != Outcome::All {
                return None;
            }
            by_bounce_buffers =
                entry.core() == send_descriptors::core() && entry.bounced(arena, 0, 0).is_some();
        }
        let (piece_bytes, target) = if by_bounce_buffers {
            (ASSISTED_BOUNCED_PIECE, Target::BounceBuffers)
        } else {
            let place = send_descriptors::encode(arena, into);
            let process = std::process::id();
            (
                sender_assisted::piece_bytes(bytes),
                Target::Memory { place, process },
            )
        };
        entry.assist.open_to_all(piece_bytes, target);
        segment.wake(sender);
        Some(Begun {
            segment: Arc::clone(segment),
            sender,
            entry: entry_at,
            from,
            into,
            piece_bytes,
            pieces: bytes.div_ceil(piece_bytes) as u64,
            by_bounce_buffers,
            own: 0,
            bounced: 0,
        })
    }

    fn entry(&self) -> &Entry {
        // SAFETY: claimed, so the sender's send descriptors live.
        unsafe { Entry::at(self.segment.arena(), self.entry) }
    }

    /// Pieces that nobody has taken.
    fn left(&self) -> u64 {
        self.entry().assist.left(self.pieces)
    }

    /// How it ended, if all of it is copied.
    fn outcome(&self) -> Option<Outcome> {
        let (copied, well) = self.entry().assist.copied();
        let here = match self.by_bounce_buffers {
            true => self.own + self.bounced,
            false => self.own + copied,
        };
        if here < self.pieces {
            return None;
        }
        Some(match self.from {
            // SAFETY: claimed, so readable until the claim ends; nobody else writes to the call's memory any more.
            Found::There(iovec) if !well => unsafe {
                cross_memory_attach::fetch(self.entry().process(), iovec, self.into)
            },
            _ => Outcome::All,
        })
    }

    /// Copies a piece that was taken from the sender's memory.
    fn copy(&mut self, piece: u64) -> Outcome {
        let start = piece as usize * self.piece_bytes;
        let here = self.into.piece(start, self.piece_bytes);
        self.own += 1;
        match self.from.piece(start, self.piece_bytes) {
            // SAFETY: claimed, so readable until the claim ends; this piece of the call's memory is ours alone.
            Found::Here(iovec) => unsafe {
                self.segment
                    .distance()
                    .copy(iovec.address, here.address, here.bytes);
                Outcome::All
            },
            // SAFETY: as above.
            Found::There(iovec) => unsafe {
                cross_memory_attach::fetch(self.entry().process(), iovec, here)
            },
        }
    }

    /// Copies a piece that nobody has taken, if there is one.
    fn copy_next(&mut self) -> Option<Outcome> {
        let piece = match self.by_bounce_buffers {
            false => self.entry().assist.take(self.pieces)?,
            true => {
                let next = self.own + self.bounced;
                let taken = next < self.pieces && self.entry().assist.take_these(next, 1);
                taken.then_some(next)?
            }
        };
        Some(self.copy(piece))
    }

    /// Copies what the sender has bounced; whether there was something.
    fn copy_bounced(&mut self) -> bool {
        let (before, distance) = (self.bounced, self.segment.distance_of(self.into.bytes));
        while self.by_bounce_buffers && self.entry().assist.copied().0 > self.bounced {
            // Pieces are taken in order, and we take one only when the sender has none: what it has follows all that is here.
            let start = (self.own + self.bounced) as usize * self.piece_bytes;
            let here = self.into.piece(start, self.piece_bytes);
            let at = SenderAssist::bounce_buffer(self.bounced, self.piece_bytes);
            if let Some(bounced) = self.entry().bounced(self.segment.arena(), at, here.bytes) {
                // SAFETY: filled by the sender, who leaves it until it is told that it is used; this piece of the call's
                // memory is ours alone.
                unsafe { distance.copy(bounced.address, here.address, here.bytes) };
            }
            self.bounced += 1;
            self.entry().assist.combined(self.bounced);
        }
        self.bounced > before
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        let theirs = self.entry().assist.close().saturating_sub(self.own);
        let is_gone = || self.segment.liveness().is_dead(self.sender);
        // What goes to bounce buffers goes to memory of the sender's.
        while !self.by_bounce_buffers && self.entry().assist.copied().0 < theirs && !is_gone() {
            std::thread::yield_now();
        }
        self.entry().descriptor.end();
        self.segment.wake(self.sender);
    }
}

/// Copies some of what was begun, after `look` looks in vain; whether there was something to copy, or how it failed and with
/// whom.
pub(crate) fn copy_some(begun: &mut [Begun], look: u32) -> Result<bool, (u32, Outcome)> {
    let bounced = begun
        .iter_mut()
        .filter_map(|one| one.copy_bounced().then_some(()));
    if bounced.count() > 0 {
        return Ok(true);
    }
    // Who shares this core comes to it when this rank gives way.
    let least = match begun.iter().any(|one| one.by_bounce_buffers) {
        true => CONCURRENT_SHORT_LOOKS,
        false => 0,
    };
    if look < least {
        return Ok(false);
    }
    let may = |one: &&mut Begun| !one.by_bounce_buffers || look > CONCURRENT_PATIENT_LOOKS;
    let open = begun.iter_mut().filter(may).max_by_key(|one| one.left());
    let Some((sender, outcome)) = open.and_then(|one| Some((one.sender, one.copy_next()?))) else {
        return Ok(false);
    };
    match outcome {
        Outcome::All => Ok(true),
        failed => Err((sender, failed)),
    }
}

/// Ends what is copied.
pub(crate) fn end_some(begun: &mut Vec<Begun>) -> Result<(), (u32, Outcome)> {
    let mut failed = Ok(());
    begun.retain(|one| match one.outcome() {
        None => true,
        Some(Outcome::All) => false,
        Some(outcome) => {
            failed = Err((one.sender, outcome));
            false
        }
    });
    failed
}
