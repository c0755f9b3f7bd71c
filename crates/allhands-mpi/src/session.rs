//! Sessions: when the last one ends, and there is no world, the MPI is gone with all that was known of its objects.
//!
//! A process may then begin anew, with a session or with `MPI_Init`, and find old handles and keys used for something else.

use crate::abi::Handle;
use crate::library::{Library, NO_MPI, inside, is_inside};
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The sessions of this process that have not ended.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Begins a session by the function that a name goes on to, and counts it, once if a tool behind this library calls `PMPI_Session_init`.
fn begin(call: impl FnOnce(&Library) -> Option<c_int>) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    let is_outer = !is_inside();
    let code = inside(|| call(library)).unwrap_or(NO_MPI);
    if code == 0 && is_outer {
        OPEN.fetch_add(1, Ordering::Relaxed);
        library.report.count_exactly();
    }
    code
}

/// Ends a session by the function that a name goes on to; before, everything is forgotten if nothing of the MPI is left.
fn end(call: impl FnOnce(&Library) -> Option<c_int>) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    if !is_inside() {
        let before = OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| {
            Some(open.saturating_sub(1))
        });
        if before.is_ok_and(|open| open <= 1) && !has_world(library) {
            library.forget_all();
        }
    }
    inside(|| call(library)).unwrap_or(NO_MPI)
}

/// Declares an entry point by a plain or a profiling name.
macro_rules! entry {
    ($name:ident ($($argument:ident: $type:ty),*) $then:ident $functions:ident $native:ident) => {
        #[doc = concat!("`", stringify!($name), "`, which counts sessions.")]
        ///
        /// # Safety
        /// As the standard says of the call.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the caller's arguments, as they came.
            $then(|library| library.$functions.$native.map(|native| unsafe { native($($argument),*) }))
        }
    };
}

entry!(MPI_Session_init (info: Handle, handler: Handle, session: *mut Handle) begin next session_init);
entry!(PMPI_Session_init (info: Handle, handler: Handle, session: *mut Handle) begin native session_init);
entry!(MPI_Session_finalize (session: *mut Handle) end next session_finalize);
entry!(PMPI_Session_finalize (session: *mut Handle) end native session_finalize);

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
