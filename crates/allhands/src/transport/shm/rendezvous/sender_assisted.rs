//! The sender's assistance: a long message that its sender, who waits for it to be read, copies together with the receiver.
//!
//! ```text
//! receiver   opens ─▶ takes piece 0 ─▶ takes piece 2 ─▶ closes ─▶ waits until what the sender took is copied
//! sender              takes piece 1 ─▶ takes piece 3 ─▶ finds none
//! ```
//!
//! One core moves lines from another's cache about as fast as it can wait for them; two move twice as many. Pieces are taken
//! in order, each once; nobody waits for a sender that has other things to do.
//!
//! Where the receiver combines what comes, or has no copy of its own to do meanwhile, the sender copies its pieces to a few
//! places of the arena by turns, and the receiver reads them there: sooner than the system, which has to find every page,
//! brings them from the sender's memory.

use crate::transport::shm::sync::{AtomicU64, Ordering};
use crate::transport::shm::tuning::{ASSISTED_BOUNCE_BUFFERS, ASSISTED_QUARTERS_LEAST};

/// Marks that a piece which the sender took could not be copied.
const FAILED: u64 = 1 << 32;

/// What there is to copy of a message that a receiver has claimed; zeros: nothing.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct SenderAssist {
    /// Pieces that are taken, plus one; 0 while there is nothing to take.
    taken: AtomicU64,
    /// Pieces that the sender has copied.
    copied: AtomicU64,
    /// Pieces of the sender's that the receiver has combined.
    combined: AtomicU64,
    /// The length of each piece but the last, in bytes.
    piece_bytes: AtomicU64,
    /// Where the message goes, as a send descriptor's place says it, or [`TO_BOUNCE_BUFFERS`].
    target: AtomicU64,
    /// The receiver's process.
    process: AtomicU64,
    /// Whether the receiver asks others at the same time: 1, or 0.
    to_all: AtomicU64,
}

/// The target of pieces that are combined.
const TO_BOUNCE_BUFFERS: u64 = u64::MAX;

/// Where pieces go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// To memory of the receiver.
    Memory {
        /// As a send descriptor's place says it.
        place: u64,
        process: u32,
    },
    /// To the sender's bounce buffers, by turns.
    BounceBuffers,
}

/// A piece that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it begins in the message, in bytes.
    pub(crate) start: usize,
    /// Its bytes, if the message is long enough.
    pub(crate) bytes: usize,
    pub(crate) target: Target,
    /// Where it begins in the bounce buffers, in bytes.
    pub(crate) bounce_buffer: usize,
}

/// The length of each piece but the last, of a message of `bytes` bytes.
pub(crate) fn piece_bytes(bytes: usize) -> usize {
    let pieces = if bytes < ASSISTED_QUARTERS_LEAST {
        2
    } else {
        4
    };
    bytes
        .div_ceil(pieces)
        .next_multiple_of(4096)
        .min(ASSISTED_QUARTERS_LEAST)
}

impl SenderAssist {
    #[cfg(loom)]
    pub(crate) fn new() -> SenderAssist {
        let zero = || AtomicU64::new(0);
        SenderAssist {
            taken: zero(),
            copied: zero(),
            combined: zero(),
            piece_bytes: zero(),
            target: zero(),
            process: zero(),
            to_all: zero(),
        }
    }

    /// As [`SenderAssist::open`], by a receiver that asks several senders: each copies as much as it can when it finds that out.
    pub(crate) fn open_to_all(&self, piece_bytes: usize, target: Target) {
        self.write(piece_bytes, target, true);
    }

    /// Whether the receiver that asks, or asked last, asks several.
    pub(crate) fn is_to_all(&self) -> bool {
        self.to_all.load(Ordering::Relaxed) == 1
    }

    /// Asks for help with pieces of `piece_bytes` bytes, before the receiver itself begins.
    pub(crate) fn open(&self, piece_bytes: usize, target: Target) {
        self.write(piece_bytes, target, false);
    }

