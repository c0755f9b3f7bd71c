//! The endpoint: one rank's end of a communicator, which drives requests to completion.
//!
//! Owns a rank's side of its queues, the requests that are under way, the engine that progress drives (local, or with messages
//! to other nodes around it), and the looks at why a call cannot complete. The communicator calls it. It never chooses an algorithm
//! or changes a plan.
//!
//! Its rooms, each of which may ask those before it:
//!
//! ```text
//! nodes     the way to ranks of other nodes ─┐
//! message   messages on their way            ├─▶ state ─▶ failure ─▶ exchange ─▶ engine ─▶ fast_path ─▶ progress ─▶ point_to_point
//! plan      what a plan means to one rank   ─┘
//! ```
//!
//! Where to find what: `state` has the types [`Endpoint`](state::endpoint::Endpoint) and [`RequestState`](state::request::RequestState),
//! and each of the later rooms the methods of an endpoint that are its matter.

pub(crate) mod engine;
pub(crate) mod exchange;
pub(crate) mod failure;
pub(crate) mod fast_path;
pub(crate) mod message;
pub(crate) mod nodes;
pub(crate) mod plan;
pub(crate) mod point_to_point;
pub(crate) mod progress;
pub(crate) mod state;
