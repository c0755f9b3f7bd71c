//! Broadcast: the root's vector reaches every rank.

pub mod binomial;
pub mod circulant;
pub mod combining_tree;
pub mod double_tree;
pub mod hierarchical;
pub mod hybrid_segmented_binomial;
pub mod k_nomial;
pub mod mutualcast;
pub mod one_to_all;
pub mod pipelined_chain;
pub mod scatter_allgather;
pub mod segmented_binomial;
pub mod shared_memory;
pub mod torus_trees;

use super::Algorithm;
use crate::call::Collective;

/// What a broadcast is unless its registration says otherwise.
const BASE: Algorithm = Algorithm {
    collective: Collective::Broadcast,
    ..super::BASE
};

/// Every broadcast.
pub const ALL: &[&Algorithm] = &[
    &binomial::ALGORITHM,
    &one_to_all::ALGORITHM,
    &scatter_allgather::ALGORITHM,
    &segmented_binomial::ALGORITHM,
    &hybrid_segmented_binomial::ALGORITHM,
    &k_nomial::ALGORITHM,
    &pipelined_chain::ALGORITHM,
    &double_tree::ALGORITHM,
    &circulant::ALGORITHM,
    &mutualcast::ALGORITHM,
    &shared_memory::ALGORITHM,
    &hierarchical::ALGORITHM,
    &combining_tree::ALGORITHM,
    &torus_trees::ALGORITHM,
];
