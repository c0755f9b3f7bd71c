//! The session with a process manager, which ends with the process.

use super::LaunchError;
use super::exchange::Exchange;
use std::sync::Mutex;

/// A session that is to be finalized.
pub(super) type Session = Box<dyn Exchange>;

/// The session of this process, and its number: a child that was forked has this too, but it is not its own.
static SESSION: Mutex<Option<(u32, Session)>> = Mutex::new(None);

/// Has the session finalized when the process exits in order.
///
/// A manager takes a process that goes without having finalized for one that crashed and ends the others, so this is not
/// done any sooner.
pub(super) fn finalize_at_exit(session: Session) -> Result<(), LaunchError> {
    if let Ok(mut slot) = SESSION.lock() {
        *slot = Some((std::process::id(), session));
    }
    // SAFETY: the function handed over neither unwinds nor is ever unloaded before the process exits.
    if unsafe { libc::atexit(finalize) } != 0 {
        let error = std::io::Error::from_raw_os_error(libc::ENOMEM);
        return Err(LaunchError::system(
            "cannot register what is done at exit",
            error,
        ));
    }
    Ok(())
}

extern "C" fn finalize() {
    // Nobody else holds the lock but a thread that is just storing the session; then there is nothing to wait for.
    let Ok(mut slot) = SESSION.try_lock() else {
        return;
    };
    if let Some((pid, mut session)) = slot.take()
        && pid == std::process::id()
    {
        session.finalize();
    }
}
