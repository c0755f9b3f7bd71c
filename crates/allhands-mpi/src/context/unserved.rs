//! The unserved: what keeps a call from being served.

use crate::context::call::Reason;
use crate::context::mistake::Mistake;
use allhands::Error;
use std::ffi::c_int;

/// What keeps a call from being served.
pub(crate) enum Unserved {
    /// It passes through.
    Pass(Reason),
    /// The native MPI said that something is wrong.
    Native(c_int),
    /// An element of a derived type is too long to be packed.
    LongElement(usize),
    /// The native MPI has another result: this rank, and the byte of its result.
    Differs(usize, usize),
    /// Something is wrong with its arguments on this rank.
    Wrong(Mistake),
    /// It failed here.
    Failed(Error),
}

impl From<Error> for Unserved {
    fn from(error: Error) -> Unserved {
        match error {
            // The same on every rank, before anything was sent.
            Error::NoSuchAlgorithm { .. }
            | Error::Parameters { .. }
            | Error::Unsuitable { .. }
            | Error::Choice(_) => Unserved::Pass(Reason::NoAlgorithm),
            error => Unserved::Failed(error),
        }
    }
}
