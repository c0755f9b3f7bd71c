//! Gather-broadcast allgather: a binomial gather to rank 0, then a binomial broadcast of all blocks.
//!
//! 2⌈lg p⌉ steps; the broadcast carries p blocks in every step, so it is for short blocks, or where broadcasting is cheap.
//!
//! ```text
//! 4 ranks      1 ─▶ 0, 3 ─▶ 2      2 ─▶ 0: 2 blocks      0 ─▶ 2: 4 blocks      0 ─▶ 1, 2 ─▶ 3: 4 blocks
//! ```
//!
//! Source: Q 3.1 (elan_gather and broadcast).

use super::BASE;
use crate::algorithm::phase::tree::{Group, walk};
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::knomial::{Edge, KnomialTree};
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape};
use alloc::vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "gather-broadcast",
    citation: "Q 3.1",
    summary: "binomial gather to rank 0, binomial broadcast of everything",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (rank, input, output) = (b.rank(), b.input(), b.output());
    let group = Group::binomial(b.ranks(), rank, &|rank| rank);
    let subtree = |edge: &Edge| output.slice(edge.child, edge.size);
    let below = group.tree.subtree(rank);
    // Everybody else gets the own block back with the others.
    if rank == 0 {
        b.copy(input, output.at(rank));
    }
    walk::up(
        b,
        &group,
        &[input, output.slice(rank + 1, below.end - rank - 1)],
        &|edge| vec![subtree(edge)],
    );
    walk::down(b, &group, &[output], &|_| vec![output]);
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let (steps, tree) = (ceil_log2(p), KnomialTree::new(p, 2));
    let sent_by_root = u64::from(steps) * u64::from(p);
    // Other ranks send their subtree up and everything down to fewer children.
    debug_assert!(tree.children(0).count() as u32 == steps);
    Claims {
        ports: 1,
        steps: 2 * steps,
        volume: sent_by_root,
        work: 0,
    }
}
