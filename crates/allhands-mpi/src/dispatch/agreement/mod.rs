//! The agreement: how ranks find out together where they are, and make a communicator of ours.
//!
//! It owns the node that ranks of a machine make together in `MPI_Init`, whether all of them have this library, and how those of one
//! communicator agree on one of ours, by native collectives alone. The state of communicators calls it, once for each, and the
//! lifetime for the world. It never runs a collective of ours.

pub(crate) mod communicator;
pub(crate) mod node;
pub(crate) mod presence;
