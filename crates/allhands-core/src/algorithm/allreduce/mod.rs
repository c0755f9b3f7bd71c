//! Allreduce: the reduction of all vectors, on every rank.

pub mod recursive_doubling;
pub mod reduce_broadcast;

use super::Algorithm;

/// Every allreduce.
pub const ALL: &[&Algorithm] = &[&reduce_broadcast::ALGORITHM, &recursive_doubling::ALGORITHM];
