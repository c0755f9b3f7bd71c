//! Symbols: where the addresses of a loaded MPI's names are to be had, for handles that are addresses.

use std::ffi::{CStr, c_void};

/// The names of a loaded MPI.
pub(crate) trait Symbols {
    /// The address of a name in the MPI's own object.
    fn symbol(&self, name: &CStr) -> Option<*mut c_void>;

    /// The address of a variable as the program sees it: a program may have a copy, and then that is the one.
    fn shared_symbol(&self, name: &CStr) -> Option<*mut c_void>;
}
