//! Mistakes: what is wrong with a call's arguments on one rank, and the class that the native MPI has for it.
//!
//! They are not handed to the native MPI, which would wait for other ranks where it does not look.

use super::Given;
use crate::abi::{Abi, Family};
use crate::datatype::Datatype;
use crate::dispatch::takeover::{Call, Here, Unserved};
use crate::network::failure;
use allhands::Error;
use allhands::transport::{Signature, TransportError};
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

/// The class of an error of ours.
pub(crate) fn class_of(abi: &Abi, error: &Error) -> c_int {
    match error {
        Error::Transport(TransportError::Network { .. }) => failure().unwrap_or(abi.err_other),
        error if is_of_length(error) => abi.err_truncate,
        _ => abi.err_other,
    }
}

/// Whether an error says that lengths do not match.
fn is_of_length(error: &Error) -> bool {
    fn differ(one: &Signature, other: &Signature) -> bool {
        let same = |s: &Signature| (s.collective, s.root, s.element, s.operator);
        one.bytes != other.bytes && same(one) == same(other)
    }
    fn is(error: &TransportError) -> bool {
        match error {
            TransportError::Length { .. } | TransportError::TooLong { .. } => true,
            TransportError::Mismatch { mine, theirs, .. } => {
                theirs.as_ref().is_some_and(|theirs| differ(mine, theirs))
            }
            TransportError::Poisoned { error, .. } => is(error),
            _ => false,
        }
    }
    match error {
        Error::Length { .. } | Error::CountsDiffer { .. } => true,
        Error::Transport(error) => is(error),
        _ => false,
    }
}

/// What a buffer is to a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Send,
    Receive,
}

impl Side {
    /// What a handle stands for, as the type of a buffer on this side.
    #[inline]
    pub(super) fn datatype(self, here: &Here<'_>, register: usize) -> Result<Datatype, Unserved> {
        let datatype = Datatype::of(here, register)?;
        if !datatype.is_committed() && self.wants_commitment(here) {
            return Err(Unserved::Wrong(Mistake::Uncommitted));
        }
        Ok(datatype)
    }

    /// Whether the native MPI looks whether types on this side are committed.
    #[cold]
    fn wants_commitment(self, here: &Here<'_>) -> bool {
        let call = here.call().blocking();
        match here.abi.family {
            Family::Mpich | Family::Standard => true,
            Family::OpenMpi if call == Call::Bcast => true,
            Family::OpenMpi => {
                self == Side::Send && !matches!(call, Call::Scatter | Call::Scatterv)
            }
        }
    }
}

impl Here<'_> {
    /// Complains if a buffer of elements, which the call cannot do without, is said to be elsewhere.
    #[inline]
    pub(super) fn is_a_place(&self, start: *const u8, count: i64) -> Result<(), Unserved> {
        match self.abi.is_in_place(start) && count > 0 {
            true => Err(Unserved::Wrong(Mistake::InPlace)),
            false => Ok(()),
        }
    }

    /// Complains if what is sent stands where the same is to be received, and the native MPI does.
    #[inline]
    pub(super) fn are_apart(&self, send: Given, receive: Given) -> Result<(), Unserved> {
        let is_same = send.start == receive.start
            && send.count == receive.count
            && send.datatype == receive.datatype
            && send.count > 0
            && !send.start.is_null();
        match is_same {
            true => self.mind_aliases(),
            false => Ok(()),
        }
    }

    /// Complains if fewer bytes are exchanged than there is room for, and the native MPI does.
    #[cold]
    pub(super) fn may_be_shorter(&self, sent: usize, room: usize) -> Result<(), Unserved> {
        match self.abi.family {
            Family::Mpich | Family::Standard => Ok(()),
            Family::OpenMpi => Err(Unserved::Wrong(Mistake::TooLong { sent, room })),
        }
    }

    /// Complains of data that is received where it stands, if the native MPI does.
    #[cold]
    pub(super) fn mind_aliases(&self) -> Result<(), Unserved> {
        let call = self.call().blocking();
        match self.abi.family {
            Family::OpenMpi if !matches!(call, Call::Allreduce | Call::Reduce) => Ok(()),
            _ => Err(Unserved::Wrong(Mistake::Aliased)),
        }
    }
}
