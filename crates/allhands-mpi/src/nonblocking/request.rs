//! The request: a generalized one of the MPI's, which stands for a call of ours.

use crate::abi::{Abi, Handle};
use crate::library::{Library, NO_MPI};
use crate::takeover::Unserved;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

/// Where the user wants a request.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// A variable of C.
    C(*mut u8),
    /// A number of Fortran.
    Fortran(*mut c_int),
}

impl Place {
    /// Puts a request there.
    ///
    /// # Safety
    /// There is room for one.
    pub(super) unsafe fn put(self, library: &Library, abi: &Abi, request: &Request) {
        match self {
            // SAFETY: the caller's promise.
            Place::C(place) => unsafe { abi.store(request.handle, place) },
            Place::Fortran(place) => {
                // SAFETY: gives the number of a request that is there, for which the caller has room.
                unsafe { place.write((library.native.request_c2f)(request.handle)) };
            }
        }
    }
}

/// A request that has not ended.
pub(super) struct Request {
    handle: Handle,
    /// The error with which it will have ended; the MPI says when nobody asks for it any more.
    code: *const AtomicI32,
}

// SAFETY: the handle may be used by any thread, and the number is atomic and lives until the request has ended.
unsafe impl Send for Request {}

impl Request {
    /// A new one.
    pub(super) fn start(library: &Library, abi: &Abi) -> Result<Request, Unserved> {
        let code = Box::into_raw(Box::new(AtomicI32::new(0)));
        let mut handle = 0;
        let start = library.native.grequest_start;
        // SAFETY: functions that live as long as the process, a state that they take for what it is, and room for a handle.
        let error = unsafe { start(query, free, cancel, code.cast(), &raw mut handle) };
        match error {
            0 => Ok(Request {
                handle: abi.handle(handle),
                code,
            }),
            error => {
                // SAFETY: from `Box::into_raw`; there is no request that has it.
                drop(unsafe { Box::from_raw(code) });
                Err(Unserved::Native(error))
            }
        }
    }

    /// Ends it, with an error code or 0.
    pub(super) fn complete(self, library: &Library, code: c_int) {
        // SAFETY: the MPI frees it after the request has ended, which it has not.
        unsafe { (*self.code).store(code, Ordering::Release) };
        // SAFETY: a request of ours, which ends once.
        unsafe { (library.native.grequest_complete)(self.handle) };
    }
}

/// Says how a request has ended: nothing was received from anybody.
unsafe extern "C" fn query(state: *mut c_void, status: *mut u8) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    let Some(abi) = &library.abi else {
        return NO_MPI;
    };
    // SAFETY: the MPI hands in a status to write to.
    unsafe {
        (library.native.status_set_elements)(status, abi.byte, 0);
        (library.native.status_set_cancelled)(status, 0);
    }
    // SAFETY: the state with which the request was started, which is not freed yet.
    unsafe { (*state.cast::<AtomicI32>()).load(Ordering::Acquire) }
}

/// What becomes of the state when nobody asks for the request any more.
unsafe extern "C" fn free(state: *mut c_void) -> c_int {
    // SAFETY: from `Box::into_raw` where the request was started; the MPI calls this once.
    drop(unsafe { Box::from_raw(state.cast::<AtomicI32>()) });
    0
}

/// Collective calls cannot be cancelled.
unsafe extern "C" fn cancel(_: *mut c_void, _: c_int) -> c_int {
    0
}
