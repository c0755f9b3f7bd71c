//! Exscan: rank r gets the reduction of the vectors of the ranks before it.

pub mod doubling_123;
pub mod linear;
pub mod recursive_doubling;

use super::Algorithm;

/// Every exscan.
pub const ALL: &[&Algorithm] = &[
    &recursive_doubling::ALGORITHM,
    &doubling_123::ALGORITHM,
    &linear::ALGORITHM,
];
