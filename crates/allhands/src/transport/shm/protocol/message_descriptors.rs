//! The message descriptors: where the messages of a rank lie that are no part of a collective call and wait for their receivers.
//!
//! Such a message is announced by the offset of its line. Its receiver reads it from where it lies: threads, and processes what is
//! in the arena, as it is mapped, other memory with the system's help. If the system refuses that, the receiver refuses the message,
//! and the sender bounces it part by part: the receiver refuses it again when it has read a part that is not the last.

use crate::transport::TransportError;
use crate::transport::shm::memory::arena::{Arena, Block};
use crate::transport::shm::memory::iovec::Iovec;
use crate::transport::shm::protocol::send_descriptors::{Found, encode};
use crate::transport::shm::rendezvous::descriptor::Descriptor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Lines that are made at a time: a page.
const LINES: usize = 64;

/// A message that waits for its receiver; zeros are none.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Offered {
    pub(crate) descriptor: Descriptor,
    /// Where the part lies that is offered, where in the message it begins, and how long it is.
    place: AtomicU64,
    start: AtomicU64,
    bytes: AtomicU64,
    /// The sender's process.
    process: AtomicU32,
}

const _: () = assert!(size_of::<Offered>() == 64, "one line is all that moves");

/// A part of a message, as its receiver finds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfferedPart {
    pub(crate) found: Found,
    /// Where in the message it begins.
    pub(crate) start: usize,
    pub(crate) bytes: usize,
    /// The sender's process.
    pub(crate) process: u32,
}

impl Offered {
    /// The line at an offset of the arena.
    ///
    /// # Safety
    /// [`MessageDescriptors::take`] has given the offset.
    pub(crate) unsafe fn at(arena: &Arena, offset: u64) -> &Offered {
        // SAFETY: the caller's promise: a line there, which stays as long as the arena or until nobody looks for it; it is
        // atomics alone.
        unsafe { &*arena.at(offset).cast::<Offered>() }
    }

    /// Offers the part of the message that begins at `start`, and is here. Only the sender calls this, when the descriptor is free
    /// or refused.
    pub(crate) fn offer(&self, arena: &Arena, start: usize, part: Iovec) {
        self.place.store(encode(arena, part), Ordering::Relaxed);
        self.start.store(start as u64, Ordering::Relaxed);
        self.bytes.store(part.bytes as u64, Ordering::Relaxed);
        self.process.store(arena.process(), Ordering::Relaxed);
        self.descriptor.post(part.bytes as u64);
    }

    /// The part that is offered, to one who has claimed it.
    pub(crate) fn part(&self, arena: &Arena) -> OfferedPart {
        let words =
            [&self.place, &self.start, &self.bytes].map(|word| word.load(Ordering::Relaxed));
        let [place, start, bytes] = words;
        OfferedPart {
            found: Found::at(arena, place, bytes as usize),
            start: start as usize,
            bytes: bytes as usize,
            process: self.process.load(Ordering::Relaxed),
        }
    }
}

/// The lines of one rank.
#[derive(Debug)]
pub(crate) struct MessageDescriptors {
    arena: Arc<Arena>,
    blocks: Vec<Block>,
    free: Vec<u64>,
}

impl MessageDescriptors {
    pub(crate) fn new(arena: &Arc<Arena>) -> MessageDescriptors {
        MessageDescriptors {
            arena: Arc::clone(arena),
            blocks: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The offset of a line that is free.
    ///
    /// # Errors
    /// [`TransportError::NoMemory`].
    pub(crate) fn take(&mut self) -> Result<u64, TransportError> {
        if self.free.is_empty() {
            let block = self.arena.allocate(LINES * size_of::<Offered>())?;
            let line = |line: usize| block.offset() + (line * size_of::<Offered>()) as u64;
            self.free.extend((0..LINES).rev().map(line));
            self.blocks.push(block);
        }
        self.free.pop().ok_or_else(|| TransportError::NoMemory {
            why: "a page has no line".into(),
        })
    }

    /// Gives a line back whose message was read; one that was taken back may still be found, and stays as it is.
    pub(crate) fn give_back(&mut self, offset: u64) {
        self.free.push(offset);
    }
}

impl Drop for MessageDescriptors {
    fn drop(&mut self) {
        if self.free.len() == self.blocks.len() * LINES {
            return;
        }
        // Some receiver may still look at one of them.
        for block in self.blocks.drain(..) {
            block.keep();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::shm::rendezvous::descriptor::{Asked, Revoked};

    #[test]
    fn lines_are_used_again_and_what_may_be_found_stays() {
        let arena = Arena::private().unwrap();
        let mut descriptors = MessageDescriptors::new(&arena);
        let taken: Vec<u64> = (0..=LINES).map(|_| descriptors.take().unwrap()).collect();
        assert_eq!(descriptors.blocks.len(), 2);
        let message = [7u8; 100];
        let iovec = Iovec {
            address: message.as_ptr().cast_mut(),
            bytes: 60,
        };
        // SAFETY: given just now.
        let line = unsafe { Offered::at(&arena, taken[5]) };
        line.offer(&arena, 40, iovec);
        let Asked::Granted(claim) = line.descriptor.claim() else {
            panic!("it was offered");
        };
        let part = line.part(&arena);
        assert_eq!(
            (part.start, part.bytes, part.process),
            (40, 60, arena.process())
        );
        assert!(matches!(part.found, Found::Here(found) if found.address == iovec.address));
        drop(claim);
        assert!(line.descriptor.is_done());
        descriptors.give_back(taken[5]);
        assert_eq!(descriptors.take().unwrap(), taken[5]);
        line.offer(&arena, 0, iovec);
        assert_eq!(line.descriptor.revoke(|| false), Revoked::Unread);
        drop(descriptors);
        assert!(matches!(line.descriptor.claim(), Asked::Revoked));
    }
}
