//! Hierarchical reduce-scatter: each node to its leader, a reduce-scatter of nodes' blocks among the leaders, then each leader to its node.
//!
//! Nodes are runs of ranks and stand in their order, so rank order is kept where the leaders keep it.
//!
//! ```text
//! 2 nodes of 2      1 ─▶ 0   3 ─▶ 2      0 ⇄ 2: blocks 2, 3 and 0, 1      0 ─▶ 1   2 ─▶ 3: block 3
//! ```
//!
//! Source: C 6.1; Q 4.2.

use super::{
    BASE, circulant, direct, pairwise, pat, recursive_doubling, recursive_halving, reduce_scatterv,
    ring, shared_memory,
};
use crate::algorithm::compose::{self, Phase};
use crate::algorithm::{Algorithm, Claims, Key, Layers, Requirement, reduce, scatter};
use crate::pattern::division::Division;
use crate::schedule::{Blocks, Builder, Shape};

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
    ],
    settings: &[
        "",
        "intra=tree,inter=recursive-doubling",
        "leaders=2",
        "intra=direct,inter=pat",
    ],
    ordered: |shape| compose::keep_order(shape, PHASES),
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
const LEADERS: &[&Algorithm; 9] = &[
    &pairwise::ALGORITHM,
    &recursive_halving::ALGORITHM,
    &recursive_doubling::ALGORITHM,
    &reduce_scatterv::ALGORITHM,
    &shared_memory::ALGORITHM,
    &ring::ALGORITHM,
    &direct::ALGORITHM,
    &circulant::ALGORITHM,
    &pat::ALGORITHM,
];

const PHASES: &[Phase] = &[
    Phase::node(&reduce::hierarchical::INSIDE),
    Phase::leaders(LEADERS),
    Phase::share(&scatter::hierarchical::INSIDE),
];

fn build(b: &mut Builder) {
    let node = Division::new(b);
    let (input, output) = (b.input(), b.output());
    let (sum, own) = if node.leads() {
        (b.vector(), node.scratch(b))
    } else {
        (input, output)
    };
    compose::each_share(b, &node, |b, node| {
        let runs = node.ranks_in_share();
        compose::vector_phase(b, node, &PHASES[0], &runs, [input, sum], false);
        let blocks: [&dyn Fn(u32) -> Blocks; 2] = [&|at| node.blocks(sum, at), &|_| own];
        compose::block_phase(b, node, &PHASES[1], blocks, false);
    });
    let blocks: [&dyn Fn(u32) -> Blocks; 2] = [&|at| own.at(at), &|_| output];
    compose::block_phase(b, &node, &PHASES[2], blocks, false);
}

fn claims(shape: &Shape) -> Claims {
    compose::claims(shape, PHASES)
}
