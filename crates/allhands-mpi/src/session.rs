//! Sessions: when the last one ends, and there is no world, the MPI is gone with all that was known of its objects.
//!
//! A process may then begin anew, with a session or with `MPI_Init`, and find old handles and keys used for something else.

use crate::abi::Handle;
use crate::library::{Library, NO_MPI};
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The sessions of this process that have not ended.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// `MPI_Session_init`, counted.
///
/// # Safety
/// As the standard says of the call.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C-unwind" fn MPI_Session_init(
    info: Handle,
    handler: Handle,
    session: *mut Handle,
) -> c_int {
    let library = Library::get();
    let native = library.and_then(|library| library.native.session_init);
    // SAFETY: the caller's arguments, as they came.
    let code = native.map_or(NO_MPI, |native| unsafe { native(info, handler, session) });
    if code == 0 {
        OPEN.fetch_add(1, Ordering::Relaxed);
        library.inspect(|library| library.report.count_exactly());
    }
    code
}

/// `MPI_Session_finalize`, before which everything is forgotten if nothing of the MPI is left.
///
/// # Safety
/// As the standard says of the call.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub unsafe extern "C-unwind" fn MPI_Session_finalize(session: *mut Handle) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    let before = OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| {
        Some(open.saturating_sub(1))
    });
    if before.is_ok_and(|open| open <= 1) && !has_world(library) {
        library.forget_all();
    }
    let native = library.native.session_finalize;
    // SAFETY: the caller's argument, as it came.
    native.map_or(NO_MPI, |native| unsafe { native(session) })
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
