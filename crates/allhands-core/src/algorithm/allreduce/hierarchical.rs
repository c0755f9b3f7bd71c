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

use super::BASE;
use crate::algorithm::phase::nodes::{self, Among, Phase};
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::call::Collective;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hierarchical",
    citation: "C 6.1; Q 4.2",
    summary: "each node to its leader, the leaders, each leader to its node",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[nodes::INTRA, nodes::inter(INTER), nodes::LEADERS],
    settings: &[
        "",
        "intra=tree,inter=rabenseifner",
        "inter=ring",
        "leaders=2",
    ],
    ordered: |shape| nodes::keep_order(shape, PHASES),
    parts: |shape| nodes::parts(shape, PHASES),
    build,
    claims,
    ..BASE
};

/// What may serve the leaders.
const INTER: &[&str] = &[
    "recursive-doubling",
    "rabenseifner",
    "ring",
    "binary-blocks",
    "reduce-broadcast",
    "direct",
    "circulant",
    "shared-memory",
    "torus-trees",
    "hamiltonian",
    "line-broadcast",
    "multi-dimensional-ring",
    "swing",
];

const PHASES: &[Phase] = &[
    (Among::Node, Collective::Reduce),
    (Among::Leaders, Collective::Allreduce),
    (Among::Node, Collective::Broadcast),
];

fn build(b: &mut Builder) {
    nodes::vector_phases(b, PHASES);
}

fn claims(shape: &Shape) -> Claims {
    nodes::claims(shape, PHASES)
}
