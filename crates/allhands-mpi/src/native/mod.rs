//! The native MPI: the object that the process has loaded, and its functions.

pub(crate) mod family;
pub(crate) mod functions;
pub(crate) mod object;
