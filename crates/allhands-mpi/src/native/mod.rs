//! The native MPI: the object that the process has loaded, and its functions.
//!
//! It owns the search for the loaded library, the table of its functions by their profiling names, and which of the families that
//! we know it is of. All rooms below call the MPI through it. It never decides whether a call is taken over, and keeps nothing of any
//! communicator.

pub(crate) mod family;
pub(crate) mod functions;
pub(crate) mod object;
