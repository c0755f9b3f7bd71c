//! The family that a loaded MPI is of, by what it says and has.

use super::functions::Native;
use super::object::Object;
use crate::abi::Family;
use std::ffi::c_int;

/// The family of a loaded MPI; `None` if it is none that we know.
pub(crate) fn of(object: &Object, native: &Native) -> Option<Family> {
    let (mut major, mut minor): (c_int, c_int) = (-1, -1);
    if let Some(version) = native.abi_get_version {
        // SAFETY: two numbers to write to, as the function asks; it may be called at any time.
        unsafe { version(&raw mut major, &raw mut minor) };
    }
    if major >= 1 {
        return Some(Family::Standard);
    }
    if object.symbol(c"ompi_mpi_comm_world").is_some() {
        return Some(Family::OpenMpi);
    }
    let text = native.version()?;
    let is_mpich = ["MPICH", "Intel(R) MPI", "MVAPICH"];
    is_mpich
        .iter()
        .any(|name| text.contains(name))
        .then_some(Family::Mpich)
}

/// What an MPI is called, of all that its version says: the first line, to a comma or an arrow, and of what a label such as `MPICH
/// Version:` introduces the blanks.
pub(crate) fn short(version: &str) -> String {
    let line = version.trim().lines().next().unwrap_or_default();
    let line = line.split(',').next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ").replace(" Version:", "")
}
