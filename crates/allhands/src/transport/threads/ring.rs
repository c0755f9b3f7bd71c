//! The ring: a lock-free queue of short messages from one rank to another.
//!
//! A cell holds a turn, a header and a payload; turn, header and the first 32 payload bytes share a
//! cache line, so a short message is one line that moves from core to core. In lap `l` a cell's turn is
//! `2 l` while it is free and `2 l + 1` while it is full. Each side keeps its own position.

use super::sync::{AtomicU64, Ordering, UnsafeCell};
use std::mem::MaybeUninit;

/// The longest payload of a cell in bytes; longer messages are read straight from the sender's memory.
///
/// Two cores that exchange are faster by rendezvous from about 600 bytes; ranks that share a core
/// are faster with longer cells, as the sender need not run again.
pub const EAGER_BYTES: usize = 1024 - 32;

/// Cells of a ring.
#[cfg(not(loom))]
pub(crate) const CELLS: u64 = 8;
/// Cells of a ring; few, so that the model checker sees it full.
#[cfg(loom)]
pub(crate) const CELLS: u64 = 2;

/// What a cell carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The payload is the message.
    Eager,
    /// The payload is the address of a descriptor and the message's length.
    Rendezvous,
}

/// What is said about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The sequence number of the call.
    pub call: u64,
    /// The hash of the call's signature.
    pub signature: u64,
    /// The length of the payload in bytes.
    pub bytes: u32,
    /// The channel.
    pub channel: u16,
    /// What the payload is.
    pub kind: Kind,
}

/// The payload, aligned for every element type.
#[repr(C, align(32))]
struct Payload([MaybeUninit<u8>; EAGER_BYTES]);

#[repr(C, align(64))]
struct Cell {
    turn: AtomicU64,
    header: UnsafeCell<MaybeUninit<Header>>,
    payload: UnsafeCell<Payload>,
}

/// A queue with one producer and one consumer.
pub(crate) struct Ring {
    cells: Box<[Cell]>,
}

// SAFETY: header and payload of a cell are accessed only by the side whose turn it is: `push` and
// `front` say why.
unsafe impl Sync for Ring {}
// SAFETY: a ring holds plain bytes.
unsafe impl Send for Ring {}

impl Ring {
    pub(crate) fn new() -> Ring {
        let cell = |_| Cell {
            turn: AtomicU64::new(0),
            header: UnsafeCell::new(MaybeUninit::uninit()),
            payload: UnsafeCell::new(Payload([MaybeUninit::uninit(); EAGER_BYTES])),
        };
        Ring {
            cells: (0..CELLS).map(cell).collect(),
        }
    }

    /// Appends a message whose payload `fill` writes; `false`, and nothing happens, if the ring is full.
    ///
    /// # Safety
    /// Only the ring's one producer calls this, with the position that its earlier calls left (0 at
    /// first). `fill` initializes `header.bytes` bytes, at most [`EAGER_BYTES`].
    #[inline]
    pub(crate) unsafe fn push(
        &self,
        position: &mut u64,
        header: Header,
        fill: impl FnOnce(*mut u8),
    ) -> bool {
        debug_assert!(
            header.bytes as usize <= EAGER_BYTES,
            "a payload fits its cell"
        );
        let cell = &self.cells[(*position % CELLS) as usize];
        let free = *position / CELLS * 2;
        // Acquire: the consumer's reads of the last lap come before our writes.
        if cell.turn.load(Ordering::Acquire) != free {
            return false;
        }
        // SAFETY: the turn says the cell is free in this lap. Only the producer, which we are, makes
        // it full, so nobody else touches header and payload until the store below.
        cell.header.with_mut(|at| unsafe { (*at).write(header) });
        cell.payload.with_mut(|at| fill(at.cast::<u8>()));
        // Release: whoever sees the turn sees header and payload.
        cell.turn.store(free + 1, Ordering::Release);
        *position += 1;
        true
    }

