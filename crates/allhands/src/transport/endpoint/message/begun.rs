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
use crate::transport::shm::rendezvous::sender_assisted::{self, SenderAssist, Target};
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::tuning::{
    ASSISTED_BOUNCED_PIECE, CONCURRENT_LEAST, CONCURRENT_PATIENT_LOOKS, CONCURRENT_SHORT_LOOKS,
};
use std::sync::Arc;

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
            let process = arena.process();
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
