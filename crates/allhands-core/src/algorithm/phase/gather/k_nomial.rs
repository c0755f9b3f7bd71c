//! K-nomial gather: blocks go up the tree, and a rank passes those of its subtree on as one message; a scatter is that backwards.

use crate::algorithm::phase::tree::{
    Group,
    walk::{self, Walk},
};
use crate::pattern::knomial::Edge;
use crate::pattern::math::absolute;
use crate::schedule::{Blocks, Builder, Units};
use alloc::vec;

/// The block `own` of every rank to the root, which has them in `all`; its own is not moved.
pub fn gather(b: &mut Builder, own: Blocks, all: Blocks) {
    blocks(b, own, all, walk::up);
}

/// The blocks that the root has in `all`, each to the `own` of its rank; the root's is not moved.
pub fn scatter(b: &mut Builder, all: Blocks, own: Blocks) {
    blocks(b, own, all, walk::down);
}

/// Along the tree of the call's radix and ports. On its way a subtree's blocks lie in a row, counted round from the last rank to
/// the first; only the root's lie rank by rank.
fn blocks(b: &mut Builder, own: Blocks, all: Blocks, walk: Walk) {
    let (p, root, rank) = (b.ranks(), b.root(), b.rank());
    let rank_at = |position| absolute(position, root, p);
    let group = Group::of_call(b, root, &rank_at);
    if rank == root {
        let subtree = |edge: &Edge| all.wrapped(rank_at(edge.child), edge.size).to_vec();
        return walk(b, &group, &[], &subtree);
    }
    let me = group.position;
    let run = Units::Run {
        first: (rank + 1) % p,
        modulo: p,
    };
    let below = b.scratch(run, group.tree.subtree(me).len() as u32 - 1);
    walk(b, &group, &[own, below], &|edge| {
        vec![below.slice(edge.child - me - 1, edge.size)]
    });
}
