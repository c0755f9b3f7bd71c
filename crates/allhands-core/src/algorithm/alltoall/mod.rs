//! All-to-all: block d of rank s reaches rank d as block s.

pub mod direct;
pub mod pairwise;
pub mod scattered;

use super::Algorithm;

/// Every alltoall.
pub const ALL: &[&Algorithm] = &[
    &scattered::ALGORITHM,
    &pairwise::ALGORITHM,
    &direct::ALGORITHM,
];
