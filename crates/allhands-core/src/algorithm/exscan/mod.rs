//! Exscan: the reduction of the vectors of ranks before the own.

use super::Algorithm;

/// Every exscan.
pub const ALL: &[&Algorithm] = &[];
