//! The entry points of sessions: when the last one ends, and there is no world, the MPI is gone with all that was known of its objects.
//!
//! A process may then begin anew, with a session or with `MPI_Init`, and find old handles and keys used for something else.

use crate::abi::Handle;
use crate::context::library::{Library, NO_MPI};
use crate::context::session;
use crate::dispatch::lifetime;
use crate::report::counts::REPORT;
use std::cell::Cell;
use std::ffi::c_int;
use std::thread::LocalKey;

thread_local! {
    /// Whether the thread is in `MPI_Session_init`, from where a tool behind this library calls the profiling name, which is not
    /// to be counted again.
    static IS_BEGINNING: Cell<bool> = const { Cell::new(false) };
    /// The same of `MPI_Session_finalize`.
    static IS_ENDING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a call is the outer one of two by which a session begins or ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The plain name.
    Name,
    /// The profiling one.
    ProfilingName,
}

impl By {
    /// Whether it is to be seen to here: a profiling name is not if the plain one was.
    fn is_outer(self, is_seen: &'static LocalKey<Cell<bool>>) -> bool {
        match self {
            By::Name => true,
            By::ProfilingName => !is_seen.get(),
        }
    }

    /// Calls the function that the name goes on to.
    fn call(
        self,
        is_seen: &'static LocalKey<Cell<bool>>,
        call: impl FnOnce() -> Option<c_int>,
    ) -> c_int {
        // An error handler of the user's that leaves by `longjmp` leaves it as it is. Who would be misled by that, a tool in front
        // that calls the profiling name, has the plain one called by nobody.
        is_seen.set(self == By::Name);
        let code = call().unwrap_or(NO_MPI);
        is_seen.set(false);
        code
    }
}

/// Begins a session, and counts it.
fn begin(by: By, call: impl FnOnce(&Library) -> Option<c_int>) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    let is_outer = by.is_outer(&IS_BEGINNING);
    let code = by.call(&IS_BEGINNING, || call(library));
    if code == 0 && is_outer {
        session::begun();
        REPORT.count_exactly();
    }
    code
}

/// Ends a session; before, everything is forgotten if nothing of the MPI is left.
fn end(by: By, call: impl FnOnce(&Library) -> Option<c_int>) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    if by.is_outer(&IS_ENDING) && session::ends() && !session::has_world(library) {
        lifetime::forget_all(library);
    }
    by.call(&IS_ENDING, || call(library))
}

/// Declares an entry point by a plain or a profiling name.
macro_rules! entry {
    ($name:ident ($($argument:ident: $type:ty),*) $then:ident $by:ident $functions:ident $native:ident) => {
        #[doc = concat!("`", stringify!($name), "`, which counts sessions.")]
        ///
        /// # Safety
        /// As the standard says of the call.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the caller's arguments, as they came.
            $then(By::$by, |library| library.$functions.$native.map(|native| unsafe { native($($argument),*) }))
        }
    };
}

entry!(MPI_Session_init (info: Handle, handler: Handle, session: *mut Handle) begin Name next session_init);
entry!(PMPI_Session_init (info: Handle, handler: Handle, session: *mut Handle) begin ProfilingName native session_init);
entry!(MPI_Session_finalize (session: *mut Handle) end Name next session_finalize);
entry!(PMPI_Session_finalize (session: *mut Handle) end ProfilingName native session_finalize);
