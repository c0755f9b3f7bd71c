//! Sessions: how many of them are open in this process, and whether there is a world.

use crate::context::library::Library;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The sessions of this process that have not ended.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Counts a session that has begun.
pub(crate) fn begun() {
    OPEN.fetch_add(1, Ordering::Relaxed);
}

/// Counts a session that is about to end; whether it is the last one.
pub(crate) fn ends() -> bool {
    let before = OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| {
        Some(open.saturating_sub(1))
    });
    before.is_ok_and(|open| open <= 1)
}

/// Whether a session was begun and has not ended.
pub(crate) fn is_any_open() -> bool {
    OPEN.load(Ordering::Relaxed) > 0
}

/// Whether `MPI_Init` was called, and `MPI_Finalize` was not.
pub(crate) fn has_world(library: &Library) -> bool {
    let (mut is_begun, mut is_over) = (0, 0);
    // SAFETY: two numbers to write to; both may be asked at any time.
    unsafe {
        (library.native.initialized)(&raw mut is_begun);
        (library.native.finalized)(&raw mut is_over);
    }
    is_begun != 0 && is_over == 0
}
