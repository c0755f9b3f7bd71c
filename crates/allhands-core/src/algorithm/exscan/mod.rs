//! Exscan: rank r gets the reduction of the vectors of the ranks before it.

pub mod linear;
pub mod recursive_doubling;

use super::Algorithm;

/// Every exscan.
pub const ALL: &[&Algorithm] = &[&recursive_doubling::ALGORITHM, &linear::ALGORITHM];
