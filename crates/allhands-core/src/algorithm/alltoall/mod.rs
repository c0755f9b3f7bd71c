//! All-to-all: block d of rank s reaches rank d as block s.

pub mod bruck;
pub mod direct;
pub mod hierarchical;
pub mod pairwise;
pub mod permuted;
pub mod scattered;
pub mod shared_memory;
pub mod standard_exchange;

use super::Algorithm;

/// Every alltoall.
pub const ALL: &[&Algorithm] = &[
    &bruck::ALGORITHM,
    &scattered::ALGORITHM,
    &permuted::ALGORITHM,
    &pairwise::ALGORITHM,
    &direct::ALGORITHM,
    &standard_exchange::ALGORITHM,
    &shared_memory::ALGORITHM,
    &hierarchical::ALGORITHM,
];
