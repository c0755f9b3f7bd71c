//! SMP-aware gather and broadcast: each node gathers in its leader's window, the leaders write to rank 0, which sends
//! everything to everyone.
//!
//! The last phase is the machine's hardware broadcast, where it has one; elsewhere it is one message to each rank. With
//! `intra=messages` every rank is a node of its own.
//!
//! ```text
//! 3 nodes of 2      1 ─▶ 0, 3 ─▶ 2, 5 ─▶ 4      2 ─▶ 0, 4 ─▶ 0: 2 blocks      0 ─▶ 1, 2, 3, 4, 5: 6 blocks
//! ```
//!
//! Source: Q 5.2.1, figure 7.

use crate::algorithm::phase::nodes::{Division, inter};
use crate::algorithm::phase::tree::{self, Group};
use crate::algorithm::phase::window::{self, Turns};
use crate::algorithm::{
    Algorithm, Claims, InPlace, Key, Requirement, Values, block_per_rank, keeps_order,
};
use crate::call::Collective;
use crate::pattern::knomial::KnomialTree;
use crate::schedule::{BROADCAST_PORT, Blocks, Builder, Shape};
use alloc::vec;
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allgather,
    name: "smp-gather-broadcast",
    citation: "Q 5.2.1",
    summary: "gather in node windows, the leaders to rank 0, hardware broadcast of everything",
    requires: &[Requirement::Nodes, Requirement::Window],
    keys: &[INTRA, inter(INTER), Key::PORTS],
    settings: &[
        "",
        "inter=binomial",
        "inter=binomial,ports=2",
        "intra=messages,inter=binomial",
    ],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: block_per_rank,
    build,
    claims,
};

/// `intra`: what gathers on a node.
const INTRA: Key = Key {
    name: "intra",
    values: Values::Names(&["shared-memory", "messages"]),
    default: 0,
    about: "how a node gathers: in its leader's window, or every rank is a node of its own",
};

/// What gathers among the leaders: direct, or a (k+1)-nomial tree.
const INTER: &[&str] = &["direct", "binomial"];

/// The sizes of the nodes, and the tree over them.
fn parts(shape: &Shape) -> (Vec<u32>, KnomialTree) {
    let sizes = match shape.get("intra") {
        0 => shape.nodes.innermost(shape.ranks()),
        _ => vec![1; shape.ranks() as usize],
    };
    let nodes = sizes.len() as u32;
    // All at once is a tree of one level.
    let radix = match shape.get("inter") {
        0 => nodes.max(2),
        _ => shape.ports() + 1,
    };
    (sizes, KnomialTree::new(nodes, radix))
}

fn build(b: &mut Builder) {
    let (sizes, tree) = parts(b.shape());
    let node = Division::of_sizes(b.rank(), &sizes);
    let (gathered, turns) = gather_node(b, &node);
    let (rank, output) = (b.rank(), b.output());
    let ports = match b.get("inter") {
        0 => node.nodes(),
        _ => b.shape().ports(),
    };
    let leader = |position| node.leader(position);
    let group = Group {
        tree,
        position: node.own(),
        rank_at: &leader,
        ports,
    };
    if node.leads() {
        let own = node.own();
        let below = tree.subtree(own).end;
        let after = node.start(own) + node.size(own);
        let others = output.slice(after, node.start(below) - after);
        tree::up(b, &group, &[gathered, others], &|edge| {
            let (first, end) = (node.start(edge.child), edge.child + edge.size);
            vec![output.slice(first, node.start(end) - first)]
        });
    }
    b.step();
    if node.leads() && node.size(node.own()) > 1 {
        turns.give_back(b);
    }
    for to in (1..b.ranks()).filter(|_| rank == 0) {
        b.port(u32::from(BROADCAST_PORT)).send(to, output);
    }
    if rank != 0 {
        b.port(u32::from(BROADCAST_PORT)).recv(0, output);
    }
}

/// The node's blocks at its leader, in their places on rank 0 and in the window on the others; and the turns of that window.
fn gather_node(b: &mut Builder, node: &Division) -> (Blocks, Turns) {
    let (rank, own, input) = (b.rank(), node.own(), b.input());
    let (leader, size) = (node.leader(own), node.size(own));
    let window = window::vector(b);
    let turns = Turns::new(b, [leader, leader], 1);
    let of_node = node.blocks(window, own);
    if rank != leader {
        turns.take(b);
        b.put(leader, input, window.at(rank));
        turns.filled(b);
        b.step();
        return (of_node, turns);
    }
    let places = node.blocks(b.output(), own);
    match (rank, size) {
        (0, _) => b.copy(input, places.at(0)),
        (_, 1) => return (input, turns),
        _ => b.copy(input, of_node.at(0)),
    }
    if size > 1 {
        turns.wait_full(b, size - 1);
    }
    b.step();
    if rank > 0 {
        return (of_node, turns);
    }
    b.copy(of_node.slice(1, size - 1), places.slice(1, size - 1));
    b.step();
    (places, turns)
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let (sizes, tree) = parts(shape);
    let largest = sizes.iter().copied().max().unwrap_or(1);
    let ports = match shape.get("inter") {
        0 => sizes.len() as u32,
        _ => shape.ports(),
    };
    Claims {
        ports: ports.max(p - 1),
        steps: u32::from(largest > 1) + tree::steps_up(tree, ports) + u32::from(p > 1),
        volume: Claims::UNCLAIMED,
        work: Claims::UNCLAIMED,
    }
}