    fn write(&self, piece_bytes: usize, target: Target, to_all: bool) {
        self.to_all.store(u64::from(to_all), Ordering::Relaxed);
        let (place, process) = match target {
            Target::Memory { place, process } => (place, process),
            Target::BounceBuffers => (TO_BOUNCE_BUFFERS, 0),
        };
        self.copied.store(0, Ordering::Relaxed);
        self.combined.store(0, Ordering::Relaxed);
        self.piece_bytes
            .store(piece_bytes as u64, Ordering::Relaxed);
        self.target.store(place, Ordering::Relaxed);
        self.process.store(u64::from(process), Ordering::Relaxed);
        // Release: who takes a piece finds where it goes.
        self.taken.store(1, Ordering::Release);
    }

    /// Takes the next of `pieces` pieces; none when all are taken. For the receiver.
    pub(crate) fn take(&self, pieces: u64) -> Option<u64> {
        self.take_if(|taken| taken <= pieces)
    }

    /// How many of `pieces` pieces nobody has taken.
    pub(crate) fn left(&self, pieces: u64) -> u64 {
        (pieces + 1).saturating_sub(self.taken.load(Ordering::Relaxed))
    }

    /// Whether `piece` has been taken.
    pub(crate) fn is_taken(&self, piece: u64) -> bool {
        self.taken.load(Ordering::Relaxed) > piece + 1
    }

    /// Takes `count` pieces from `piece` on, unless the sender has taken that. For the receiver.
    pub(crate) fn take_these(&self, piece: u64, count: u64) -> bool {
        let (won, lost) = (Ordering::AcqRel, Ordering::Relaxed);
        let (before, after) = (piece + 1, piece + 1 + count);
        let taken = &self.taken;
        taken.compare_exchange(before, after, won, lost).is_ok()
    }

    /// Takes the next piece of a message of `bytes` bytes, if there is one, somebody asks for help, and there is a place for
    /// it. For the sender.
    pub(crate) fn take_to_assist(&self, bytes: usize) -> Option<Piece> {
        // Nobody asks, mostly.
        if self.taken.load(Ordering::Acquire) == 0 {
            return None;
        }
        // What the receiver wrote before it opened stays as it is until the message is done with, which the sender sees.
        let piece_bytes = self.piece_bytes.load(Ordering::Relaxed) as usize;
        let target = match self.target.load(Ordering::Relaxed) {
            TO_BOUNCE_BUFFERS => Target::BounceBuffers,
            place => Target::Memory {
                place,
                process: self.process.load(Ordering::Relaxed) as u32,
            },
        };
        let copied = self.copied.load(Ordering::Relaxed) % FAILED;
        // Acquire: the receiver's reads of a bounce buffer come before it is filled again.
        if target == Target::BounceBuffers
            && copied - self.combined.load(Ordering::Acquire) >= ASSISTED_BOUNCE_BUFFERS
        {
            return None;
        }
        let pieces = bytes.div_ceil(piece_bytes) as u64;
        let piece = self.take_if(|taken| taken <= pieces)?;
        Some(Piece {
            start: piece as usize * piece_bytes,
            bytes: piece_bytes,
            target,
            bounce_buffer: Self::bounce_buffer(copied, piece_bytes),
        })
    }

    /// Where the sender's piece number `copied` begins in the bounce buffers, in bytes.
    pub(crate) fn bounce_buffer(copied: u64, piece_bytes: usize) -> usize {
        (copied % ASSISTED_BOUNCE_BUFFERS) as usize * piece_bytes
    }

    fn take_if(&self, may: impl Fn(u64) -> bool) -> Option<u64> {
        let next = |taken: u64| (taken > 0 && may(taken)).then_some(taken + 1);
        // Acquire: as for `open`.
        let (won, lost) = (Ordering::AcqRel, Ordering::Relaxed);
        let before = self.taken.fetch_update(won, lost, next).ok()?;
        Some(before - 1)
    }

    /// Says that a piece that the sender took is copied, or could not be.
    pub(crate) fn done(&self, copied: bool) {
        let one = if copied { 1 } else { 1 + FAILED };
        // Release: the receiver that counts the piece sees its bytes.
        self.copied.fetch_add(one, Ordering::Release);
    }

    /// Says that the receiver has combined `count` of the sender's pieces.
    pub(crate) fn combined(&self, count: u64) {
        // Release: as for `take_to_assist`.
        self.combined.store(count, Ordering::Release);
    }

