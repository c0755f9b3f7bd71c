//! Allreduce: the reduction of all vectors, on every rank.

pub mod all_pairs;
pub mod binary_blocks;
pub mod bruck;
pub mod circulant;
pub mod combining_tree;
pub mod direct;
pub mod double_tree;
pub mod hamiltonian;
pub mod hierarchical;
pub mod hybrid_a;
pub mod hybrid_b;
pub mod line_broadcast;
pub mod multi_dimensional_ring;
pub mod rabenseifner;
pub mod recursive_doubling;
pub mod recursive_multiplying;
pub mod reduce_broadcast;
pub mod reduce_scatter_gather_broadcast;
pub mod ring;
pub mod shared_memory;
pub mod swing;
pub mod torus_trees;

use super::Algorithm;
use crate::call::Collective;

/// What an allreduce is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    ..super::BASE
};

/// Every allreduce.
pub const ALL: &[&Algorithm] = &[
    &reduce_broadcast::ALGORITHM,
    &recursive_doubling::ALGORITHM,
    &recursive_multiplying::ALGORITHM,
    &rabenseifner::ALGORITHM,
    &binary_blocks::ALGORITHM,
    &ring::ALGORITHM,
    &reduce_scatter_gather_broadcast::ALGORITHM,
    &hybrid_a::ALGORITHM,
    &hybrid_b::ALGORITHM,
    &direct::ALGORITHM,
    &bruck::ALGORITHM,
    &double_tree::ALGORITHM,
    &circulant::ALGORITHM,
    &all_pairs::ALGORITHM,
    &shared_memory::ALGORITHM,
    &hierarchical::ALGORITHM,
    &combining_tree::ALGORITHM,
    &torus_trees::ALGORITHM,
    &hamiltonian::ALGORITHM,
    &line_broadcast::ALGORITHM,
    &multi_dimensional_ring::ALGORITHM,
    &swing::ALGORITHM,
];
