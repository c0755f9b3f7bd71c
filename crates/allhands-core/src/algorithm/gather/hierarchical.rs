//! Hierarchical gather: each node to its leader, then the leaders, with all blocks of a node at once, to the root.
//!
//! The root is the leader of its own node. One message a node reaches the root from outside.
//!
//! ```text
//! 2 nodes of 2, root 0      1 ─▶ 0   3 ─▶ 2: block 3      2 ─▶ 0: blocks 2, 3
//! ```
//!
//! Source: Q 4.2.

use super::BASE;
use crate::algorithm::phase::nodes::{self, Among, Division, Phase};
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::call::Collective;
use crate::schedule::{Blocks, Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hierarchical",
    citation: "Q 4.2",
    summary: "each node to its leader, the leaders to the root",
    requires: &[
        Requirement::Nodes,
        Requirement::Window,
        Requirement::AllCounts,
    ],
    keys: &[nodes::INTRA, nodes::inter(INTER), nodes::LEADERS],
    settings: &["", "intra=tree,inter=direct", "leaders=2"],
    build,
    claims,
    ..BASE
};

/// What may serve the leaders; not windows, as who gives them back would depend on the root.
const INTER: &[&str] = &["binomial", "direct"];

const PHASES: &[Phase] = &[
    (Among::Node, Collective::Gather),
    (Among::Leaders, Collective::Gather),
];

fn build(b: &mut Builder) {
    let (node, is_root) = (Division::new(b), b.rank() == b.root());
    let (input, output) = (b.input(), b.output());
    // The blocks of the node: in their place on the root, in scratch on another leader.
    let gathered = match (is_root, node.leads()) {
        (true, _) => node.blocks(output, node.own()),
        (false, true) => node.scratch(b),
        (false, false) => input,
    };
    let in_place = b.call().in_place && node.own() == node.node_of(b.root());
    let within: [&dyn Fn(u32) -> Blocks; 2] = [&|_| input, &|at| gathered.at(at)];
    nodes::block_phase(b, &node, PHASES[0], within, in_place);
    let between: [&dyn Fn(u32) -> Blocks; 2] = [&|_| gathered, &|at| node.blocks(output, at)];
    nodes::block_phase(b, &node, PHASES[1], between, true);
}

fn claims(shape: &Shape) -> Claims {
    nodes::claims(shape, PHASES)
}
