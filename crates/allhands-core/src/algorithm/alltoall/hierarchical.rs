//! Hierarchical alltoall: each node to its leader, an alltoall of nodes among the leaders, then each leader to its node.
//!
//! What the ranks of one node have for those of another travels between the leaders as one message.
//!
//! ```text
//! 2 nodes of 2      1 ─▶ 0: (1, *)   3 ─▶ 2: (3, *)      0 ─▶ 2: (0, 2) (0, 3) (1, 2) (1, 3)   and back      0 ─▶ 1: (*, 1)   2 ─▶ 3: (*, 3)
//! ```
//!
//! Source: Q 4.2.

use super::{BASE, bruck, direct, pairwise, scattered, shared_memory};
use crate::algorithm::compose::{self, Data, Phase};
use crate::algorithm::phase::division::Division;
use crate::algorithm::{Algorithm, Claims, Key, Layers, Requirement, gather, scatter};
use crate::schedule::{Blocks, Builder, Shape, Units};
use alloc::vec;
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hierarchical",
    citation: "Q 4.2",
    summary: "each node to its leader, the leaders, each leader to its node",
    requires: &[
        Requirement::Nodes,
        Requirement::Window,
        Requirement::AllCounts,
    ],
    keys: &[
        compose::INTRA,
        Key::inter(&compose::names(LEADERS)),
        Key::LEADERS,
    ],
    settings: &["", "intra=tree,inter=bruck", "leaders=2"],
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
const LEADERS: &[&Algorithm; 5] = &[
    &pairwise::ALGORITHM,
    &bruck::ALGORITHM,
    &scattered::ALGORITHM,
    &direct::ALGORITHM,
    &shared_memory::ALGORITHM,
];

const PHASES: &[Phase] = &[
    Phase::share(&gather::hierarchical::INSIDE),
    Phase::leaders(LEADERS),
    Phase::node(&scatter::hierarchical::INSIDE),
];

fn build(b: &mut Builder) {
    let node = Division::new(b);
    let rows = gather(b, &node);
    compose::each_share(b, &node, |b, node| {
        let columns = exchange(b, node, rows);
        scatter(b, node, &columns);
    });
}

/// The rows of the ranks in a share to their leader, where they come to lie one after another.
fn gather(b: &mut Builder, node: &Division) -> Blocks {
    let (p, input, share) = (b.ranks(), b.input(), node.share_of(node.own()));
    let rows = scratch(b, node, input, pairs(p, run(&share), (0, p)));
    let data = Data {
        input: &|_| vec![input],
        output: &|at| vec![rows.slice(at * p, p)],
        units: &|source| vec![pairs(p, (share.start + source as u32, 1), (0, p))],
        longest: p,
        vector: 0..0,
        in_place: false,
    };
    compose::phase(b, node, &PHASES[0], &data);
    rows
}

/// Some sources (first, how many), and what they have for a node.
type Columns = ((u32, u32), Blocks);

/// What the ranks of a share have for the ranks of every node to that node's leader.
fn exchange(b: &mut Builder, node: &Division, rows: Blocks) -> Vec<Columns> {
    let (p, output) = (b.ranks(), b.output());
    let of = |at: u32| (node.start(at), node.size(at));
    let share = |at: u32| run(&node.share_of(at));
    let (own, size) = (of(node.own()), node.size(node.own()));
    let mut columns: Vec<Columns> = Vec::new();
    for sources in node.ranks_in_share() {
        columns.push((sources, scratch(b, node, output, pairs(p, sources, own))));
    }
    let from = |(first, count): (u32, u32)| {
        let at = columns.partition_point(|(run, _)| run.0 + run.1 <= first);
        let (run, blocks) = columns[at];
        blocks.slice((first - run.0) * size, count * size)
    };
    let sources = share(node.own()).1;
    let data = Data {
        input: &|to| {
            let (first, count) = of(to);
            let first = rows.first + first;
            vec![Blocks::strided(rows.space, first, count, p as i32, sources)]
        },
        output: &|at| vec![from(share(at))],
        units: &|unit| {
            let [source, to] = [
                unit / u64::from(node.nodes()),
                unit % u64::from(node.nodes()),
            ];
            vec![pairs(p, share(source as u32), of(to as u32))]
        },
        longest: node.largest_share() * node.largest(),
        vector: 0..0,
        in_place: false,
    };
    compose::phase(b, node, &PHASES[1], &data);
    columns
}

/// Each rank's column from the leader to the rank.
fn scatter(b: &mut Builder, node: &Division, columns: &[Columns]) {
    let (p, output) = (b.ranks(), b.output());
    let (start, size) = (node.start(node.own()), node.size(node.own()));
    let sources = || columns.iter().map(|(sources, _)| *sources);
    let data = Data {
        input: &|to| {
            let column = |((_, sources), from): &Columns| {
                Blocks::strided(from.space, from.first + to, 1, size as i32, *sources)
            };
            columns.iter().map(column).collect()
        },
        output: &|_| sources().map(|run| output.slice(run.0, run.1)).collect(),
        units: &|to| {
            let to = (start + to as u32, 1);
            sources().map(|run| pairs(p, run, to)).collect()
        },
        longest: sources().map(|run| run.1).sum(),
        vector: 0..0,
        in_place: false,
    };
    compose::phase(b, node, &PHASES[2], &data);
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
    compose::claims(shape, PHASES)
}
