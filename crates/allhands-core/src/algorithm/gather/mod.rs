//! Gather: the block of rank r reaches the root.

use super::Algorithm;

/// Every gather.
pub const ALL: &[&Algorithm] = &[];
