//! The communicator: what is kept of one of the MPI's from its first collective until it is freed.
//!
//! It owns the states of all communicators by handle, the turns of threads on each, its line of calls that are not begun yet, and how
//! its ranks come together again after an error. Takeover and nonblocking calls use it. It never looks at a call's arguments.

pub(crate) mod line;
pub(crate) mod ownership;
pub(crate) mod recovery;
pub(crate) mod state;
pub(crate) mod thread;
