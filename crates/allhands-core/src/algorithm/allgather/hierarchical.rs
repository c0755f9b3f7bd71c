//! Hierarchical allgather: each node to its leader, an allgather of nodes' blocks among the leaders, then each leader to its node.
//!
//! The paper's SMP-aware gather and broadcast: a node's blocks travel between nodes once, as one message, and everything inside a
//! node goes through its window.
//!
//! ```text
//! 2 nodes of 2      1 ─▶ 0   3 ─▶ 2      0 ⇄ 2: blocks 0, 1 and 2, 3      0 ─▶ 1   2 ─▶ 3: all blocks
//! ```
//!
//! Source: Q 5.2.1.

use super::{
    BASE, bruck, circulant, direct, gather_broadcast, hybrid, neighbor_exchange, pat,
    recursive_doubling, ring, shared_memory, sparbit, standard_exchange,
};
use crate::algorithm::compose::{self, Phase};
use crate::algorithm::{Algorithm, Claims, Key, Layers, Requirement, broadcast, gather};
use crate::pattern::division::Division;
use crate::schedule::{Blocks, Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hierarchical",
    citation: "Q 5.2.1",
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
        "intra=tree,inter=ring",
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

/// What may serve the leaders.
const LEADERS: &[&Algorithm; 12] = &[
    &bruck::ALGORITHM,
    &ring::ALGORITHM,
    &recursive_doubling::ALGORITHM,
    &direct::ALGORITHM,
    &gather_broadcast::ALGORITHM,
    &shared_memory::ALGORITHM,
    &standard_exchange::ALGORITHM,
    &hybrid::ALGORITHM,
    &circulant::ALGORITHM,
    &pat::ALGORITHM,
    &sparbit::ALGORITHM,
    &neighbor_exchange::ALGORITHM,
];

const PHASES: &[Phase] = &[
    Phase::share(&gather::hierarchical::INSIDE),
    Phase::leaders(LEADERS),
    Phase::node(&broadcast::hierarchical::INSIDE),
];

fn build(b: &mut Builder) {
    let (node, in_place) = (Division::new(b), b.call().in_place);
    let (input, output) = (b.input(), b.output());
    let own = node.blocks(output, node.own());
    let within: [&dyn Fn(u32) -> Blocks; 2] = [&|_| input, &|at| own.at(at)];
    compose::block_phase(b, &node, &PHASES[0], within, in_place);
    compose::each_share(b, &node, |b, node| {
        let own = node.blocks(output, node.own());
        let between: [&dyn Fn(u32) -> Blocks; 2] = [&|_| own, &|at| node.blocks(output, at)];
        compose::block_phase(b, node, &PHASES[1], between, true);
        let runs = node.ranks_in_share();
        compose::vector_phase(b, node, &PHASES[2], &runs, [output, output], true);
    });
}

fn claims(shape: &Shape) -> Claims {
    compose::claims(shape, PHASES)
}
