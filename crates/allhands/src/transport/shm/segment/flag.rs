//! The flag: how many notifications a rank has been given, each rank's counted apart where ranks are few.
//!
//! ```text
//! 4 ranks     │ by 0 │ by 1 │ by 2 │ by 3 │ - │ - │ - │ - │     one line; raised: the sum
//! ```
//!
//! A counter that several ranks add to is added to with the line in hand: who raises it waits until the line has come from the core
//! that had it last, and until all that was written before is in its place. A word that one rank alone writes to is written
//! and left: 8 ranks on two cores that share no cache take a quarter less for a broadcast of 8 bytes.

use crate::transport::shm::sync::{AtomicU64, Ordering};

/// The words of a flag, as many as a line has.
const WORDS: u32 = 8;

/// A flag; zeros are one that nobody has raised. It has a line of its own: ranks that watch it must not be disturbed by raises of
/// another.
///
/// Ordering: what a rank writes before it raises the flag is seen by whoever has seen it raised that far. Every word has one
/// writer, whose stores release; or all add to one word, and every addition continues the release sequences of those before it.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flag([AtomicU64; WORDS as usize]);

impl Flag {
    #[cfg(any(test, loom))]
    pub(crate) fn new() -> Flag {
        Flag(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    /// Raises it by one, as rank `by` of `ranks`; a rank does so from one thread at a time.
    #[inline]
    pub(crate) fn raise(&self, by: u32, ranks: u32) {
        if ranks > WORDS {
            self.0[0].fetch_add(1, Ordering::Release);
            return;
        }
        let word = &self.0[by as usize];
        word.store(word.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// How often it has been raised by all of `ranks` ranks.
    #[inline]
    pub(crate) fn raised(&self, ranks: u32) -> u64 {
        let words = if ranks > WORDS { 1 } else { ranks };
        let words = &self.0[..words as usize];
        words.iter().map(|word| word.load(Ordering::Acquire)).sum()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_flag_counts_whoever_raises_it() {
        assert_eq!(size_of::<Flag>(), 64);
        for ranks in [1, 2, WORDS, WORDS + 1, 100] {
            let flag = Flag::new();
            for turn in 0..3 {
                for by in 0..ranks {
                    assert_eq!(flag.raised(ranks), u64::from(turn * ranks + by));
                    flag.raise(by, ranks);
                }
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::transport::shm::sync::UnsafeCell;
    use loom::sync::Arc;

    struct Shared {
        flag: Flag,
        windows: [UnsafeCell<u32>; 2],
    }

    // SAFETY: the model checker finds accesses that are not ordered.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    /// Two ranks write to their windows and raise a third one's flag, each on its own word or both on one.
    #[test]
    fn what_was_written_before_is_seen() {
        for ranks in [3, WORDS + 1] {
            loom::model(move || {
                let shared = Arc::new(Shared {
                    flag: Flag::new(),
                    windows: [UnsafeCell::new(0), UnsafeCell::new(0)],
                });
                let writers = [0, 1].map(|by| {
                    let shared = Arc::clone(&shared);
                    loom::thread::spawn(move || {
                        // SAFETY: nobody else uses it before the flag is raised.
                        shared.windows[by as usize].with_mut(|at| unsafe { *at = 5 + by });
                        shared.flag.raise(by, ranks);
                    })
                });
                while shared.flag.raised(ranks) < 2 {
                    loom::thread::yield_now();
                }
                for (by, window) in shared.windows.iter().enumerate() {
                    // SAFETY: both have raised the flag.
                    window.with(|at| assert_eq!(unsafe { *at }, 5 + by as u32));
                }
                for writer in writers {
                    writer.join().unwrap();
                }
            });
        }
    }
}
