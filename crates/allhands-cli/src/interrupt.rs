//! Interrupts: Ctrl-C asks a measurement to end with what it has; a second one ends the program at once.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
/// The process that is to hear of it, too; 0: none.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// The exit status of a program that was interrupted.
pub const STATUS: u8 = 130;

extern "C" fn note(_signal: i32) {
    ASKED.store(true, Ordering::Relaxed);
    let child = CHILD.load(Ordering::Relaxed);
    if child > 0 {
        // SAFETY: a signal to a child that has not been waited for; kill may be called from a handler.
        unsafe { libc::kill(child, libc::SIGINT) };
    }
}

/// From now on the first Ctrl-C only asks.
pub fn ask_first() {
    // SAFETY: an action is numbers and addresses that may be null, for which zero is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = note as extern "C" fn(i32) as usize;
    // The second one does what it always does.
    action.sa_flags = libc::SA_RESTART | libc::SA_RESETHAND;
    // SAFETY: the handler stores an atomic and sends a signal, both of which a handler may do; the action lives through the call.
    unsafe { libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut()) };
}

/// Whether the user has asked to end.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Says which child is to hear of it; `None` before it is waited for.
pub fn tell_child(child: Option<u32>) {
    CHILD.store(child.map_or(0, |pid| pid as i32), Ordering::Relaxed);
}