    /// Shows the oldest message to `read`, which gets the header and the address of the payload.
    ///
    /// # Safety
    /// Only the ring's one consumer calls this, with the position that its calls of
    /// [`Ring::release`] left (0 at first). The payload is readable until that message is released.
    #[inline]
    pub(crate) unsafe fn front<R>(
        &self,
        position: u64,
        read: impl FnOnce(Header, *const u8) -> R,
    ) -> Option<R> {
        let cell = &self.cells[(position % CELLS) as usize];
        // Acquire: pairs with the producer's release.
        if cell.turn.load(Ordering::Acquire) != position / CELLS * 2 + 1 {
            return None;
        }
        // SAFETY: the turn says the cell is full in this lap, so the producer has initialized the
        // header and touches the cell no more until the consumer, which we are, releases it.
        let header = cell.header.with(|at| unsafe { (*at).assume_init_read() });
        Some(cell.payload.with(|at| read(header, at.cast::<u8>())))
    }

    /// Gives the cell of the message that [`Ring::front`] showed back to the producer.
    ///
    /// # Safety
    /// Only the ring's one consumer calls this, after `front` showed a message at this position.
    #[inline]
    pub(crate) unsafe fn release(&self, position: &mut u64) {
        let cell = &self.cells[(*position % CELLS) as usize];
        // Release: our reads come before the producer's next writes.
        cell.turn
            .store(*position / CELLS * 2 + 2, Ordering::Release);
        *position += 1;
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    fn header(number: u64) -> Header {
        Header {
            call: number,
            signature: !number,
            bytes: 8,
            channel: 3,
            kind: Kind::Eager,
        }
    }

    #[test]
    fn messages_arrive_whole_and_in_order_over_two_laps() {
        loom::model(|| {
            const MESSAGES: u64 = 3;
            let ring = Arc::new(Ring::new());
            let theirs = Arc::clone(&ring);
            let producer = loom::thread::spawn(move || {
                let mut position = 0;
                while position < MESSAGES {
                    let number = position;
                    // SAFETY: this thread alone produces; eight bytes are written.
                    let pushed = unsafe {
                        theirs.push(&mut position, header(number), |at| {
                            at.cast::<u64>().write(number * 7);
                        })
                    };
                    if !pushed {
                        loom::thread::yield_now();
                    }
                }
            });
            let mut position = 0;
            while position < MESSAGES {
                // SAFETY: this thread alone consumes, and releases what it was shown.
                let seen = unsafe { ring.front(position, |h, at| (h, at.cast::<u64>().read())) };
                match seen {
                    Some(seen) => {
                        assert_eq!(seen, (header(position), position * 7));
                        // SAFETY: as above.
                        unsafe { ring.release(&mut position) };
                    }
                    None => loom::thread::yield_now(),
                }
            }
            producer.join().unwrap();
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn short_messages_share_a_line_with_their_turn() {
        let cell = std::mem::offset_of!(Cell, payload);
        assert!(cell <= 32, "the payload starts at byte {cell}");
        assert_eq!(size_of::<Cell>() % 64, 0);
    }

    #[test]
    fn a_full_ring_refuses() {
        let (ring, mut sent, mut received) = (Ring::new(), 0, 0);
        let header = Header {
            call: 1,
            signature: 2,
            bytes: 0,
            channel: 0,
            kind: Kind::Eager,
        };
        for _ in 0..3 {
            for _ in 0..CELLS {
                // SAFETY: one thread is both sides; no payload.
                assert!(unsafe { ring.push(&mut sent, header, |_| {}) });
            }
            // SAFETY: as above.
            assert!(!unsafe { ring.push(&mut sent, header, |_| {}) });
            for _ in 0..CELLS {
                // SAFETY: as above; a message was shown before it is released.
                unsafe {
                    assert_eq!(ring.front(received, |h, _| h), Some(header));
                    ring.release(&mut received);
                }
            }
            // SAFETY: as above.
            assert_eq!(unsafe { ring.front(received, |h, _| h) }, None);
        }
    }
}
