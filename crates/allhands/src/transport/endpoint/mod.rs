//! The endpoint: one rank's end of a communicator, which drives requests to completion.
//!
//! Owns a rank's side of its queues, the requests that are under way, the engine that progress drives (local, or with messages
//! to other nodes around it), and the looks at why a call cannot complete. The communicator calls it. It never chooses an algorithm
//! or changes a plan.

pub(crate) mod agreement;
pub(crate) mod assisted;
pub(crate) mod cluster;
pub(crate) mod concurrent_rendezvous;
pub(crate) mod engine;
pub(crate) mod fast_path;
pub(crate) mod overdue;
pub(crate) mod progress;
pub(crate) mod receive;
pub(crate) mod refusal;
pub(crate) mod remote;
pub(crate) mod request;
pub(crate) mod send;
pub(crate) mod state;
