//! Ctrl-C and `abort`: how a call that waits hears of them, without the interpreter's lock.
//!
//! Python's own handler only notes that there was a signal. Ours is put before it, counts, and hands the signal on; a rank that waits asks
//! every few milliseconds whether there was one since its call began, or whether its communicator was aborted. A program that sets its own
//! handler by `signal.signal` puts Python's in the place of ours, so that a rank that waits puts ours before it again.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// How many there were.
static INTERRUPTS: AtomicU64 = AtomicU64::new(0);
/// Python's handler.
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How many there were when this thread's call began.
    static SEEN: Cell<u64> = const { Cell::new(0) };

    /// Whether the communicator of which this thread makes calls was aborted.
    static ABORTED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Says that a call begins on this thread.
#[inline]
pub(crate) fn begin() {
    SEEN.set(INTERRUPTS.load(Ordering::Relaxed));
}

/// Says of which communicator this thread makes calls now: what becomes true when it is aborted.
#[inline]
pub(crate) fn makes_calls_of(aborted: &Arc<AtomicBool>) {
    // A thread that ends makes no calls that anybody would abort.
    let _ = ABORTED.try_with(|now| {
        let mut now = now.borrow_mut();
        if !now.as_ref().is_some_and(|now| Arc::ptr_eq(now, aborted)) {
            *now = Some(Arc::clone(aborted));
        }
    });
}

/// Whether there was a signal since this thread's call began, or its communicator was aborted.
pub(crate) fn is_interrupted() -> bool {
    let is_set = |aborted: &Arc<AtomicBool>| aborted.load(Ordering::Relaxed);
    let aborted = ABORTED.try_with(|now| now.borrow().as_ref().is_some_and(is_set));
    SEEN.get() != INTERRUPTS.load(Ordering::Relaxed) || aborted.unwrap_or(false)
}

extern "C" fn on_signal(signal: libc::c_int) {
    INTERRUPTS.fetch_add(1, Ordering::Relaxed);
    let next = NEXT.load(Ordering::Relaxed);
    if next > libc::SIG_IGN {
        // SAFETY: what `sigaction` gave as the handler of one argument that there was before.
        let next: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(next) };
        next(signal);
    }
}

/// As [`is_interrupted`], for a rank that has waited for milliseconds: one system call, so that it hears of the next Ctrl-C even where the
/// program has set another handler since.
pub(crate) fn is_wait_interrupted() -> bool {
    watch();
    is_interrupted()
}

/// Puts the handler before Python's, if Python has one and ours is not there yet: without, Ctrl-C ends the process anyway.
pub(crate) fn watch() {
    let own = on_signal as extern "C" fn(libc::c_int) as usize;
    let mut old = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: asks what is set, with room for the answer.
    if unsafe { libc::sigaction(libc::SIGINT, std::ptr::null(), old.as_mut_ptr()) } != 0 {
        return;
    }
    // SAFETY: it has succeeded; zeros would be valid, too.
    let old = unsafe { old.assume_init() };
    let handler = old.sa_sigaction;
    if handler <= libc::SIG_IGN || handler == own || old.sa_flags & libc::SA_SIGINFO != 0 {
        return;
    }
    // Another one than Python's may call ours, and would be called by it for ever.
    let first = NEXT.compare_exchange(0, handler, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_err_and(|first| first != handler) {
        return;
    }
    let new = libc::sigaction {
        sa_sigaction: own,
        ..old
    };
    // SAFETY: the handler touches atomics alone and calls the one that was set before, with the same flags and mask.
    unsafe { libc::sigaction(libc::SIGINT, &raw const new, std::ptr::null_mut()) };
}
