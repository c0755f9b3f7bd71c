//! The ownership: what one thread at a time has, with a lock only where several threads may call at the same time.
//!
//! A lock is a locked instruction at each end, and one that follows a message waits until that has gone to the other core.

use std::cell::{RefCell, RefMut};
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// What one thread at a time has.
pub(crate) enum Ownership<T> {
    /// The program calls from one thread at a time, as it has told the MPI.
    Alone(RefCell<T>),
    /// Any thread may call at any time.
    Locked(Mutex<T>),
}

// SAFETY: a cell is made only where the caller of `alone` promises that threads take turns.
unsafe impl<T: Send> Sync for Ownership<T> {}

/// The guard of an ownership, until this is dropped.
pub(crate) enum OwnershipGuard<'a, T> {
    Alone(RefMut<'a, T>),
    Locked(MutexGuard<'a, T>),
}

impl<T> Ownership<T> {
    /// Without a lock.
    ///
    /// # Safety
    /// No two threads use it at the same time, and what one does with it comes before what the next one does.
    pub(crate) unsafe fn alone(value: T) -> Ownership<T> {
        Ownership::Alone(RefCell::new(value))
    }

    /// With a lock.
    pub(crate) fn locked(value: T) -> Ownership<T> {
        Ownership::Locked(Mutex::new(value))
    }

    /// Owns it until the guard is dropped, waiting for a thread that does; `None`: this one does.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<OwnershipGuard<'_, T>> {
        match self {
            Ownership::Alone(cell) => Some(OwnershipGuard::Alone(cell.try_borrow_mut().ok()?)),
            Ownership::Locked(mutex) => Some(OwnershipGuard::wait(mutex)),
        }
    }

    /// Owns it, if nobody does.
    pub(crate) fn try_take(&self) -> Option<OwnershipGuard<'_, T>> {
        match self {
            Ownership::Alone(_) => self.take(),
            Ownership::Locked(mutex) => match mutex.try_lock() {
                Ok(guard) => Some(OwnershipGuard::Locked(guard)),
                Err(TryLockError::Poisoned(guard)) => {
                    Some(OwnershipGuard::Locked(guard.into_inner()))
                }
                Err(TryLockError::WouldBlock) => None,
            },
        }
    }
}

impl<'a, T> OwnershipGuard<'a, T> {
    #[inline(never)]
    fn wait(mutex: &'a Mutex<T>) -> OwnershipGuard<'a, T> {
        OwnershipGuard::Locked(mutex.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> Deref for OwnershipGuard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        match self {
            OwnershipGuard::Alone(guard) => guard,
            OwnershipGuard::Locked(guard) => guard,
        }
    }
}

impl<T> DerefMut for OwnershipGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        match self {
            OwnershipGuard::Alone(guard) => guard,
            OwnershipGuard::Locked(guard) => guard,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_owned_is_not_taken_again() {
        // SAFETY: one thread.
        let alone = unsafe { Ownership::alone(1) };
        let mut guard = alone.take().unwrap();
        assert!(alone.take().is_none() && alone.try_take().is_none());
        *guard += 1;
        drop(guard);
        assert_eq!(*alone.take().unwrap(), 2);
    }

    #[test]
    fn who_only_tries_does_not_wait() {
        let locked = Ownership::locked(1);
        let guard = locked.take().unwrap();
        assert!(locked.try_take().is_none());
        drop(guard);
        assert_eq!(*locked.try_take().unwrap(), 1);
    }

    #[test]
    fn threads_wait_for_one_another() {
        let sum = Ownership::locked(0u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *sum.take().unwrap() += 1));
            }
        });
        assert_eq!(*sum.take().unwrap(), 40_000);
    }
}
