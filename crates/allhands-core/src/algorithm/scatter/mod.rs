//! Scatter: the root's block r reaches rank r.

use super::Algorithm;

/// Every scatter.
pub const ALL: &[&Algorithm] = &[];
