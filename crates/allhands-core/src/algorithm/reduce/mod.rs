//! Reduce: the reduction of all vectors, on the root.

use super::Algorithm;

/// Every reduce.
pub const ALL: &[&Algorithm] = &[];
