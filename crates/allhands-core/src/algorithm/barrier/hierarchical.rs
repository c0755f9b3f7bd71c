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
use crate::algorithm::phase::division::Division;
use crate::algorithm::{Algorithm, Claims, Key, Layers, Requirement};
use crate::pattern::knomial::KnomialTree;
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hierarchical",
    citation: "C 6.1",
    summary: "every node, the leaders, and these let their nodes go",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[INTRA, Key::inter(&compose::names(LEADERS))],
    settings: &["", "intra=tree,inter=recursive-doubling"],
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
    let rank = b.rank();
    let nodes = Division::of_sizes(rank, &b.shape().nodes.innermost(b.ranks()));
    let (node, group) = (nodes.own(), groups.own());
    let (leader, size) = (nodes.start(node), nodes.size(node));
    if rank == leader {
        let first = nodes.node_of(groups.start(group));
        let last = nodes.node_of(groups.start(group) + groups.size(group) - 1);
        let leader_of = |at| nodes.start(first + at);
        tokens_down(b, (node - first, last - first + 1), leader_of);
    }
    if !by_flag(b.shape()) {
        return tokens_down(b, (rank - leader, size), |at| leader + at);
    }
    let left = b.flag(0);
    if rank > leader {
        b.watch(leader, left, 1);
    } else if size > 1 {
        b.notify(rank, left);
    }
    b.step();
}

/// Tokens down a binomial tree of so many ranks, of which this one is at `own`.
fn tokens_down(b: &mut Builder, (own, count): (u32, u32), rank_at: impl Fn(u32) -> u32) {
    let tree = KnomialTree::new(count, 2);
    if let Some(edge) = tree.parent(own) {
        b.recv_token(rank_at(edge.parent));
        b.step();
    }
    for edge in tree.children(own) {
        b.send_token(rank_at(edge.child));
        b.step();
    }
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
