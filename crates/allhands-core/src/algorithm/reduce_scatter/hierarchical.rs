//! Hierarchical reduce-scatter: each node to its leader, a reduce-scatter of nodes' blocks among the leaders, then each leader to its node.
//!
//! Nodes are runs of ranks and stand in their order, so rank order is kept where the leaders keep it.
//!
//! ```text
//! 2 nodes of 2      1 ─▶ 0   3 ─▶ 2      0 ⇄ 2: blocks 2, 3 and 0, 1      0 ─▶ 1   2 ─▶ 3: block 3
//! ```
//!
//! Source: C 6.1; Q 4.2.

use super::BASE;
use crate::algorithm::phase::nodes::{self, Among, Division, Phase};
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::call::Collective;
use crate::schedule::{Blocks, Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hierarchical",
    citation: "C 6.1; Q 4.2",
    summary: "each node to its leader, the leaders, each leader to its node",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[nodes::INTRA, nodes::inter(INTER), nodes::LEADERS],
    settings: &["", "intra=tree,inter=recursive-doubling", "leaders=2"],
    ordered: |shape| nodes::keep_order(shape, PHASES),
    build,
    claims,
    ..BASE
};

/// What may serve the leaders.
const INTER: &[&str] = &[
    "pairwise",
    "recursive-halving",
    "recursive-doubling",
    "reduce-scatterv",
    "shared-memory",
];

const PHASES: &[Phase] = &[
    (Among::Node, Collective::Reduce),
    (Among::Leaders, Collective::ReduceScatter),
    (Among::Share, Collective::Scatter),
];

fn build(b: &mut Builder) {
    let node = Division::new(b);
    let (input, output) = (b.input(), b.output());
    let (sum, own) = if node.leads() {
        (b.vector(), node.scratch(b))
    } else {
        (input, output)
    };
    nodes::each_share(b, &node, |b, node| {
        let runs = node.ranks_in_share();
        nodes::vector_phase(b, node, PHASES[0], &runs, [input, sum], false);
        let blocks: [&dyn Fn(u32) -> Blocks; 2] = [&|at| node.blocks(sum, at), &|_| own];
        nodes::block_phase(b, node, PHASES[1], blocks, false);
    });
    let blocks: [&dyn Fn(u32) -> Blocks; 2] = [&|at| own.at(at), &|_| output];
    nodes::block_phase(b, &node, PHASES[2], blocks, false);
}

fn claims(shape: &Shape) -> Claims {
    nodes::claims(shape, PHASES)
}
