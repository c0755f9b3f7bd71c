//! Failure: what ranks show one another of their calls, and how a rank learns that one cannot be completed.
//!
//! Owns the record of each rank (the calls that it has entered, whether it is there), the fault that stops a communicator, and the
//! detection of processes that have ended. All rooms below may ask it. It never moves a user's byte and never waits: it says what is
//! known now.

pub(crate) mod fault;
pub(crate) mod liveness;
pub(crate) mod member;
pub(crate) mod names;
pub(crate) mod refusals;
