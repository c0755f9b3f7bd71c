//! Reduce-scatter: the reduction of all vectors, a block on each rank.

use super::Algorithm;

/// Every reduce-scatter.
pub const ALL: &[&Algorithm] = &[];
