//! The entry points of `MPI_Waitall`, before which requests of ours are seen to.

use super::profiling::twins;
use crate::context::library::{Library, NO_MPI};
use crate::dispatch::nonblocking::see_to;
use std::ffi::c_int;

twins! {
    /// `MPI_Waitall`.
    MPI_Waitall PMPI_Waitall (count: c_int, requests: *mut u8, statuses: *mut u8)
        = wait(count, requests) of waitall
}

/// Sees to requests of ours and makes the call.
///
/// # Safety
/// There are so many requests.
#[inline]
unsafe fn wait(count: c_int, requests: *mut u8, call: impl FnOnce(&Library) -> c_int) -> c_int {
    let Some(library) = Library::get() else {
        return NO_MPI;
    };
    // SAFETY: the caller's list.
    unsafe { see_to(library, count, requests.cast()) };
    call(library)
}
