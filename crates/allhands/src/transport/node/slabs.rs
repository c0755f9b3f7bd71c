//! Slabs: payloads of some kilobytes that two ranks pass to and fro.
//!
//! A slab belongs to one of the two at a time. Who receives one keeps it for a message of its own: the lines are in its cache
//! then, and nobody else's, so to write them costs nothing. Two ranks that exchange messages so move every line once, where a
//! buffer that always carries the same direction moves twice, to its reader and back. Who has more than its share of slabs
//! hands one back at once: a rank that only sends always has some.
//!
//! ```text
//! rank 0 has a b, rank 1 has c d      0 ─ a ─▶ 1, 1 ─ c ─▶ 0      rank 0 has b c, rank 1 has d a
//! ```
//!
//! A slab's code says where it lies: among those of the ring that carries a message, or, plus [`SLABS`], of the ring the other
//! way.

use super::sync::{AtomicU32, AtomicU64, Ordering};

/// Slabs of each ring: as many as its sender has at first.
#[cfg(not(loom))]
pub(super) const SLABS: u32 = 4;
/// Slabs of each ring.
#[cfg(loom)]
pub(super) const SLABS: u32 = 1;

/// Slabs of both rings together.
const ALL: usize = 2 * SLABS as usize;

/// The most slabs that a rank keeps; whatever it does, the other has, or is about to be handed, the rest.
#[cfg(not(loom))]
const KEPT: usize = 4;
/// The most slabs that a rank keeps.
#[cfg(loom)]
const KEPT: usize = 1;

const _: () = assert!(KEPT < ALL, "a rank that only sends gets slabs back");

/// The slabs that a rank has for messages to one other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    codes: [u32; ALL],
    count: usize,
    /// How many the other has handed back, as far as this rank has looked.
    taken_back: u64,
}

impl Held {
    /// Those that a rank has at first.
    pub(super) fn new() -> Held {
        let mut codes = [0; ALL];
        for (code, slot) in (0..SLABS).zip(&mut codes) {
            *slot = code;
        }
        Held {
            codes,
            count: SLABS as usize,
            taken_back: 0,
        }
    }

    /// Whether a slab is there, which `handed_back` may bring.
    pub(super) fn has_any(&mut self, handed_back: &HandedBack) -> bool {
        if self.count == 0 {
            // All of them, so that the other's line comes here once for several messages.
            while let Some(code) = handed_back.take(&mut self.taken_back) {
                self.keep(code);
            }
        }
        self.count > 0
    }

    /// The slab that came last, so that its lines are near.
    pub(super) fn pop(&mut self) -> u32 {
        self.count -= 1;
        self.codes[self.count]
    }

    /// Keeps the slab of a message that was read, or gives the code to hand back.
    pub(super) fn keep_or_hand_back(&mut self, received: u32) -> Option<u32> {
        if self.count >= KEPT {
            return Some(received);
        }
        // The ring that carried it is the other one for our messages.
        self.keep((received + SLABS) % (2 * SLABS));
        None
    }

    fn keep(&mut self, code: u32) {
        self.codes[self.count] = code;
        self.count += 1;
    }
}

/// The slabs that the receiver of a ring has handed back to its sender; zeros: none.
#[derive(Debug)]
#[repr(C, align(128))]
pub(super) struct HandedBack {
    count: AtomicU64,
    codes: [AtomicU32; ALL],
}

impl HandedBack {
    #[cfg(any(test, loom))]
    pub(super) fn new() -> HandedBack {
        HandedBack {
            count: AtomicU64::new(0),
            codes: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// Hands a slab back. For the receiver alone.
    pub(super) fn put(&self, code: u32) {
        let count = self.count.load(Ordering::Relaxed);
        // There are no more slabs than places, so the sender has taken what was here.
        self.codes[count as usize % ALL].store(code, Ordering::Relaxed);
        // Release: our reads of the slab come before the sender's next writes, and it sees the code.
        self.count.store(count + 1, Ordering::Release);
    }

    /// Takes a slab that was handed back, as the one after `taken` others. For the sender alone.
    fn take(&self, taken: &mut u64) -> Option<u32> {
        // Acquire: as for `put`.
        if self.count.load(Ordering::Acquire) == *taken {
            return None;
        }
        let code = self.codes[*taken as usize % ALL].load(Ordering::Relaxed);
        *taken += 1;
        Some(code)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_only_sends_never_runs_out() {
        let (mut sender, mut receiver) = (Held::new(), Held::new());
        let handed_back = HandedBack::new();
        for message in 0..100 {
            assert!(sender.has_any(&handed_back), "message {message}");
            let code = sender.pop();
            if let Some(code) = receiver.keep_or_hand_back(code) {
                handed_back.put(code);
            }
        }
        assert_eq!(receiver.count, KEPT);
    }

    #[test]
    fn ranks_that_exchange_write_what_they_read_last() {
        let mut held = [Held::new(), Held::new()];
        for _ in 0..5 {
            let [a, b] = &mut held;
            let (to_b, to_a) = (a.pop(), b.pop());
            assert_eq!(a.keep_or_hand_back(to_a), None);
            assert_eq!(b.keep_or_hand_back(to_b), None);
            let mirrored = |code| (code + SLABS) % (2 * SLABS);
            assert_eq!((a.pop(), b.pop()), (mirrored(to_a), mirrored(to_b)));
            a.keep(mirrored(to_a));
            b.keep(mirrored(to_b));
        }
    }
}
