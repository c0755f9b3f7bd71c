//! Scatter-allgather broadcast (Van de Geijn): a binomial scatter of the vector's p parts, then an allgather of them.
//!
//! 2(p − 1)/p of the vector instead of ⌈lg p⌉ whole vectors: best for long vectors. The allgather is recursive doubling, or a ring for the
//! longest.
//!
//! ```text
//! 4 ranks, root 0      0 ─▶ 2: parts 2, 3      0 ─▶ 1: 1, 2 ─▶ 3: 3      then allgather of parts 0 1 2 3
//! ```
//!
//! Source: T 4.2.

use super::BASE;
use crate::algorithm::phase::allgather::{circle::Circle, recursive_multiplying, ring};
use crate::algorithm::phase::tree::{Group, steps, walk};
use crate::algorithm::{Algorithm, Claims, Key, Values, block_per_rank};
use crate::pattern::knomial::{Edge, KnomialTree};
use crate::pattern::math::{absolute, relative};
use crate::schedule::{Blocks, Builder, Shape};
use alloc::vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "scatter-allgather",
    citation: "T 4.2",
    summary: "binomial scatter of the vector's parts, then an allgather (Van de Geijn)",
    keys: &[Key {
        name: "allgather",
        values: Values::Names(&["recursive-doubling", "ring"]),
        default: 0,
        about: "how the parts are gathered",
    }],
    settings: &["", "allgather=ring"],
    parts: block_per_rank,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root, rank, output) = (b.ranks(), b.root(), b.rank(), b.output());
    let rank_at = |position| absolute(position, root, p);
    let group = Group::binomial(p, relative(rank, root, p), &rank_at);
    let source = if rank == root { b.input() } else { output };
    scatter(b, &group, source);
    let circle = Circle {
        size: p,
        position: group.position,
        rank_at: &rank_at,
        blocks: &|range| vec![output.slice(range.start, range.end - range.start)],
        own: &[source.at(group.position)],
    };
    match b.get("allgather") {
        DOUBLING => recursive_multiplying::allgather(b, &circle, 2),
        _ => ring::allgather(b, &circle),
    }
}

/// `allgather=recursive-doubling`.
const DOUBLING: u32 = 0;

/// The root's parts down the tree: each rank gets those of its subtree, and part i of the vector is for position i.
fn scatter(b: &mut Builder, group: &Group<'_>, source: Blocks) {
    let (me, output) = (group.position, b.output());
    let subtree = group.tree.subtree(me);
    b.copy(source.at(me), output.at(me));
    let own = output.slice(me, subtree.end - me);
    walk::down(b, group, &[own], &|edge: &Edge| {
        vec![source.slice(edge.child, edge.size)]
    });
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let tree = KnomialTree::new(p, 2);
    let others = u64::from(p - 1);
    let scattered = steps::finish_down(tree);
    if shape.get("allgather") != DOUBLING {
        // The rank that is last to have its part is one behind in every step of the ring; the root sends most.
        let steps = scattered.into_iter().max().unwrap_or(0) + p - 1;
        return Claims {
            ports: 1,
            steps,
            volume: 2 * others,
            work: 0,
        };
    }
    let (steps, sent) = recursive_multiplying::costs(p, 2, scattered);
    let totals = (0..p).map(|position| {
        let below = u64::from(tree.subtree(position).len() as u32);
        let (down, up) = if position == 0 {
            (others, 0)
        } else {
            (below - 1, below)
        };
        (down + sent[position as usize]).max(up + others)
    });
    Claims {
        ports: 1,
        steps,
        volume: totals.max().unwrap_or(0),
        work: 0,
    }
}
