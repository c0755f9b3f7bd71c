//! Hierarchical reduce: each node to its leader, then the leaders to the root.
//!
//! The root is the leader of its own node. Nodes are runs of ranks and stand in their order, so rank order is kept.
//!
//! ```text
//! 2 nodes of 2, root 0      1 ─▶ 0   3 ─▶ 2      2 ─▶ 0
//! ```
//!
//! Source: C 6.1; Q 4.2.

use super::{
    BASE, binary_blocks, binomial, circulant, hamiltonian, k_nomial, rabenseifner, ring,
    shared_memory, torus_trees,
};
use crate::algorithm::compose::{self, Inside, Phase};
use crate::algorithm::{Algorithm, Claims, Key, Layers, Requirement};
use crate::pattern::division::Division;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hierarchical",
    citation: "C 6.1; Q 4.2",
    summary: "each node to its leader, the leaders to the root",
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
        "leaders=2",
        "intra=direct,inter=k-nomial,ports=2",
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

/// What serves a node.
pub const INSIDE: Inside = Inside {
    shared_memory: &shared_memory::ALGORITHM,
    tree: &binomial::ALGORITHM,
    // A tree of one level.
    direct: (&k_nomial::ALGORITHM, "radix=1048576"),
    groups: || &ALGORITHM,
};

/// What may serve the leaders; not windows, as who gives them back would depend on the root.
const LEADERS: &[&Algorithm; 8] = &[
    &binomial::ALGORITHM,
    &rabenseifner::ALGORITHM,
    &binary_blocks::ALGORITHM,
    &ring::ALGORITHM,
    &k_nomial::ALGORITHM,
    &circulant::ALGORITHM,
    &torus_trees::ALGORITHM,
    &hamiltonian::ALGORITHM,
];

const PHASES: &[Phase] = &[Phase::node(&INSIDE), Phase::leaders(LEADERS)];

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
    compose::each_share(b, &node, |b, node| {
        let runs = node.part_in_share(b.parts());
        compose::vector_phase(b, node, &PHASES[0], &runs, [input, sum], in_place);
        compose::vector_phase(b, node, &PHASES[1], &runs, [sum, output], true);
    });
}

fn claims(shape: &Shape) -> Claims {
    compose::claims(shape, PHASES)
}
