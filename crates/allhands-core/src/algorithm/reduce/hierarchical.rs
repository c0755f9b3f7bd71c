//! Hierarchical reduce: each node to its leader, then the leaders to the root.
//!
//! The root is the leader of its own node. Nodes are runs of ranks and stand in their order, so rank order is kept.
//!
//! ```text
//! 2 nodes of 2, root 0      1 ─▶ 0   3 ─▶ 2      2 ─▶ 0
//! ```
//!
//! Source: C 6.1; Q 4.2.

use super::BASE;
use crate::algorithm::phase::nodes::{self, Among, Division, Phase};
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::call::Collective;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hierarchical",
    citation: "C 6.1; Q 4.2",
    summary: "each node to its leader, the leaders to the root",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[nodes::INTRA, nodes::inter(INTER), nodes::LEADERS],
    settings: &["", "intra=tree,inter=rabenseifner", "leaders=2"],
    ordered: |shape| nodes::keep_order(shape, PHASES),
    parts: |shape| nodes::parts(shape, PHASES),
    build,
    claims,
    ..BASE
};

/// What may serve the leaders; not windows, as who gives them back would depend on the root.
const INTER: &[&str] = &[
    "binomial",
    "rabenseifner",
    "binary-blocks",
    "ring",
    "k-nomial",
    "circulant",
    "torus-trees",
    "hamiltonian",
];

const PHASES: &[Phase] = &[
    (Among::Node, Collective::Reduce),
    (Among::Leaders, Collective::Reduce),
];

fn build(b: &mut Builder) {
    let (node, is_root) = (Division::new(b), b.rank() == b.root());
    let (input, output) = (b.input(), b.output());
    // What a node has combined is in the root's output, or in a leader's scratch.
    let sum = match (is_root, node.leads()) {
        (true, _) => output,
        (false, true) => b.vector(),
        (false, false) => input,
    };
    let in_place = b.call().in_place && node.own() == node.node_of(b.root());
    nodes::each_share(b, &node, |b, node| {
        let runs = node.part_in_share(b.parts());
        nodes::vector_phase(b, node, PHASES[0], &runs, [input, sum], in_place);
        nodes::vector_phase(b, node, PHASES[1], &runs, [sum, output], true);
    });
}

fn claims(shape: &Shape) -> Claims {
    nodes::claims(shape, PHASES)
}
