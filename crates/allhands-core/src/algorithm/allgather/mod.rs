//! Allgather: the block of rank r reaches every rank.

use super::Algorithm;

/// Every allgather.
pub const ALL: &[&Algorithm] = &[];
