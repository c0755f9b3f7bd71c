//! The context: what this process knows before any call is served.
//!
//! It owns the one [`library::Library`] with what rank 0's environment said, the names of calls and of the reasons for which they pass
//! through, mistakes and how they are said, and the ways in which the MPI is asked beside the program: without its error handlers, by
//! attributes by which it reports that an object is freed, by collectives among ranks that have yet to agree. All rooms below use it. It never
//! serves a call, and knows no communicator of ours.

pub(crate) mod attribute;
pub(crate) mod call;
pub(crate) mod known;
pub(crate) mod library;
pub(crate) mod map;
pub(crate) mod memory;
pub(crate) mod mistake;
pub(crate) mod native_collectives;
pub(crate) mod quiet;
pub(crate) mod say;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod unserved;
