//! Allgather: the block of rank r reaches every rank as block r.

pub mod bruck;
pub mod circulant;
pub mod direct;
pub mod gather_broadcast;
pub mod hierarchical;
pub mod hybrid;
pub mod neighbor_exchange;
pub mod pat;
pub mod recursive_doubling;
pub mod ring;
pub mod shared_memory;
pub mod smp_bruck;
pub mod smp_direct;
pub mod smp_gather_broadcast;
pub mod sparbit;
pub mod standard_exchange;

use super::{Algorithm, block_per_rank};
use crate::call::Collective;

/// What an allgather is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::Allgather,
    parts: block_per_rank,
    ..super::BASE
};

/// Every allgather.
pub const ALL: &[&Algorithm] = &[
    &ring::ALGORITHM,
    &recursive_doubling::ALGORITHM,
    &bruck::ALGORITHM,
    &direct::ALGORITHM,
    &standard_exchange::ALGORITHM,
    &gather_broadcast::ALGORITHM,
    &hybrid::ALGORITHM,
    &circulant::ALGORITHM,
    &sparbit::ALGORITHM,
    &pat::ALGORITHM,
    &neighbor_exchange::ALGORITHM,
    &shared_memory::ALGORITHM,
    &hierarchical::ALGORITHM,
    &smp_gather_broadcast::ALGORITHM,
    &smp_direct::ALGORITHM,
    &smp_bruck::ALGORITHM,
];
