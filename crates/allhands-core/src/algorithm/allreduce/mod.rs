//! Allreduce: the reduction of all vectors, on every rank.

pub mod recursive_doubling;

use super::Algorithm;

/// Every allreduce.
pub const ALL: &[&Algorithm] = &[&recursive_doubling::ALGORITHM];
