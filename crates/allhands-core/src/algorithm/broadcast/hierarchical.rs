//! Hierarchical broadcast: the root to the leaders of all other nodes, then each leader to its node.
//!
//! The root is the leader of its own node, so that nothing passes between nodes twice.
//!
//! ```text
//! 2 nodes of 2, root 0      0 ─▶ 2      0 ─▶ 1   2 ─▶ 3
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
    summary: "the root to the leaders, each leader to its node",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[nodes::INTRA, nodes::inter(INTER), nodes::LEADERS],
    settings: &[
        "",
        "intra=tree,inter=scatter-allgather",
        "inter=pipelined-chain",
        "leaders=2",
    ],
    parts: |shape| nodes::parts(shape, PHASES),
    build,
    claims,
    ..BASE
};

/// What may serve the leaders; not windows, as who gives them back would depend on the root.
const INTER: &[&str] = &[
    "binomial",
    "one-to-all",
    "scatter-allgather",
    "segmented-binomial",
    "k-nomial",
    "pipelined-chain",
    "circulant",
    "torus-trees",
];

const PHASES: &[Phase] = &[
    (Among::Leaders, Collective::Broadcast),
    (Among::Node, Collective::Broadcast),
];

fn build(b: &mut Builder) {
    nodes::vector_phases(b, PHASES);
}

fn claims(shape: &Shape) -> Claims {
    nodes::claims(shape, PHASES)
}
