//! `MPI_Waitall`: the one way to wait that MPICH has not for requests of ours beside null ones, at which it ends the program.
//!
//! It expects generalized requests to have ended before. So it is asked of each request whether it has, by which it makes
//! progress, too, until all have; then it finds nothing left to wait for.

use super::hook::Hook;
use super::under_way::UNDER_WAY;
use crate::context::library::Library;
use std::ffi::{c_int, c_void};

/// `MPI_REQUEST_NULL` in MPICH's ABI.
const REQUEST_NULL: c_int = 0x2c00_0000;

/// Waits until requests have ended, if the MPI is MPICH and there are some of ours.
///
/// # Safety
/// There are so many requests.
#[inline]
pub(crate) unsafe fn see_to(library: &Library, count: c_int, requests: *mut c_void) {
    if !UNDER_WAY.is_empty() && matches!(Hook::get(library), Some(Hook::Mpich { .. })) {
        // SAFETY: the caller's promise; MPICH's requests are numbers.
        unsafe { await_each(library, count, requests.cast()) };
    }
}

#[cold]
unsafe fn await_each(library: &Library, count: c_int, requests: *const c_int) {
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller has so many.
        let request = unsafe { requests.add(index).read() };
        let (mut has_ended, mut error) = (0, 0);
        // More than any MPI's status, and aligned for it.
        let mut status = [0u64; 32];
        while request != REQUEST_NULL && has_ended == 0 && error == 0 {
            let get_status = library.native.request_get_status;
            // SAFETY: the user's request, which stays as it is, and room for what is said of it.
            error = unsafe {
                get_status(
                    request as usize,
                    &raw mut has_ended,
                    status.as_mut_ptr().cast(),
                )
            };
        }
    }
}
