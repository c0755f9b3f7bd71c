//! Hierarchical barrier: every node by itself, then the leaders among themselves, then every leader lets its node go.
//!
//! When a leader leaves its node's barrier, all its ranks have entered; when it leaves that of the leaders, all ranks have. It says so
//! by a broadcast: down a binomial tree of tokens, or by a flag that the node watches; where nodes are in groups, to the nodes of its
//! group first.
//!
//! ```text
//! 2 nodes of 2      0 ⇄ 1   2 ⇄ 3      0 ⇄ 2      0 ─▶ 1   2 ─▶ 3
//! ```
//!
//! Source: C 6.1, 6.2.

use super::{
    BASE, direct, dissemination, gather_broadcast, line_broadcast, one_to_all, recursive_doubling,
    shared_memory,
};
use crate::algorithm::compose::{self, INTRA, Inside, Phase};
use crate::algorithm::phase::barrier::tree;
use crate::algorithm::phase::tree::Group;
use crate::algorithm::{Algorithm, Claims, Key, Layers, Requirement};
use crate::pattern::division::Division;
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hierarchical",
    citation: "C 6.1",
    summary: "every node, the leaders, and these let their nodes go",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[INTRA, Key::inter(&compose::names(LEADERS)), compose::PORTS],
    settings: &[
        "",
        "intra=tree,inter=recursive-doubling",
        "intra=direct,inter=dissemination,ports=2",
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
    tree: &gather_broadcast::ALGORITHM,
    direct: (&one_to_all::ALGORITHM, ""),
    groups: || &ALGORITHM,
};

/// What may serve the leaders.
const LEADERS: &[&Algorithm; 7] = &[
    &dissemination::ALGORITHM,
    &recursive_doubling::ALGORITHM,
    &gather_broadcast::ALGORITHM,
    &one_to_all::ALGORITHM,
    &direct::ALGORITHM,
    &shared_memory::ALGORITHM,
    &line_broadcast::ALGORITHM,
];

/// A broadcast follows.
const PHASES: &[Phase] = &[Phase::node(&INSIDE), Phase::leaders(LEADERS)];

fn build(b: &mut Builder) {
    let (node, empty) = (Division::new(b), b.input());
    for phase in PHASES {
        compose::vector_phase(b, &node, phase, &[], [empty; 2], false);
    }
    if node.nodes() > 1 {
        release(b, &node);
    }
}

/// Whether a node is released by a flag that all its ranks watch.
fn by_flag(shape: &Shape) -> bool {
    shape.get(INTRA.name) == SHARED_MEMORY
}

/// `intra=shared-memory`.
const SHARED_MEMORY: u32 = 0;

/// The leader of a group lets its nodes go, each of which lets its ranks go.
fn release(b: &mut Builder, groups: &Division) {
    let (rank, group) = (b.rank(), groups.own());
    let nodes = Division::of_sizes(rank, &b.shape().nodes.innermost(b.ranks()));
    let (leader, size) = (nodes.start(nodes.own()), nodes.size(nodes.own()));
    if rank == leader {
        let first = nodes.node_of(groups.start(group));
        let last = nodes.node_of(groups.start(group) + groups.size(group) - 1);
        let leader_of = |at| nodes.start(first + at);
        let leaders = Group::binomial(last - first + 1, nodes.own() - first, &leader_of);
        tree::down(b, &leaders);
    }
    if by_flag(b.shape()) {
        return raise(b, leader, size);
    }
    let rank_at = |at| leader + at;
    tree::down(b, &Group::binomial(size, rank - leader, &rank_at));
}

/// A node's leader raises a flag that all others of the node watch.
fn raise(b: &mut Builder, leader: u32, size: u32) {
    let (rank, left) = (b.rank(), b.flag(0));
    if rank > leader {
        b.watch(leader, left, 1);
    } else if size > 1 {
        b.notify(rank, left);
    }
    b.step();
}

fn claims(shape: &Shape) -> Claims {
    let before = compose::claims(shape, PHASES);
    let sizes = shape.nodes.innermost(shape.ranks());
    let largest = sizes.iter().copied().max().unwrap_or(1);
    // Of nodes, as if all were in one group; of ranks, a flag's watchers are as if its rank told each.
    let (ports, steps) = match by_flag(shape) {
        true => (largest - 1, 1),
        false => (1, ceil_log2(largest)),
    };
    Claims {
        ports: before.ports.max(ports),
        steps: before.steps + ceil_log2(sizes.len() as u32) + steps,
        ..before
    }
}
