//! The engines: what progress drives, operation by operation.
//!
//! Owns what each operation of a plan does among ranks that share memory, and around that what it does with a rank of another node.
//! Progress makes one anew for each look at a call. It never decides which operation may run when, and never waits for a peer.

mod at_once;
pub(crate) mod network;
pub(crate) mod node;
mod operations;
mod pipelined;
mod several;
mod windows;
