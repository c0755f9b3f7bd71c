//! The sides of a ring: what its producer and its consumer each know of it.

use super::CELLS;
use super::early::{AtEarly, Early};
use crate::transport::shm::queue::buffers::Held;
use crate::transport::shm::sync::Ordering;

/// The producer's side of a ring: its position, and up to where it knows cells to be free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Producer {
    pub(super) position: u64,
    pub(super) free: u64,
    /// Whether the consumer is on another core and reads at once.
    pub(super) passes_on: bool,
    /// The longest of the last few messages in cells, with what stands before them, in bytes.
    longest: usize,
    /// How many messages ago that was.
    since: u64,
    pub(super) medium_buffers: Held,
    pub(crate) pipeline_buffers: Held,
    pub(super) early: AtEarly,
}

/// The consumer's side of a ring: its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Consumer {
    pub(super) position: u64,
    pub(super) early: AtEarly,
}

impl Consumer {
    /// The consumer of an empty ring, if there is one, whose first lap is there.
    pub(crate) fn new(early: Option<&Early>) -> Consumer {
        Consumer {
            position: 0,
            early: AtEarly::new(early),
        }
    }
}

impl Producer {
    /// The producer of an empty ring, if there is one, whose first lap is there, and whose consumer is on another core or not.
    pub(crate) fn new(passes_on: bool, early: Option<&Early>) -> Producer {
        Producer {
            early: AtEarly::new(early),
            position: 0,
            free: CELLS,
            passes_on,
            longest: 0,
            since: 0,
            medium_buffers: Held::medium_buffers(),
            pipeline_buffers: Held::pipeline_buffers(),
        }
    }

    /// The longest of the last few messages in cells, of which `bytes` is the last.
    #[inline]
    pub(super) fn longest_lately(&mut self, bytes: usize) -> usize {
        self.since += 1;
        if bytes >= self.longest || self.since == CELLS {
            (self.longest, self.since) = (bytes, 0);
        }
        self.longest
    }

    /// Whether a medium buffer that is received now is kept for a message the other way.
    pub(crate) fn keeps_medium_buffer(&self) -> bool {
        self.medium_buffers.has_room()
    }
}

/// Whether a cell is free.
///
/// # Safety
/// The side is of a ring whose memory lives.
#[inline]
pub(super) unsafe fn has_room(side: &mut Producer) -> bool {
    if side.position == side.free {
        // SAFETY: the caller's promise.
        let returned = &unsafe { side.early.get() }.returned;
        // Acquire: the consumer's reads of those cells come before our writes.
        side.free = returned.0.load(Ordering::Acquire) + CELLS;
    }
    side.position != side.free
}
