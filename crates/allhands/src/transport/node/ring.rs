//! The ring: a lock-free queue of short messages from one rank to another.
//!
//! A cell holds its number in the sequence, a header and a payload; number, header and the first 32 payload bytes share a
//! cache line, so a short message is one line that moves from core to core, once. The consumer never writes to a cell: it
//! gives cells back in bulk, by a count on a line of its own that the producer reads only when it has run out of cells.

use super::sync::{AtomicU64, Ordering, UnsafeCell};
use std::mem::MaybeUninit;

/// The longest payload of a cell in bytes.
pub const EAGER_BYTES: usize = 1024 - 32;

/// The most cells that one message takes; longer messages are read from the sender's memory.
///
/// A receiver reads the first cell while the sender fills the next, and nobody waits for an answer.
pub(crate) const PIECES: usize = CELLS as usize / 2;

/// Cells of a ring.
#[cfg(not(loom))]
pub(crate) const CELLS: u64 = 16;
/// Cells of a ring; few, so that the model checker sees it full.
#[cfg(loom)]
pub(crate) const CELLS: u64 = 2;

/// Messages after which the consumer tells the producer that their cells are free.
const BULK: u64 = CELLS / 2;

/// What a cell carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The payload is the message, or its last piece.
    Eager,
    /// The payload is a piece of the message, and others follow.
    Piece,
    /// The payload says where a descriptor of the message lies, and the message's length.
    Rendezvous,
}

/// What is said about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Header {
    /// The sequence number of the call.
    pub call: u64,
    /// The hash of the signatures of this call and all before it.
    pub signature: u64,
    /// The length of the payload in bytes.
    pub bytes: u16,
    /// The channel.
    pub channel: u16,
    /// The sender.
    pub from: u16,
    /// What the payload is.
    pub kind: Kind,
}

/// The payload, aligned for every element type.
#[derive(Debug)]
#[repr(C, align(32))]
pub(super) struct Payload([MaybeUninit<u8>; EAGER_BYTES]);

/// A message's place: in a ring's cell, or in an inbox's.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Cell {
    /// In a ring the number of the message in it, counted from 1; zero at first.
    pub(super) number: AtomicU64,
    pub(super) header: UnsafeCell<MaybeUninit<Header>>,
    pub(super) payload: UnsafeCell<Payload>,
}

/// A queue with one producer and one consumer; zeros are an empty one.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Ring {
    /// Messages whose cells the consumer has given back.
    returned: Returned,
    cells: [Cell; CELLS as usize],
}

#[derive(Debug)]
#[repr(C, align(128))]
struct Returned(AtomicU64);

/// The producer's side of a ring: its position, and up to where it knows cells to be free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Producer {
    position: u64,
    free: u64,
}

impl Default for Producer {
    fn default() -> Producer {
        Producer {
            position: 0,
            free: CELLS,
        }
    }
}

// SAFETY: header and payload of a cell are accessed only by the side whose turn it is: `push` and
// `front` say why.
unsafe impl Sync for Ring {}
// SAFETY: a ring holds plain bytes.
unsafe impl Send for Ring {}

impl Cell {
    #[cfg(any(test, loom))]
    pub(super) fn new() -> Cell {
        Cell {
            number: AtomicU64::new(0),
            header: UnsafeCell::new(MaybeUninit::uninit()),
            payload: UnsafeCell::new(Payload([MaybeUninit::uninit(); EAGER_BYTES])),
        }
    }
}

impl Ring {
    #[cfg(any(test, loom))]
    pub(crate) fn new() -> Ring {
        Ring {
            returned: Returned(AtomicU64::new(0)),
            cells: std::array::from_fn(|_| Cell::new()),
        }
    }

    /// Appends a message whose payload `fill` writes; `false`, and nothing happens, if the ring is full.
    ///
    /// # Safety
    /// Only the ring's one producer calls this, with its side as earlier calls left it (the default at
    /// first). `fill` initializes `header.bytes` bytes, at most [`EAGER_BYTES`].
    #[inline]
    pub(crate) unsafe fn push(
        &self,
        side: &mut Producer,
        header: Header,
        fill: impl FnOnce(*mut u8),
    ) -> bool {
        debug_assert!(
            header.bytes as usize <= EAGER_BYTES,
            "a payload fits its cell"
        );
        if side.position == side.free {
            // Acquire: the consumer's reads of those cells come before our writes.
            side.free = self.returned.0.load(Ordering::Acquire) + CELLS;
            if side.position == side.free {
                return false;
            }
        }
        let cell = &self.cells[(side.position % CELLS) as usize];
        // SAFETY: the consumer has given the cell's last message back, or there was none, and does not touch the cell
        // before it sees the number below. Only the producer, which we are, writes cells.
        cell.header.with_mut(|at| unsafe { (*at).write(header) });
        cell.payload.with_mut(|at| fill(at.cast::<u8>()));
        side.position += 1;
        // Release: whoever sees the number sees header and payload.
        cell.number.store(side.position, Ordering::Release);
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
        if cell.number.load(Ordering::Acquire) != position + 1 {
            return None;
        }
        // SAFETY: the number says that this message is in the cell, so the producer has initialized the header, and it
        // touches the cell no more until the consumer, which we are, has given it back.
        let header = cell.header.with(|at| unsafe { (*at).assume_init_read() });
        Some(cell.payload.with(|at| read(header, at.cast::<u8>())))
    }

    /// Gives the cell of the message that [`Ring::front`] showed back to the producer; whether the producer can see it
    /// now, as it sees several at once.
    ///
    /// # Safety
    /// Only the ring's one consumer calls this, after `front` showed a message at this position.
    #[inline]
    pub(crate) unsafe fn release(&self, position: &mut u64) -> bool {
        *position += 1;
        let seen = position.is_multiple_of(BULK);
        if seen {
            // Release: our reads come before the producer's next writes.
            self.returned.0.store(*position, Ordering::Release);
        }
        seen
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
            from: 1,
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
                let mut side = Producer::default();
                for number in 0..MESSAGES {
                    // SAFETY: this thread is the one producer, and 8 bytes are written.
                    let fill = |at: *mut u8| unsafe { at.cast::<u64>().write(number * 7) };
                    // SAFETY: as above.
                    while !unsafe { theirs.push(&mut side, header(number), fill) } {
                        loom::thread::yield_now();
                    }
                }
            });
            let mut position = 0;
            while position < MESSAGES {
                // SAFETY: this thread is the one consumer; the payload is read within.
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
    fn short_messages_share_a_line_with_their_number() {
        let cell = std::mem::offset_of!(Cell, payload);
        assert!(cell <= 32, "the payload starts at byte {cell}");
        assert_eq!(size_of::<Cell>(), 1024);
    }

    #[test]
    fn a_full_ring_refuses() {
        let (ring, mut sent, mut received) = (Ring::new(), Producer::default(), 0);
        let header = Header {
            call: 1,
            signature: 2,
            bytes: 0,
            channel: 0,
            from: 0,
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
