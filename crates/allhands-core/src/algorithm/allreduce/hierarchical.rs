//! Hierarchical allreduce: each node to its leader, an allreduce among the leaders, then each leader to its node.
//!
//! Only one vector a node passes between nodes in each step of the leaders. Nodes are runs of ranks and stand in their order, so
//! rank order is kept where the leaders keep it.
//!
//! ```text
//! 2 nodes of 2      1 ─▶ 0   3 ─▶ 2      0 ⇄ 2      0 ─▶ 1   2 ─▶ 3
//! ```
//!
//! Source: C 6.1; Q 4.2.

use super::{
    BASE, all_pairs, binary_blocks, bruck, circulant, direct, double_tree, hamiltonian, hybrid_a,
    hybrid_b, line_broadcast, multi_dimensional_ring, rabenseifner, recursive_doubling,
    recursive_multiplying, reduce_broadcast, reduce_scatter_gather_broadcast, ring, shared_memory,
    swing, torus_trees,
};
use crate::algorithm::compose::{self, Phase};
use crate::algorithm::{Algorithm, Claims, Key, Layers, Requirement, broadcast, reduce};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hierarchical",
    citation: "C 6.1; Q 4.2",
    summary: "each node to its leader, the leaders, each leader to its node",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[
        compose::INTRA,
        Key::inter(&compose::names(LEADERS)),
        Key::LEADERS,
        compose::PORTS,
    ],
    settings: &[
        "",
        "intra=tree,inter=rabenseifner",
        "inter=ring",
        "leaders=2",
        "intra=direct,inter=recursive-multiplying,ports=2",
    ],
    ordered: |shape| compose::keep_order(shape, PHASES),
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

/// What may serve the leaders.
const LEADERS: &[&Algorithm; 20] = &[
    &recursive_doubling::ALGORITHM,
    &rabenseifner::ALGORITHM,
    &ring::ALGORITHM,
    &binary_blocks::ALGORITHM,
    &reduce_broadcast::ALGORITHM,
    &direct::ALGORITHM,
    &circulant::ALGORITHM,
    &shared_memory::ALGORITHM,
    &torus_trees::ALGORITHM,
    &hamiltonian::ALGORITHM,
    &line_broadcast::ALGORITHM,
    &multi_dimensional_ring::ALGORITHM,
    &swing::ALGORITHM,
    &recursive_multiplying::ALGORITHM,
    &reduce_scatter_gather_broadcast::ALGORITHM,
    &hybrid_a::ALGORITHM,
    &hybrid_b::ALGORITHM,
    &double_tree::ALGORITHM,
    &all_pairs::ALGORITHM,
    &bruck::ALGORITHM,
];

const PHASES: &[Phase] = &[
    Phase::node(&reduce::hierarchical::INSIDE),
    Phase::leaders(LEADERS),
    Phase::node(&broadcast::hierarchical::INSIDE),
];

fn build(b: &mut Builder) {
    compose::vector_phases(b, PHASES);
}

fn claims(shape: &Shape) -> Claims {
    compose::claims(shape, PHASES)
}
