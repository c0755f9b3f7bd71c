//! The staging: memory of ours in which blocks land that may be shorter than the user's room for them.
//!
//! What a message leaves alone there must not reach the user, whose memory is to stay as it is. Of all memory that was left alone
//! it is noted where it is, once, by a hook in a branch that only such messages take; memory of the user's own among it harms
//! nobody, and is forgotten as soon as no staging is left.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory that messages have left alone, by its addresses, while there are stagings.
static LEFT: Mutex<Vec<Range<usize>>> = Mutex::new(Vec::new());

/// Whether there is some.
static IS_ANY_LEFT: AtomicBool = AtomicBool::new(false);

/// The stagings of this process.
static LIVE: AtomicUsize = AtomicUsize::new(0);

fn left() -> MutexGuard<'static, Vec<Range<usize>>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that a message has left memory alone.
#[cold]
pub(crate) fn left_alone(address: *mut u8, bytes: usize) {
    let mut left = left();
    if LIVE.load(Ordering::Relaxed) > 0 {
        left.push(address.addr()..address.addr() + bytes);
        IS_ANY_LEFT.store(true, Ordering::Relaxed);
    }
}

/// Zeros, until something comes.
pub(crate) struct Staging(Vec<u8>);

impl Staging {
    /// Room for so many bytes.
    pub(crate) fn of(bytes: usize) -> Staging {
        LIVE.fetch_add(1, Ordering::Relaxed);
        let staging = Staging(vec![0; bytes]);
        // It may be where the user had memory before.
        staging.forget();
        staging
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn addresses(&self) -> Range<usize> {
        let range = self.0.as_ptr_range();
        range.start.addr()..range.end.addr()
    }

    /// Whether something of it was left alone.
    #[inline]
    pub(crate) fn has_gaps(&self) -> bool {
        // What was noted was noted in a call of whoever asks, or of a thread that has reported the call's end to it.
        IS_ANY_LEFT.load(Ordering::Relaxed) && !self.gaps().is_empty()
    }

    /// What of it was left alone.
    #[cold]
    fn gaps(&self) -> Vec<Range<usize>> {
        let own = self.addresses();
        let inside = |gap: &&Range<usize>| own.start <= gap.start && gap.end <= own.end;
        let gaps = left().iter().filter(inside).cloned().collect::<Vec<_>>();
        let place = |gap: Range<usize>| gap.start - own.start..gap.end - own.start;
        gaps.into_iter().map(place).collect()
    }

    /// Has what was left alone hold what is in `present`.
    #[cold]
    pub(crate) fn fill_gaps(&mut self, present: &[u8]) {
        for gap in self.gaps() {
            self.0[gap.clone()].copy_from_slice(&present[gap]);
        }
        self.forget();
    }

    /// Forgets what was left alone of this memory.
    fn forget(&self) {
        if IS_ANY_LEFT.load(Ordering::Relaxed) {
            let own = self.addresses();
            left().retain(|gap| gap.end <= own.start || own.end <= gap.start);
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.forget();
        if LIVE.fetch_sub(1, Ordering::Relaxed) == 1 && IS_ANY_LEFT.load(Ordering::Relaxed) {
            let mut left = left();
            // Whoever notes something in another one has counted that before, and has the lock before or after this.
            if LIVE.load(Ordering::Relaxed) == 0 {
                left.clear();
                IS_ANY_LEFT.store(false, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_alone_is_filled_with_what_is_there() {
        let mut elsewhere = [0u8; 4];
        left_alone(elsewhere.as_mut_ptr(), 4);
        let (mut one, two) = (Staging::of(10), Staging::of(10));
        assert!(!one.has_gaps() && !two.has_gaps());
        one.bytes_mut().fill(1);
        let start = one.bytes_mut().as_mut_ptr();
        left_alone(start.wrapping_add(2), 3);
        left_alone(start.wrapping_add(8), 2);
        left_alone(elsewhere.as_mut_ptr(), 4);
        assert!(one.has_gaps() && !two.has_gaps());
        one.fill_gaps(&[9; 10]);
        assert_eq!(one.bytes(), [1, 1, 9, 9, 9, 1, 1, 1, 9, 9]);
        assert!(!one.has_gaps());
    }
}
