//! Hierarchical alltoall: each node to its leader, an alltoall of nodes among the leaders, then each leader to its node.
//!
//! What the ranks of one node have for those of another travels between the leaders as one message.
//!
//! ```text
//! 2 nodes of 2      1 ─▶ 0: (1, *)   3 ─▶ 2: (3, *)      0 ─▶ 2: (0, 2) (0, 3) (1, 2) (1, 3)   and back      0 ─▶ 1: (*, 1)   2 ─▶ 3: (*, 3)
//! ```
//!
//! Source: Q 4.2.

use super::{
    BASE, bruck, direct, pairwise, permission_to_send, scattered, shared_memory, standard_exchange,
};
use crate::algorithm::compose::{self, Data, Phase};
use crate::algorithm::{Algorithm, Claims, Key, Layers, Requirement, gather, scatter};
use crate::pattern::division::Division;
use crate::schedule::{Blocks, Builder, Shape, Units};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

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
        compose::PORTS,
    ],
    settings: &[
        "",
        "intra=tree,inter=bruck",
        "leaders=2",
        "intra=direct,inter=bruck,ports=2",
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
const LEADERS: &[&Algorithm; 7] = &[
    &pairwise::ALGORITHM,
    &bruck::ALGORITHM,
    &scattered::ALGORITHM,
    &direct::ALGORITHM,
    &shared_memory::ALGORITHM,
    &standard_exchange::ALGORITHM,
    &permission_to_send::ALGORITHM,
];

const PHASES: &[Phase] = &[
    Phase::share(&gather::hierarchical::INSIDE),
    Phase::leaders(LEADERS),
    Phase::node(&scatter::hierarchical::INSIDE),
];

fn build(b: &mut Builder) {
    let node = Division::new(b);
    let rows = to_leader(b, &node);
    compose::each_share(b, &node, |b, node| {
        let columns = among_leaders(b, node, rows);
        to_ranks(b, node, &columns);
    });
}

/// The rows of the ranks in a share, what each has for all, to their leader, where they come to lie one after another.
fn to_leader(b: &mut Builder, node: &Division) -> Blocks {
    let (p, input) = (b.ranks(), b.input());
    let share = node.share_of(node.own());
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

/// What some sources have for all ranks of a node, on its leader.
struct Column {
    sources: Run,
    blocks: Blocks,
}

/// What the ranks of a share have for the ranks of every node to that node's leader.
fn among_leaders(b: &mut Builder, node: &Division, rows: Blocks) -> Vec<Column> {
    let (p, output, nodes) = (b.ranks(), b.output(), u64::from(node.nodes()));
    let ranks_of = |at: u32| (node.start(at), node.size(at));
    let share_of = |at: u32| run(&node.share_of(at));
    let (own, (_, senders)) = (ranks_of(node.own()), share_of(node.own()));
    let mut columns = Vec::new();
    for sources in node.ranks_in_share() {
        let blocks = scratch(b, node, output, pairs(p, sources, own));
        columns.push(Column { sources, blocks });
    }
    let data = Data {
        input: &|to| {
            let (first, count) = ranks_of(to);
            let first = rows.first + first;
            vec![Blocks::strided(rows.space, first, count, p as i32, senders)]
        },
        output: &|at| vec![from(&columns, share_of(at), own.1)],
        units: &|unit| {
            let (source, to) = ((unit / nodes) as u32, (unit % nodes) as u32);
            vec![pairs(p, share_of(source), ranks_of(to))]
        },
        longest: node.largest_share() * node.largest(),
        vector: 0..0,
        in_place: false,
    };
    compose::phase(b, node, &PHASES[1], &data);
    columns
}

/// What some of the sources have for a node of `size` ranks.
fn from(columns: &[Column], (first, count): Run, size: u32) -> Blocks {
    let ends_before = |column: &Column| column.sources.0 + column.sources.1 <= first;
    let column = &columns[columns.partition_point(ends_before)];
    let before = first - column.sources.0;
    column.blocks.slice(before * size, count * size)
}

/// What all sources have for each rank from the leader to the rank.
fn to_ranks(b: &mut Builder, node: &Division, columns: &[Column]) {
    let (p, output) = (b.ranks(), b.output());
    let (start, size) = (node.start(node.own()), node.size(node.own()));
    let sources = || columns.iter().map(|column| column.sources);
    let data = Data {
        input: &|to| {
            let of_rank = |Column { sources, blocks }: &Column| {
                Blocks::strided(blocks.space, blocks.first + to, 1, size as i32, sources.1)
            };
            columns.iter().map(of_rank).collect()
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

/// Ranks in a row: the first, and how many.
type Run = (u32, u32);

fn run(range: &Range<u32>) -> Run {
    (range.start, range.len() as u32)
}

/// The pairs of some sources and some destinations, source by source, and how many they are.
fn pairs(ranks: u32, sources: Run, destinations: Run) -> (Units, u32) {
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
