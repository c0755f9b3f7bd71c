//! The inbox: a lock-free queue of short messages to one rank from all ranks that have no ring to it.
//!
//! Producers take places by compare-and-swap and publish them by the cell's number; the consumer shows them in the order of
//! the places. In lap `l` a cell's number is `2 l` while it is free and `2 l + 1` while it is full. Memory is linear in
//! the number of ranks, which rings for every pair would not be.

use crate::transport::shm::queue::ring::{Cell, EAGER_BYTES, Header};
use crate::transport::shm::sync::{AtomicU64, Ordering};

/// Cells of an inbox.
#[cfg(not(loom))]
pub(crate) const CELLS: u64 = 64;
/// Cells of an inbox; few, so that the model checker sees it full.
#[cfg(loom)]
pub(crate) const CELLS: u64 = 2;

/// A queue with many producers and one consumer; zeros are an empty one.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Inbox {
    /// Places that producers have taken.
    taken: Taken,
    cells: [Cell; CELLS as usize],
}

#[derive(Debug)]
#[repr(C, align(128))]
struct Taken(AtomicU64);

// SAFETY: header and payload of a cell are accessed only by the producer that took its place, before it publishes, and by
// the consumer after that and before it gives the cell back: `push` and `front` say why.
unsafe impl Sync for Inbox {}
// SAFETY: an inbox holds plain bytes.
unsafe impl Send for Inbox {}

impl Inbox {
    #[cfg(loom)]
    pub(crate) fn new() -> Inbox {
        Inbox {
            taken: Taken(AtomicU64::new(0)),
            cells: std::array::from_fn(|_| Cell::new()),
        }
    }

    /// Appends a message whose payload `fill` writes; `false`, and nothing happens, if the inbox is full or another
    /// producer was quicker.
    ///
    /// # Safety
    /// `fill` initializes `header.bytes` bytes, at most [`EAGER_BYTES`].
    pub(crate) unsafe fn push(&self, header: Header, fill: impl FnOnce(*mut u8)) -> bool {
        debug_assert!(
            header.bytes as usize <= EAGER_BYTES,
            "a payload fits its cell"
        );
        let mut place = self.taken.0.load(Ordering::Relaxed);
        let cell = loop {
            let cell = &self.cells[(place % CELLS) as usize];
            let free = place / CELLS * 2;
            // Acquire: the consumer's reads of the last lap come before our writes.
            if cell.number.load(Ordering::Acquire) != free {
                return false;
            }
            let order = Ordering::Relaxed;
            match self
                .taken
                .0
                .compare_exchange_weak(place, place + 1, order, order)
            {
                Ok(_) => break cell,
                Err(now) => place = now,
            }
        };
        // SAFETY: the place is ours alone, and its cell was free in this lap: the consumer touches it only once it sees
        // the number below, and no producer before the consumer has given it back.
        cell.header.with_mut(|at| unsafe { (*at).write(header) });
        cell.payload.with_mut(|at| fill(at.cast::<u8>()));
        // Release: whoever sees the number sees header and payload.
        cell.number.store(place / CELLS * 2 + 1, Ordering::Release);
        true
    }

    /// Shows the oldest message to `read`, which gets the header and the address of the payload.
    ///
    /// # Safety
    /// Only the one consumer calls this, with the position that its calls of [`Inbox::release`] left (0 at first). The
    /// payload is readable until that message is released.
    pub(crate) unsafe fn front<R>(
        &self,
        position: u64,
        read: impl FnOnce(Header, *const u8) -> R,
    ) -> Option<R> {
        let cell = &self.cells[(position % CELLS) as usize];
        // Acquire: pairs with the producer's release.
        if cell.number.load(Ordering::Acquire) != position / CELLS * 2 + 1 {
            return None;
        }
        // SAFETY: the number says that the cell is full in this lap, so its producer has initialized the header, and
        // nobody touches the cell until the consumer, which we are, gives it back.
        let header = cell.header.with(|at| unsafe { (*at).assume_init_read() });
        Some(cell.payload.with(|at| read(header, at.cast::<u8>())))
    }

    /// Gives the cell of the message that [`Inbox::front`] showed back.
    ///
    /// # Safety
    /// Only the one consumer calls this, after `front` showed a message at this position.
    pub(crate) unsafe fn release(&self, position: &mut u64) {
        let cell = &self.cells[(*position % CELLS) as usize];
        // Release: our reads come before the next producer's writes.
        cell.number
            .store(*position / CELLS * 2 + 2, Ordering::Release);
        *position += 1;
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::transport::shm::queue::ring::Kind;
    use loom::sync::Arc;

    fn header(from: u16, number: u64) -> Header {
        Header {
            call: number,
            signature: !number,
            bytes: 8,
            channel: 3,
            from,
            kind: Kind::Eager,
        }
    }

    /// Two producers share an inbox of two cells; one tries a second message, for which there may be no room.
    #[test]
    fn messages_of_two_producers_arrive_whole_and_in_order() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let inbox = Arc::new(Inbox::new());
            let push = |inbox: &Inbox, from: u16, number: u64| {
                // SAFETY: 8 bytes are written.
                let fill = |at: *mut u8| unsafe { at.cast::<u64>().write(number * 7) };
                // SAFETY: as above.
                unsafe { inbox.push(header(from, number), fill) }
            };
            let producers = [0u16, 1].map(|from| {
                let theirs = Arc::clone(&inbox);
                loom::thread::spawn(move || {
                    while !push(&theirs, from, 0) {
                        loom::thread::yield_now();
                    }
                    1 + u64::from(from == 1 && push(&theirs, from, 1))
                })
            });
            let (mut position, mut next) = (0, [0, 0]);
            let mut take = || {
                // SAFETY: this thread is the one consumer; the payload is read within.
                let seen = unsafe { inbox.front(position, |h, at| (h, at.cast::<u64>().read())) };
                if let Some((seen, payload)) = seen {
                    let number = &mut next[usize::from(seen.from)];
                    assert_eq!((seen, payload), (header(seen.from, *number), *number * 7));
                    *number += 1;
                    // SAFETY: as above.
                    unsafe { inbox.release(&mut position) };
                }
                position
            };
            while take() < 2 {
                loom::thread::yield_now();
            }
            let sent: u64 = producers.map(|p| p.join().unwrap()).iter().sum();
            assert_eq!(take(), sent);
        });
    }
}
