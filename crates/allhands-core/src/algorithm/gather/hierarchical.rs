//! Hierarchical gather: each node to its leader, then the leaders, with all blocks of a node at once, to the root.
//!
//! The root is the leader of its own node. One message a node reaches the root from outside.
//!
//! ```text
//! 2 nodes of 2, root 0      1 ─▶ 0   3 ─▶ 2: block 3      2 ─▶ 0: blocks 2, 3
//! ```
//!
//! Source: Q 4.2.

use super::{BASE, binomial, direct, shared_memory};
use crate::algorithm::compose::{self, Inside, Phase};
use crate::algorithm::{Algorithm, Claims, Key, Layers, Requirement};
use crate::pattern::division::Division;
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
    keys: &[
        compose::INTRA,
        Key::inter(&compose::names(LEADERS)),
        Key::LEADERS,
        compose::PORTS,
    ],
    settings: &[
        "",
        "intra=tree,inter=direct",
        "leaders=2",
        "intra=direct,inter=direct,ports=2",
    ],
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
    direct: (&direct::ALGORITHM, ""),
    groups: || &ALGORITHM,
};

/// What may serve the leaders; not windows, as who gives them back would depend on the root.
const LEADERS: &[&Algorithm; 2] = &[&binomial::ALGORITHM, &direct::ALGORITHM];

const PHASES: &[Phase] = &[Phase::node(&INSIDE), Phase::leaders(LEADERS)];

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
    compose::block_phase(b, &node, &PHASES[0], within, in_place);
    let between: [&dyn Fn(u32) -> Blocks; 2] = [&|_| gathered, &|at| node.blocks(output, at)];
    compose::block_phase(b, &node, &PHASES[1], between, true);
}

fn claims(shape: &Shape) -> Claims {
    compose::claims(shape, PHASES)
}
