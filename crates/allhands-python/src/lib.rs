//! The extension module `allhands._core`: communicators whose collectives take arrays of Python.
//!
//! ```text
//! array ──▶ memory ──▶ job ──▶ Operation ──▶ allhands::Communicator     without the interpreter's lock
//! ```
//!
//! `memory` finds where an array's elements are, `job` is a call with its types erased, `communicator` and `request` are what
//! Python sees, and `errors` what it catches. The package's other half is in `python/allhands`.

mod communicator;
mod dlpack;
mod element;
mod errors;
mod interrupt;
mod job;
mod memory;
mod message;
mod mpi_abi;
mod operator;
mod patience;
mod request;
mod store;

/// The module.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use super::communicator::Communicator;
    #[pymodule_export]
    use super::dlpack::in_order;
    #[pymodule_export]
    use super::message::MessageRequest;
    #[pymodule_export]
    use super::request::Request;
    #[pymodule_export]
    use super::store::{join, meet, segment, set_world, world};
}
