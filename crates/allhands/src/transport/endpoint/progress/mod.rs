//! Progress: how a rank begins calls, takes them further, waits for their end, or stops them.
//!
//! Owns the order in which a rank looks, yields, sleeps, and checks whether its calls can complete at all. The communicator calls it.
//! It never knows what an operation does: that is the engines' matter.

pub(crate) mod call;
pub(crate) mod check;
pub(crate) mod wait;
