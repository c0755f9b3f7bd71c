//! Hierarchical all-to-all: each node to its leader, an all-to-all of nodes among the leaders, then each leader to its node.
//!
//! What the ranks of one node have for those of another travels between the leaders as one message.
//!
//! ```text
//! 2 nodes of 2      1 ─▶ 0: (1, *)   3 ─▶ 2: (3, *)      0 ─▶ 2: (0, 2) (0, 3) (1, 2) (1, 3)   and back      0 ─▶ 1: (*, 1)   2 ─▶ 3: (*, 3)
//! ```
//!
//! Source: Q 4.2.

use crate::algorithm::phase::nodes::{self, Among, Data, Division, Phase};
use crate::algorithm::{Algorithm, Claims, InPlace, Requirement, block_per_rank, keeps_order};
use crate::call::{Collective, Unit};
use crate::schedule::{Blocks, Builder, Shape, Units};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Alltoall,
    name: "hierarchical",
    citation: "Q 4.2",
    summary: "each node to its leader, the leaders, each leader to its node",
    requires: &[
        Requirement::Nodes,
        Requirement::Window,
        Requirement::AllCounts,
    ],
    keys: &[nodes::INTRA, nodes::inter(INTER)],
    settings: &["", "intra=tree,inter=bruck"],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: block_per_rank,
    build,
    claims,
};

/// What may serve the leaders.
const INTER: &[&str] = &["pairwise", "bruck", "scattered", "direct", "shared-memory"];

const PHASES: &[Phase] = &[
    (Among::Node, Collective::Gather),
    (Among::Leaders, Collective::Alltoall),
    (Among::Node, Collective::Scatter),
];

fn build(b: &mut Builder) {
    let (p, node) = (b.ranks(), Division::new(b));
    let (input, output) = (b.input(), b.output());
    let (first, size) = (node.start(node.own()), node.size(node.own()));
    // On a leader: the rows of its ranks, and their columns, source by source.
    let (rows, columns) = if node.leads() {
        let rows = pairs(p, (first, size), (0, p));
        let columns = pairs(p, (0, p), (first, size));
        (b.scratch(rows.0, rows.1), b.scratch(columns.0, columns.1))
    } else {
        (input, output)
    };
    let gather = Data {
        input: &|_| input,
        output: &|at| rows.slice(at * p, p),
        units: &|source| pairs(p, (first + source as u32, 1), (0, p)),
        longest: p,
        in_place: false,
    };
    nodes::phase(b, &node, PHASES[0], &gather);
    let of = |at: u32| (node.start(at), node.size(at));
    let exchange = Data {
        input: &|to| Blocks::strided(rows.space, rows.first + of(to).0, of(to).1, p as i32, size),
        output: &|from| columns.slice(of(from).0 * size, of(from).1 * size),
        units: &|unit| {
            let nodes = Unit::from(node.nodes());
            pairs(p, of((unit / nodes) as u32), of((unit % nodes) as u32))
        },
        longest: node.largest() * node.largest(),
        in_place: false,
    };
    nodes::phase(b, &node, PHASES[1], &exchange);
    let scatter = Data {
        input: &|to| Blocks::strided(columns.space, columns.first + to, 1, size as i32, p),
        output: &|_| output,
        units: &|to| pairs(p, (0, p), (first + to as u32, 1)),
        longest: p,
        in_place: false,
    };
    nodes::phase(b, &node, PHASES[2], &scatter);
}

/// The pairs of some sources and some destinations, each given as (first, how many), source by source.
fn pairs(ranks: u32, sources: (u32, u32), destinations: (u32, u32)) -> (Units, u32) {
    let units = Units::Pairs {
        ranks,
        first: sources.0,
        source_step: 1,
        onward: destinations.0,
        step: 1,
        width: destinations.1,
    };
    (units, sources.1 * destinations.1)
}

fn claims(shape: &Shape) -> Claims {
    nodes::claims(shape, PHASES)
}
