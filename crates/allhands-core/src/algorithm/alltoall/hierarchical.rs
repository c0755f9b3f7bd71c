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
use alloc::vec;
use alloc::vec::Vec;

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
    keys: &[nodes::INTRA, nodes::inter(INTER), nodes::LEADERS],
    settings: &["", "intra=tree,inter=bruck", "leaders=2"],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: block_per_rank,
    build,
    claims,
};

/// What may serve the leaders.
const INTER: &[&str] = &["pairwise", "bruck", "scattered", "direct", "shared-memory"];

const PHASES: &[Phase] = &[
    (Among::Share, Collective::Gather),
    (Among::Leaders, Collective::Alltoall),
    (Among::Node, Collective::Scatter),
];

fn build(b: &mut Builder) {
    let (p, node) = (b.ranks(), Division::new(b));
    let (input, output) = (b.input(), b.output());
    let of = |at: u32| (node.start(at), node.size(at));
    let (start, size) = of(node.own());
    // On a leader: the rows of the ranks in its share, and the columns of its node from those ranks of all nodes.
    let own = node.share_of(node.own());
    let rows = scratch(b, &node, input, pairs(p, run(&own), (0, p)));
    let gather = Data {
        input: &|_| vec![input],
        output: &|at| vec![rows.slice(at * p, p)],
        units: &|source| vec![pairs(p, (own.start + source as u32, 1), (0, p))],
        longest: p,
        vector: 0..0,
        in_place: false,
    };
    nodes::phase(b, &node, PHASES[0], &gather);
    nodes::each_share(b, &node, |b, node| {
        let sources = node.ranks_in_share();
        let mut columns = Vec::new();
        for &sources in &sources {
            columns.push(scratch(b, node, output, pairs(p, sources, (start, size))));
        }
        // The columns from the sources (first, how many), which lie in one run of them.
        let from = |(first, count): (u32, u32)| {
            let at = sources.partition_point(|run| run.0 + run.1 <= first);
            columns[at].slice((first - sources[at].0) * size, count * size)
        };
        let share = |at: u32| run(&node.share_of(at));
        let exchange = Data {
            input: &|to| {
                let (first, count) = of(to);
                let sources = own.len() as u32;
                vec![Blocks::strided(
                    rows.space,
                    rows.first + first,
                    count,
                    p as i32,
                    sources,
                )]
            },
            output: &|at| vec![from(share(at))],
            units: &|unit| {
                let nodes = Unit::from(node.nodes());
                vec![pairs(
                    p,
                    share((unit / nodes) as u32),
                    of((unit % nodes) as u32),
                )]
            },
            longest: node.largest_share() * node.largest(),
            vector: 0..0,
            in_place: false,
        };
        nodes::phase(b, node, PHASES[1], &exchange);
        let column = |to: u32, blocks: &Blocks| {
            Blocks::strided(
                blocks.space,
                blocks.first + to,
                1,
                size as i32,
                blocks.count() / size,
            )
        };
        let scatter = Data {
            input: &|to| columns.iter().map(|blocks| column(to, blocks)).collect(),
            output: &|_| {
                sources
                    .iter()
                    .map(|run| output.slice(run.0, run.1))
                    .collect()
            },
            units: &|to| {
                let to = (start + to as u32, 1);
                sources.iter().map(|run| pairs(p, *run, to)).collect()
            },
            longest: nodes::total(&sources),
            vector: 0..0,
            in_place: false,
        };
        nodes::phase(b, node, PHASES[2], &scatter);
    });
}

/// Scratch for some pairs on a leader; `instead`, which is never looked at, on others.
fn scratch(
    b: &mut Builder,
    node: &Division,
    instead: Blocks,
    (units, count): (Units, u32),
) -> Blocks {
    if node.leads() {
        b.scratch(units, count)
    } else {
        instead
    }
}

fn run(range: &core::ops::Range<u32>) -> (u32, u32) {
    (range.start, range.len() as u32)
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
