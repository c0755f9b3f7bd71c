//! Mistakes: what is wrong with a call's arguments on one rank, and the class that the native MPI has for it.
//!
//! They are not handed to the native MPI, which would wait for other ranks where it does not look.

use super::call::Call;
use crate::abi::{Abi, Family};
use std::ffi::c_int;
use std::fmt;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// What is sent stands where the same is to be received.
    Aliased,
    /// A buffer is said to be in place that must be there.
    InPlace,
    /// A buffer of so many elements has no address.
    Null(usize),
    /// A type is not committed.
    Uncommitted,
    /// More is sent than there is room for, or another length where the MPI wants the same.
    TooLong { sent: usize, room: usize },
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::Aliased => f.write_str(
                "data is to be received in the buffer that is sent, which MPI_IN_PLACE would say",
            ),
            Mistake::InPlace => {
                f.write_str("MPI_IN_PLACE stands where the call needs a buffer of its own")
            }
            Mistake::Null(count) => write!(f, "a buffer of {count} elements has no address"),
            Mistake::Uncommitted => {
                f.write_str("a datatype is not committed, which MPI_Type_commit does")
            }
            Mistake::TooLong { sent, room } => {
                write!(f, "{sent} bytes are sent where there is room for {room}")
            }
        }
    }
}

/// Error classes that are the same in every ABI.
const BUFFER: c_int = 1;
const TYPE: c_int = 3;

/// What Open MPI says of most buffers.
const OPEN_MPI_ARG: c_int = 13;

impl Mistake {
    /// The error class.
    pub(crate) fn class(self, abi: &Abi, call: Call) -> c_int {
        let is_open = abi.family == Family::OpenMpi;
        match self {
            Mistake::Aliased | Mistake::InPlace
                if is_open && call.blocking() != Call::Allreduce =>
            {
                OPEN_MPI_ARG
            }
            Mistake::Aliased | Mistake::InPlace | Mistake::Null(_) => BUFFER,
            Mistake::Uncommitted => TYPE,
            Mistake::TooLong { .. } => abi.err_truncate,
        }
    }
}
