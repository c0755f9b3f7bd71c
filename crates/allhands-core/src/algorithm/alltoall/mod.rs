//! Alltoall: the block d of rank s reaches rank d as block s.

use super::Algorithm;

/// Every alltoall.
pub const ALL: &[&Algorithm] = &[];
