//! The constants of messages: what requests and statuses look like in the MPI that the process has loaded.

use crate::abi::{Abi, Family, Handle, Symbols};
use std::ffi::c_int;

/// `MPI_UNDEFINED`, in every ABI.
pub(super) const UNDEFINED: c_int = -32766;

/// The bytes of the longest status.
pub(super) const MOST_STATUS_BYTES: usize = 32;

/// What an ABI says of messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants {
    pub(super) request_null: Handle,
    /// The bytes of a request in an array.
    pub(super) request_bytes: usize,
    /// The bytes of a status in an array.
    pub(super) status_bytes: usize,
    /// Where in it the source stands, before the tag, and the error.
    pub(super) source_at: usize,
    pub(super) error_at: usize,
    pub(super) any_source: c_int,
    pub(super) any_tag: c_int,
    pub(super) err_in_status: c_int,
    /// The attribute with the greatest tag.
    pub(super) tag_ub: c_int,
}

impl Constants {
    /// Those of a loaded MPI; `None` if something is not there.
    pub(super) fn of(abi: &Abi, symbols: &dyn Symbols) -> Option<Constants> {
        let address = |name| symbols.shared_symbol(name).map(|at| at as usize);
        Some(match abi.family {
            Family::Mpich => Constants {
                request_null: 0x2c00_0000,
                request_bytes: 4,
                // Two words of the count, then source, tag and error.
                status_bytes: 20,
                source_at: 8,
                error_at: 16,
                any_source: -2,
                any_tag: -1,
                err_in_status: 17,
                tag_ub: 0x6440_0001,
            },
            Family::OpenMpi => Constants {
                request_null: address(c"ompi_request_null")?,
                request_bytes: 8,
                // Source, tag and error, whether it was cancelled, and the count.
                status_bytes: 24,
                source_at: 0,
                error_at: 8,
                any_source: -1,
                any_tag: -1,
                err_in_status: 18,
                tag_ub: 0,
            },
            Family::Standard => Constants {
                request_null: 0x180,
                request_bytes: 8,
                // Source, tag and error, and five words of its own.
                status_bytes: 32,
                source_at: 0,
                error_at: 8,
                any_source: -1,
                any_tag: -2,
                err_in_status: 19,
                tag_ub: 501,
            },
        })
    }
}
