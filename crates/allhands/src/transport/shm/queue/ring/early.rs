//! The first lap: the lines of a ring's first messages, which lie together and apart from its cells.
//!
//! Of many communicators most carry little, and so the pages of a ring's cells are not touched before more comes. What is longer than
//! the line's part of a payload is in the cell all the same.

use super::{CELLS, Consumer, FIRST_LINE, Header, Kind, NUMBER, Producer, Ring};
use crate::transport::shm::sync::{AtomicU64, Ordering, UnsafeCell};
use std::mem::MaybeUninit;

/// The messages of a ring's first lap, and how many of all the consumer has read; zeros at first.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Early {
    /// Messages whose cells the consumer has given back.
    pub(super) returned: Returned,
    pub(super) lines: [Line; CELLS as usize],
}

/// What a message of the first lap has in the place of its cell's first line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Line {
    pub(super) number: AtomicU64,
    pub(super) header: UnsafeCell<MaybeUninit<Header>>,
    pub(super) payload: UnsafeCell<Short>,
}

/// A payload that shares a line with its number.
#[derive(Debug)]
#[repr(C, align(32))]
pub(super) struct Short([MaybeUninit<u8>; FIRST_LINE]);

const _: () = assert!(
    size_of::<Line>() == 64 || cfg!(loom),
    "a line of the first lap is a line"
);

/// Where the first lap of a ring is.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtEarly(*const Early);

// SAFETY: the address of atomics, and of what they guard.
unsafe impl Send for AtEarly {}

impl AtEarly {
    /// None where there is no ring.
    pub(super) fn new(early: Option<&Early>) -> AtEarly {
        AtEarly(early.map_or(std::ptr::null(), std::ptr::from_ref))
    }

    /// # Safety
    /// There is a ring, and its memory lives.
    pub(super) unsafe fn get<'a>(self) -> &'a Early {
        // SAFETY: the caller's promise.
        unsafe { &*self.0 }
    }
}

#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Returned(pub(super) AtomicU64);

#[cfg(any(test, loom))]
impl Early {
    pub(crate) fn new() -> Early {
        let line = |_| Line {
            number: AtomicU64::new(0),
            header: UnsafeCell::new(MaybeUninit::uninit()),
            payload: UnsafeCell::new(Short([MaybeUninit::uninit(); FIRST_LINE])),
        };
        Early {
            returned: Returned(AtomicU64::new(0)),
            lines: std::array::from_fn(line),
        }
    }
}

impl Ring {
    /// As [`Ring::push`], of a message of the first lap, for which there is room.
    ///
    /// # Safety
    /// As for [`Ring::push`].
    #[inline(never)]
    pub(super) unsafe fn push_early(
        &self,
        side: &mut Producer,
        header: Header,
        fill: impl FnOnce(*mut u8),
    ) {
        // SAFETY: the side of this ring.
        let line = &unsafe { side.early.get() }.lines[side.position as usize];
        match usize::from(header.bytes) > FIRST_LINE {
            true => {
                let cell = self.cell(side.position);
                cell.payload.with_mut(|at| fill(at.cast::<u8>()));
            }
            false => line.payload.with_mut(|at| fill(at.cast::<u8>())),
        }
        // SAFETY: a line has one message, and the consumer does not touch it before it sees the number below.
        line.header.with_mut(|at| unsafe { (*at).write(header) });
        side.position += 1;
        // Release: whoever sees the number sees header and payload.
        line.number.store(side.position, Ordering::Release);
    }

    /// The number of the message at a position, and how much of its medium buffer is filled.
    ///
    /// # Safety
    /// The early lines are those of this ring.
    pub(super) unsafe fn number(&self, early: AtEarly, position: u64) -> &AtomicU64 {
        match position < CELLS {
            // SAFETY: the caller's promise.
            true => &unsafe { early.get() }.lines[position as usize].number,
            false => &self.cell(position).number,
        }
    }

    /// As [`Ring::front`], of a message of the first lap.
    ///
    /// # Safety
    /// As for [`Ring::front`].
    #[inline(never)]
    pub(super) unsafe fn front_early(&self, side: &Consumer) -> Option<(Header, *const u8)> {
        // SAFETY: the side of this ring.
        let line = &unsafe { side.early.get() }.lines[side.position as usize];
        // Acquire: pairs with the producer's release.
        if (line.number.load(Ordering::Acquire) ^ (side.position + 1)) & NUMBER != 0 {
            return None;
        }
        // SAFETY: the number says that the message is there, and a line has no other, so the header is initialized for good.
        let header = line.header.with(|at| unsafe { (*at).assume_init_read() });
        // Of a message in a medium buffer the payload is the medium buffer's code, however long the message is.
        let is_long = header.kind != Kind::Medium && usize::from(header.bytes) > FIRST_LINE;
        let payload = match is_long {
            true => self.cell(side.position).payload.with(|at| at.cast()),
            false => line.payload.with(|at| at.cast()),
        };
        Some((header, payload))
    }
}
