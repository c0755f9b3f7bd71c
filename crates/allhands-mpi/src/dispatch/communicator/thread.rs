//! The thread: what each thread knows of its calls, which is there as long as the thread is.

use crate::abi::Handle;
use crate::context::memory::{Leave, Memory};
use crate::dispatch::communicator::state::Last;
use std::cell::Cell;

/// What a thread knows of its calls; one value, as each look for a thread's own is a call.
pub(crate) struct Thread {
    is_inside: Cell<bool>,
    last: [Memory<Last>; Thread::PLACES],
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            is_inside: Cell::new(false),
            last: [const { Memory::new() }; Thread::PLACES],
        }
    };
    static LEAVE: Leave = const { Leave(|| Thread::with(Thread::forget_comms)) };
}

/// A value with a destructor could be gone when a thread makes its last calls.
const _: () = assert!(!std::mem::needs_drop::<Thread>());

impl Thread {
    /// The calling thread.
    #[inline(always)]
    pub(crate) fn with<R>(then: impl FnOnce(&Thread) -> R) -> R {
        // What has no destructor is never gone.
        THREAD
            .try_with(then)
            .unwrap_or_else(|_| std::process::abort())
    }

    /// Communicators of which the last calls are kept: those of rows, columns and all of a grid take turns in many programs. A power
    /// of two.
    const PLACES: usize = 32;

    /// Keeps a call on a communicator as the last one at its place.
    pub(crate) fn keep(&self, comm: Handle, last: Last) {
        self.last(comm).keep(Some(last), &LEAVE);
    }

    /// Where the last call on a communicator is kept, with those on others that have the same place.
    #[inline(always)]
    pub(crate) fn last(&self, comm: Handle) -> &Memory<Last> {
        let mixed = (comm as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.last[(mixed >> (u64::BITS - Thread::PLACES.trailing_zeros())) as usize]
    }

    /// Keeps nothing of any communicator.
    pub(crate) fn forget_comms(&self) {
        self.last.iter().for_each(|last| last.keep(None, &LEAVE));
    }

    /// Whether it is inside of a call that we are serving: then the MPI calls itself.
    #[inline(always)]
    pub(crate) fn is_inside(&self) -> bool {
        self.is_inside.get()
    }

    /// Goes inside of a call.
    #[inline(always)]
    pub(crate) fn enter(&self) -> InsideOf<'_> {
        self.is_inside.set(true);
        InsideOf(self)
    }
}

/// Says that a thread is inside of a call, until it is dropped.
pub(crate) struct InsideOf<'a>(&'a Thread);

impl Drop for InsideOf<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.is_inside.set(false);
    }
}

/// Whether this thread is inside of a call that we are serving: then the MPI calls itself.
#[inline]
pub(crate) fn is_inside() -> bool {
    Thread::with(Thread::is_inside)
}

/// Says that this thread is inside of a call that we serve, until it is dropped.
///
/// It never is while a call passes through: the native MPI may then call the user's error handler, which may leave by
/// `longjmp`, and nobody would ever say that the call is over. Were it looked for by the stack instead, a frame that is gone could
/// not be told from one that is there: what it held may still stand in its place when calls go deeper again. An MPI that, in a call
/// that passes, calls itself by its outer names does so on all ranks alike, and they decide alike.
pub(crate) struct Inside;

impl Inside {
    /// Goes inside.
    #[inline]
    pub(crate) fn enter() -> Inside {
        Thread::with(|thread| thread.is_inside.set(true));
        Inside
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        Thread::with(|thread| thread.is_inside.set(false));
    }
}