    /// Ends the asking; gives how many pieces were taken.
    pub(crate) fn close(&self) -> u64 {
        self.taken.swap(0, Ordering::Relaxed).saturating_sub(1)
    }

    /// How many pieces the sender is done with, and whether all of them were copied.
    pub(crate) fn copied(&self) -> (u64, bool) {
        // Acquire: as for `done`.
        let copied = self.copied.load(Ordering::Acquire);
        (copied % FAILED, copied < FAILED)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::shm::tuning::ASSISTED_LEAST;

    #[test]
    fn pieces_cover_the_message() {
        for bytes in [
            ASSISTED_LEAST,
            32 << 10,
            100_001,
            256 << 10,
            1 << 20,
            (5 << 20) + 1,
        ] {
            let piece = piece_bytes(bytes);
            let count = bytes.div_ceil(piece) as u64;
            assert!(piece as u64 * count >= bytes as u64, "{bytes}");
            assert!((piece as u64) * (count - 1) < bytes as u64, "{bytes}");
            assert_eq!(piece % 4096, 0);
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::transport::shm::sync::UnsafeCell;
    use loom::sync::Arc;

    const PIECES: u64 = 2;
    const TARGET: Target = Target::Memory {
        place: 5,
        process: 6,
    };

    struct Shared {
        assist: SenderAssist,
        into: [UnsafeCell<u8>; PIECES as usize],
    }

    // SAFETY: the model checker finds accesses that are not ordered.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    fn shared() -> Arc<Shared> {
        Arc::new(Shared {
            assist: SenderAssist::new(),
            into: [UnsafeCell::new(0), UnsafeCell::new(0)],
        })
    }

    /// The sender's pieces come by way of its bounce buffer; those that the receiver takes itself do not.
    #[test]
    fn what_is_bounced_is_combined_in_order() {
        loom::model(|| {
            let shared = shared();
            let theirs = Arc::clone(&shared);
            let sender = loom::thread::spawn(move || {
                for _ in 0..2 {
                    if let Some(piece) = theirs.assist.take_to_assist(PIECES as usize) {
                        assert_eq!(piece.target, Target::BounceBuffers);
                        // SAFETY: the sender's own place until it says that it is done.
                        let value = 10 + piece.start as u8;
                        theirs.into[piece.bounce_buffer].with_mut(|b| unsafe { *b = value });
                        theirs.assist.done(true);
                    }
                }
            });
            shared.assist.open(1, Target::BounceBuffers);
            let mut bounced = 0;
            for piece in 0..PIECES {
                if shared.assist.take_these(piece, 1) {
                    continue;
                }
                while shared.assist.copied().0 == bounced {
                    loom::thread::yield_now();
                }
                let at = SenderAssist::bounce_buffer(bounced, 1);
                // SAFETY: the sender is done with it.
                shared.into[at].with(|b| assert_eq!(unsafe { *b }, 10 + piece as u8));
                bounced += 1;
                shared.assist.combined(bounced);
            }
            shared.assist.close();
            sender.join().unwrap();
        });
    }

    #[test]
    fn every_piece_is_copied_once_and_seen() {
        loom::model(|| {
            let shared = shared();
            let theirs = Arc::clone(&shared);
            let sender = loom::thread::spawn(move || {
                // It looks now and then; never at all is among the interleavings.
                for _ in 0..2 {
                    if let Some(piece) = theirs.assist.take_to_assist(PIECES as usize) {
                        assert_eq!(piece.target, TARGET);
                        // SAFETY: taken, so nobody else's.
                        theirs.into[piece.start].with_mut(|b| unsafe { *b += 1 });
                        theirs.assist.done(true);
                    }
                }
            });
            shared.assist.open(1, TARGET);
            let mut own = 0;
            while let Some(piece) = shared.assist.take(PIECES) {
                // SAFETY: as above.
                shared.into[piece as usize].with_mut(|b| unsafe { *b += 1 });
                own += 1;
            }
            let taken = shared.assist.close();
            assert_eq!(taken, PIECES);
            while shared.assist.copied() != (taken - own, true) {
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
