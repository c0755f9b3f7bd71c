//! Help: a long message that its sender, who waits for it to be read, copies together with the receiver.
//!
//! ```text
//! receiver   opens ─▶ takes piece 0 ─▶ takes piece 2 ─▶ closes ─▶ waits until what the sender took is copied
//! sender              takes piece 1 ─▶ takes piece 3 ─▶ finds none
//! ```
//!
//! One core moves lines from another's cache about as fast as it can wait for them; two move twice as many. Pieces are taken
//! in order, each once; nobody waits for a sender that has other things to do.

use super::sync::{AtomicU64, Ordering};

/// The shortest message that is worth the sender's help, in bytes.
pub(super) const LEAST: usize = 24 << 10;

/// The fewest bytes of a message that is cut in four pieces instead of two, and the longest piece.
const QUARTERS_FROM: usize = 256 << 10;

/// Marks that a piece which the sender took could not be copied.
const FAILED: u64 = 1 << 32;

/// What there is to copy of a message that a receiver has claimed; zeros: nothing.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Help {
    /// Pieces that are taken, plus one; 0 while there is nothing to take.
    taken: AtomicU64,
    /// Pieces that the sender has copied.
    copied: AtomicU64,
    /// Where the message goes, as an outbox's place says it.
    target: AtomicU64,
    /// The receiver's process.
    process: AtomicU64,
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) place: u64,
    pub(super) process: u32,
}

/// The length of each piece but the last, of a message of `bytes` bytes.
pub(super) fn piece_bytes(bytes: usize) -> usize {
    let pieces = if bytes < QUARTERS_FROM { 2 } else { 4 };
    bytes
        .div_ceil(pieces)
        .next_multiple_of(4096)
        .min(QUARTERS_FROM)
}

/// The number of pieces of a message.
pub(super) fn pieces(bytes: usize) -> u64 {
    bytes.div_ceil(piece_bytes(bytes)) as u64
}

impl Help {
    /// Asks for help, before the receiver itself begins.
    pub(super) fn open(&self, target: Target) {
        self.copied.store(0, Ordering::Relaxed);
        self.target.store(target.place, Ordering::Relaxed);
        let process = u64::from(target.process);
        self.process.store(process, Ordering::Relaxed);
        // Release: who takes a piece finds where it goes.
        self.taken.store(1, Ordering::Release);
    }

    /// Takes the next of `pieces` pieces; none when all are taken, or nobody asks for help.
    pub(super) fn take(&self, pieces: u64) -> Option<u64> {
        let next = |taken: u64| (taken > 0 && taken <= pieces).then_some(taken + 1);
        // Acquire: as for `open`.
        let (won, lost) = (Ordering::AcqRel, Ordering::Relaxed);
        let before = self.taken.fetch_update(won, lost, next).ok()?;
        Some(before - 1)
    }

    /// Where the pieces go, for a sender that has taken one.
    pub(super) fn target(&self) -> Target {
        Target {
            place: self.target.load(Ordering::Relaxed),
            process: self.process.load(Ordering::Relaxed) as u32,
        }
    }

    /// Says that a piece that the sender took is copied, or could not be.
    pub(super) fn done(&self, copied: bool) {
        let one = if copied { 1 } else { 1 + FAILED };
        // Release: the receiver that counts the piece sees its bytes.
        self.copied.fetch_add(one, Ordering::Release);
    }

    /// Ends the asking; gives how many pieces were taken.
    pub(super) fn close(&self) -> u64 {
        self.taken.swap(0, Ordering::Relaxed).saturating_sub(1)
    }

    /// How many pieces the sender is done with, and whether all of them were copied.
    pub(super) fn copied(&self) -> (u64, bool) {
        // Acquire: as for `done`.
        let copied = self.copied.load(Ordering::Acquire);
        (copied % FAILED, copied < FAILED)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_message() {
        for bytes in [LEAST, 32 << 10, 100_001, 256 << 10, 1 << 20, (5 << 20) + 1] {
            let (piece, count) = (piece_bytes(bytes), pieces(bytes));
            assert!(piece as u64 * count >= bytes as u64, "{bytes}");
            assert!((piece as u64) * (count - 1) < bytes as u64, "{bytes}");
            assert_eq!(piece % 4096, 0);
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::super::sync::UnsafeCell;
    use super::*;
    use loom::sync::Arc;

    const PIECES: u64 = 2;

    struct Shared {
        help: Help,
        into: [UnsafeCell<u8>; PIECES as usize],
    }

    // SAFETY: the model checker finds accesses that are not ordered.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    #[test]
    fn every_piece_is_copied_once_and_seen() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                help: Help {
                    taken: AtomicU64::new(0),
                    copied: AtomicU64::new(0),
                    target: AtomicU64::new(0),
                    process: AtomicU64::new(0),
                },
                into: [UnsafeCell::new(0), UnsafeCell::new(0)],
            });
            let theirs = Arc::clone(&shared);
            let sender = loom::thread::spawn(move || {
                // It looks now and then; never at all is among the interleavings.
                for _ in 0..2 {
                    if let Some(piece) = theirs.help.take(PIECES) {
                        assert_eq!(theirs.help.target().place, 5);
                        // SAFETY: taken, so nobody else's.
                        theirs.into[piece as usize].with_mut(|b| unsafe { *b += 1 });
                        theirs.help.done(true);
                    }
                }
            });
            let target = Target {
                place: 5,
                process: 0,
            };
            shared.help.open(target);
            let mut own = 0;
            while let Some(piece) = shared.help.take(PIECES) {
                // SAFETY: as above.
                shared.into[piece as usize].with_mut(|b| unsafe { *b += 1 });
                own += 1;
            }
            let taken = shared.help.close();
            assert_eq!(taken, PIECES);
            while shared.help.copied() != (taken - own, true) {
                loom::thread::yield_now();
            }
            for piece in &shared.into {
                // SAFETY: all are copied.
                piece.with(|b| assert_eq!(unsafe { *b }, 1));
            }
            sender.join().unwrap();
        });
    }
}
