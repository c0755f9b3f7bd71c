//! Hierarchical broadcast: the root to the leaders of all other nodes, then each leader to its node.
//!
//! The root is the leader of its own node, so that nothing passes between nodes twice.
//!
//! ```text
//! 2 nodes of 2, root 0      0 ─▶ 2      0 ─▶ 1   2 ─▶ 3
//! ```
//!
//! Source: C 6.1; Q 4.2.

use super::{
    BASE, binomial, circulant, double_tree, hybrid_segmented_binomial, k_nomial, mutualcast,
    one_to_all, pipelined_chain, scatter_allgather, segmented_binomial, shared_memory, torus_trees,
};
use crate::algorithm::compose::{self, Inside, Phase};
use crate::algorithm::{Algorithm, Claims, Key, Layers, Requirement};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hierarchical",
    citation: "C 6.1; Q 4.2",
    summary: "the root to the leaders, each leader to its node",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[
        compose::INTRA,
        Key::inter(&compose::names(LEADERS)),
        Key::LEADERS,
        compose::PORTS,
    ],
    settings: &[
        "",
        "intra=tree,inter=scatter-allgather",
        "inter=pipelined-chain",
        "leaders=2",
        "intra=direct,inter=k-nomial,ports=2",
    ],
    parts: |shape| compose::parts(shape, PHASES),
    layers: Some(Layers {
        leaders: LEADERS,
        among_leaders: |shape| compose::among_leaders(shape, PHASES),
    }),
    sharing: |shape| compose::sharing(shape, PHASES),
    build,
    claims,
    ..BASE
};

/// What serves a node.
pub const INSIDE: Inside = Inside {
    shared_memory: &shared_memory::ALGORITHM,
    tree: &binomial::ALGORITHM,
    direct: (&one_to_all::ALGORITHM, ""),
    groups: || &ALGORITHM,
};

/// What may serve the leaders; not windows, as who gives them back would depend on the root.
const LEADERS: &[&Algorithm; 11] = &[
    &binomial::ALGORITHM,
    &one_to_all::ALGORITHM,
    &scatter_allgather::ALGORITHM,
    &segmented_binomial::ALGORITHM,
    &k_nomial::ALGORITHM,
    &pipelined_chain::ALGORITHM,
    &circulant::ALGORITHM,
    &torus_trees::ALGORITHM,
    &double_tree::ALGORITHM,
    &mutualcast::ALGORITHM,
    &hybrid_segmented_binomial::ALGORITHM,
];

const PHASES: &[Phase] = &[Phase::leaders(LEADERS), Phase::node(&INSIDE)];

fn build(b: &mut Builder) {
    compose::vector_phases(b, PHASES);
}

fn claims(shape: &Shape) -> Claims {
    compose::claims(shape, PHASES)
}
