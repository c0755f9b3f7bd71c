//! The hold: what one thread at a time has, with a lock only where several threads may call at the same time.
//!
//! A lock is a locked instruction at each end, and one that follows a message waits until that has gone to the other core.

use std::cell::{RefCell, RefMut};
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// What one thread at a time has.
pub(crate) enum Hold<T> {
    /// The program calls from one thread at a time, as it has told the MPI.
    Alone(RefCell<T>),
    /// Any thread may call at any time.
    Locked(Mutex<T>),
}

// SAFETY: a cell is made only where the caller of `alone` promises that threads take turns.
unsafe impl<T: Send> Sync for Hold<T> {}

/// What is had, until this is dropped.
pub(crate) enum Held<'a, T> {
    Alone(RefMut<'a, T>),
    Locked(MutexGuard<'a, T>),
}

impl<T> Hold<T> {
    /// Without a lock.
    ///
    /// # Safety
    /// No two threads use it at the same time, and what one does with it comes before what the next one does.
    pub(crate) unsafe fn alone(value: T) -> Hold<T> {
        Hold::Alone(RefCell::new(value))
    }

    /// With a lock.
    pub(crate) fn locked(value: T) -> Hold<T> {
        Hold::Locked(Mutex::new(value))
    }

    /// Takes hold of it, waiting for a thread that has it; `None`: this one has.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<Held<'_, T>> {
        match self {
            Hold::Alone(cell) => Some(Held::Alone(cell.try_borrow_mut().ok()?)),
            Hold::Locked(mutex) => Some(Held::wait(mutex)),
        }
    }

    /// Takes hold of it, if nobody has it.
    pub(crate) fn try_take(&self) -> Option<Held<'_, T>> {
        match self {
            Hold::Alone(_) => self.take(),
            Hold::Locked(mutex) => match mutex.try_lock() {
                Ok(held) => Some(Held::Locked(held)),
                Err(TryLockError::Poisoned(held)) => Some(Held::Locked(held.into_inner())),
                Err(TryLockError::WouldBlock) => None,
            },
        }
    }
}

impl<'a, T> Held<'a, T> {
    #[inline(never)]
    fn wait(mutex: &'a Mutex<T>) -> Held<'a, T> {
        Held::Locked(mutex.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        match self {
            Held::Alone(held) => held,
            Held::Locked(held) => held,
        }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        match self {
            Held::Alone(held) => held,
            Held::Locked(held) => held,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_not_taken_again() {
        // SAFETY: one thread.
        let alone = unsafe { Hold::alone(1) };
        let mut held = alone.take().unwrap();
        assert!(alone.take().is_none() && alone.try_take().is_none());
        *held += 1;
        drop(held);
        assert_eq!(*alone.take().unwrap(), 2);
    }

    #[test]
    fn who_only_tries_does_not_wait() {
        let locked = Hold::locked(1);
        let held = locked.take().unwrap();
        assert!(locked.try_take().is_none());
        drop(held);
        assert_eq!(*locked.try_take().unwrap(), 1);
    }

    #[test]
    fn threads_wait_for_one_another() {
        let sum = Hold::locked(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *sum.take().unwrap() += 1));
            }
        });
        assert_eq!(*sum.take().unwrap(), 40_000);
    }
}
