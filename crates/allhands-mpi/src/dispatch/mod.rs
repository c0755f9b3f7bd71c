//! The dispatch: whether a call is served here or by the native MPI, and what is kept from one call to the next.
//!
//! It owns what decides: what ranks found out together (`agreement`), calls that were made before (`call_cache`), what is kept of a
//! communicator (`communicator`), the way of a blocking call (`takeover`) and of a nonblocking one (`nonblocking`), and what is done at
//! the beginning and the end of the MPI (`lifetime`), each of which knows those before it. Entry points call it. It never looks into a
//! user's buffer: that is for the collectives.

pub(crate) mod agreement;
pub(crate) mod call_cache;
pub(crate) mod communicator;
pub(crate) mod lifetime;
pub(crate) mod nonblocking;
pub(crate) mod takeover;
