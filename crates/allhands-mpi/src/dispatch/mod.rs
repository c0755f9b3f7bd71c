//! The dispatch: whether a call is served here or by the native MPI, and what is kept from one call to the next.

pub(crate) mod agreement;
pub(crate) mod call_cache;
pub(crate) mod communicator;
pub(crate) mod lifetime;
pub(crate) mod nonblocking;
pub(crate) mod takeover;
