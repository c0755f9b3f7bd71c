//! Plans: what the operations of a plan mean to one rank, found out once, when its request is made, so that no call has to.
//!
//! Owns the slots of operations, the compiled fast path of short calls, the receives of a step that may be copied at the same time, and
//! the answers to what depends on the plan alone: how far received memory is, and whether messages may be shorter. A request is made
//! of it. It never begins a call, and never changes a plan.

pub(crate) mod distances;
pub(crate) mod fast_path;
pub(crate) mod incoming;
pub(crate) mod moves;
pub(crate) mod shorter;
pub(crate) mod slots;
