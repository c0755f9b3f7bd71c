//! Scan: the reduction of the vectors of ranks up to the own.

use super::Algorithm;

/// Every scan.
pub const ALL: &[&Algorithm] = &[];
