//! The shared segment: what the ranks of one communicator share on a node.
//!
//! Owns the queues, records, windows and flags of a communicator, where they lie in the arena, and the comparison of what its ranks
//! have called. Endpoints are opened on it. It has no side of its own: nothing here belongs to one rank.

mod faults;
pub(crate) mod flag;
pub(crate) mod mailbox;
pub(crate) mod mismatch;
pub(crate) mod origin;
pub(crate) mod shared_segment;
pub(crate) mod window;
