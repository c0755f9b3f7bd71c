//! The memory of a thread: what it keeps of its last calls, to find it again sooner.
//!
//! Calls may come from where a thread's own values are gone already: from handlers of `atexit`, which run behind the destructors of
//! the first thread's, and from destructors of POSIX keys, which run behind those of any other's. So what is looked at here
//! has no destructor; and what a thread must not keep beyond its end is given back by another value, which has.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::thread::LocalKey;

/// Something that a thread keeps.
pub(crate) struct Memory<T>(RefCell<ManuallyDrop<Option<T>>>);

/// Gives back what a thread keeps, at its end.
pub(crate) struct Leave(pub(crate) fn());

impl Drop for Leave {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<T> Memory<T> {
    /// Nothing yet.
    pub(crate) const fn new() -> Memory<T> {
        Memory(RefCell::new(ManuallyDrop::new(None)))
    }

    /// What `then` makes of it, unless it is being changed.
    #[inline(always)]
    pub(crate) fn with<R>(&self, then: impl FnOnce(&T) -> Option<R>) -> Option<R> {
        self.0.try_borrow().ok()?.as_ref().and_then(then)
    }

    /// Keeps something else, or nothing, unless it is in use; a thread whose values are being given back, as `leave` says, keeps
    /// nothing.
    pub(crate) fn keep(&self, value: Option<T>, leave: &'static LocalKey<Leave>) {
        let value = value.filter(|_| leave.try_with(|_| ()).is_ok());
        let before = match self.0.try_borrow_mut() {
            Ok(mut kept) => std::mem::replace(&mut **kept, value),
            Err(_) => value,
        };
        // It may be the last one who has it, and what comes then may look here again.
        drop(before);
    }
}
