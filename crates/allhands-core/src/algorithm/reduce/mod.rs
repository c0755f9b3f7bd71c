//! Reduce: the reduction of all vectors, on the root.

pub mod allreduce;
pub mod binary_blocks;
pub mod binomial;
pub mod circulant;
pub mod double_tree;
pub mod hamiltonian;
pub mod hierarchical;
pub mod k_nomial;
pub mod mutualcast;
pub mod pipelined_chain;
pub mod rabenseifner;
pub mod ring;
pub mod shared_memory;
pub mod torus_trees;

use super::Algorithm;
use crate::call::Collective;

/// What a reduce is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::Reduce,
    ..super::BASE
};

/// Every reduce.
pub const ALL: &[&Algorithm] = &[
    &binomial::ALGORITHM,
    &rabenseifner::ALGORITHM,
    &binary_blocks::ALGORITHM,
    &ring::ALGORITHM,
    &k_nomial::ALGORITHM,
    &circulant::ALGORITHM,
    &pipelined_chain::ALGORITHM,
    &double_tree::ALGORITHM,
    &mutualcast::ALGORITHM,
    &shared_memory::ALGORITHM,
    &hierarchical::ALGORITHM,
    &hamiltonian::ALGORITHM,
    &torus_trees::ALGORITHM,
    &allreduce::ALGORITHM,
];
