//! Alltoall: block d of rank s reaches rank d as block s.

pub mod bruck;
pub mod direct;
pub mod hierarchical;
pub mod pairwise;
pub mod permission_to_send;
pub mod permuted;
pub mod scattered;
pub mod shared_memory;
pub mod standard_exchange;
pub mod two_phase_bruck;

use super::{Algorithm, block_per_rank};
use crate::call::Collective;

/// What an alltoall is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    parts: block_per_rank,
    ..super::BASE
};

/// Every alltoall.
pub const ALL: &[&Algorithm] = &[
    &bruck::ALGORITHM,
    &two_phase_bruck::ALGORITHM,
    &scattered::ALGORITHM,
    &permuted::ALGORITHM,
    &pairwise::ALGORITHM,
    &permission_to_send::ALGORITHM,
    &direct::ALGORITHM,
    &standard_exchange::ALGORITHM,
    &shared_memory::ALGORITHM,
    &hierarchical::ALGORITHM,
];
