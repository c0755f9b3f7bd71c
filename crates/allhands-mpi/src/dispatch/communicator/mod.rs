//! The communicator: what is kept of one of the MPI's from its first collective until it is freed.

pub(crate) mod hold;
pub(crate) mod line;
pub(crate) mod recovery;
pub(crate) mod state;
pub(crate) mod thread;
