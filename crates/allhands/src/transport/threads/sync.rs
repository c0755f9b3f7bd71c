//! The synchronization primitives: those of std, or those of the model checker under `cfg(loom)`.

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
    sync::{Condvar, Mutex, MutexGuard},
    thread::yield_now,
};
#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
    sync::{Condvar, Mutex, MutexGuard},
    thread::yield_now,
};

/// [`std::cell::UnsafeCell`] with the model checker's interface, which sees when an access begins and ends.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
