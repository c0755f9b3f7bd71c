//! Reduce-scatter: the reduction of all vectors, a block on each rank.

pub mod allreduce;
pub mod circulant;
pub mod direct;
pub mod hierarchical;
pub mod pairwise;
pub mod pat;
pub mod recursive_doubling;
pub mod recursive_halving;
pub mod reduce_scatterv;
pub mod ring;
pub mod shared_memory;

use super::{Algorithm, block_per_rank};
use crate::call::Collective;

/// What a reduce-scatter is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::ReduceScatter,
    parts: block_per_rank,
    ..super::BASE
};

/// Every reduce-scatter.
pub const ALL: &[&Algorithm] = &[
    &recursive_halving::ALGORITHM,
    &recursive_doubling::ALGORITHM,
    &pairwise::ALGORITHM,
    &reduce_scatterv::ALGORITHM,
    &ring::ALGORITHM,
    &circulant::ALGORITHM,
    &pat::ALGORITHM,
    &direct::ALGORITHM,
    &shared_memory::ALGORITHM,
    &hierarchical::ALGORITHM,
    &allreduce::ALGORITHM,
];
