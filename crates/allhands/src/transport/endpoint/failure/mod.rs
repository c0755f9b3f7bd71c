//! Failures: why a call of this rank cannot complete, and who is told.
//!
//! Owns the faults that a rank finds (another one calls differently, memory that cannot be read, a network that fails), refused calls,
//! who is missing from a call and when that is said, the reports to other nodes and from them, and what is said when a rank leaves.
//! The rooms after it call it when something is wrong, and when they have waited for long. It never moves a user's byte, and never
//! takes a call further. That a rank has died becomes an error in `SharedSegment::stop_if_dead`, for all ranks of the communicator.

pub(crate) mod differing;
pub(crate) mod found;
pub(crate) mod leave;
pub(crate) mod missing;
pub(crate) mod overdue;
pub(crate) mod refusal;
pub(crate) mod reports;
