//! The trial: whether types that come with a handle live long enough to be kept.
//!
//! To keep a type an attribute is hung on it, by which the MPI reports that it is freed; that takes longer than to look at a type that was
//! made like another. A program that makes a type for every call gets the same few handles for them again and again, so the handle
//! says what is to be expected.

use crate::abi::Handle;
use std::sync::atomic::{AtomicU32, Ordering};

/// Places for handles; those that fall on one place share what is expected.
const PLACES: usize = 64;

/// The most types that are not kept before the next one is.
const MOST: u32 = 63;

/// What is expected of the types of each place.
pub(super) struct Trials([Trial; PLACES]);

struct Trial {
    /// How many types are not to be kept once one has been freed unused.
    pause: AtomicU32,
    /// How many of these are still to come.
    left: AtomicU32,
}

impl Trials {
    /// Nothing is expected yet.
    pub(super) const fn new() -> Trials {
        Trials(
            [const {
                Trial {
                    pause: AtomicU32::new(0),
                    left: AtomicU32::new(0),
                }
            }; PLACES],
        )
    }

    fn of(&self, handle: Handle) -> &Trial {
        let mixed = (handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.0[(mixed >> 32) as usize % PLACES]
    }

    /// Whether the type that this handle now means is to be kept.
    ///
    /// Threads that come here at once may count one twice: then some type is kept a little sooner or later.
    pub(super) fn is_due(&self, handle: Handle) -> bool {
        let trial = self.of(handle);
        let left = trial.left.load(Ordering::Relaxed);
        trial.left.store(left.saturating_sub(1), Ordering::Relaxed);
        left == 0
    }

    /// Says whether a type that was kept has been used again before it was freed.
    pub(super) fn ended(&self, handle: Handle, was_used: bool) {
        let trial = self.of(handle);
        let pause = match was_used {
            true => 0,
            false => (2 * trial.pause.load(Ordering::Relaxed) + 1).min(MOST),
        };
        trial.pause.store(pause, Ordering::Relaxed);
        trial.left.store(pause, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many types that are freed after one call are kept.
    fn kept(trials: &Trials, handle: Handle, types: usize) -> usize {
        let keep = |_: &usize| {
            let is_due = trials.is_due(handle);
            if is_due {
                trials.ended(handle, false);
            }
            is_due
        };
        (0..types).filter(keep).count()
    }

    #[test]
    fn what_lives_for_one_call_is_kept_ever_more_seldom() {
        let trials = Trials::new();
        assert_eq!(kept(&trials, 0x5000, 1), 1);
        assert_eq!(kept(&trials, 0x5000, 2), 1);
        // Behind pauses of 3, 7, 15, 31 and 63, and then in every 64th.
        assert_eq!(kept(&trials, 0x5000, 64 * 100), 5 + (6400 - 124) / 64);
    }

    #[test]
    fn what_is_used_again_is_kept_at_once() {
        let trials = Trials::new();
        kept(&trials, 0x5000, 1000);
        while !trials.is_due(0x5000) {}
        trials.ended(0x5000, true);
        assert!(trials.is_due(0x5000));
        // A type of another handle knows nothing of it.
        kept(&trials, 0x5000, 1000);
        assert!((0..8).any(|at| trials.is_due(0x9000 + 0x1a0 * at)));
    }
}
