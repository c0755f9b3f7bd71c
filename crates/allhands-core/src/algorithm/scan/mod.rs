//! Scan: rank r gets the reduction of the vectors of ranks 0 to r.

pub mod linear;
pub mod recursive_doubling;

use super::Algorithm;

/// Every scan.
pub const ALL: &[&Algorithm] = &[&recursive_doubling::ALGORITHM, &linear::ALGORITHM];
