//! Hybrid phases: groups of neighbours work on binomial trees, their leaders by recursive doubling (C 5.3, 5.5).
//!
//! The p' positions stand in groups of 2^(x−1). In the first x − 1 rounds a group gathers or reduces at its first position, its leader;
//! the leaders exchange by recursive doubling; in the last x − 1 rounds a leader broadcasts to its group.

use crate::algorithm::phase::allgather::circle::Circle;
use crate::algorithm::phase::allgather::recursive_multiplying;
use crate::algorithm::phase::tree::{Group, walk};
use crate::pattern::knomial::{Edge, KnomialTree};
use crate::pattern::math::floor_log2;
use crate::schedule::{Blocks, Builder};
use alloc::vec::Vec;
use core::ops::Range;

/// The ranks of a hybrid.
pub struct Hybrid<'a> {
    /// The number of positions, a power of two.
    pub size: u32,
    /// The position of this rank.
    pub position: u32,
    /// The rank at a position.
    pub rank_at: &'a dyn Fn(u32) -> u32,
    /// The positions of a group, a power of two.
    pub group: u32,
}

/// The positions of a group for the parameter x (C 5.3): 2^(x−1), as far as there are positions.
#[must_use]
pub fn group_size(positions: u32, x: u32) -> u32 {
    1 << (x - 1).min(floor_log2(positions))
}

impl Hybrid<'_> {
    /// The first position of the own group.
    #[must_use]
    pub fn leader(&self) -> u32 {
        self.position / self.group * self.group
    }

    /// Runs `phase` on the binomial tree of the own group.
    pub fn on_tree<R>(&self, phase: impl FnOnce(&Group<'_>) -> R) -> R {
        let leader = self.leader();
        let rank_at = |position| (self.rank_at)(leader + position);
        phase(&Group::binomial(
            self.group,
            self.position - leader,
            &rank_at,
        ))
    }
}

/// Hybrid allgather: `blocks` says where the blocks of consecutive positions lie; all of them are `all`.
pub fn allgather(
    b: &mut Builder,
    hybrid: &Hybrid<'_>,
    blocks: &dyn Fn(Range<u32>) -> Vec<Blocks>,
    all: &[Blocks],
) {
    let (leader, group) = (hybrid.leader(), hybrid.group);
    hybrid.on_tree(|tree_group| {
        let below = tree_group.tree.subtree(tree_group.position);
        let own = blocks(leader + below.start..leader + below.end);
        walk::up(b, tree_group, &own, &|edge: &Edge| {
            blocks(leader + edge.child..leader + edge.child + edge.size)
        });
    });
    if hybrid.position == leader {
        let of = |range: Range<u32>| blocks(range.start * group..range.end * group);
        let own = of(leader / group..leader / group + 1);
        let circle = Circle {
            size: hybrid.size / group,
            position: leader / group,
            rank_at: &|position| (hybrid.rank_at)(position * group),
            blocks: &of,
            own: &own,
        };
        recursive_multiplying::allgather(b, &circle, 2);
    }
    hybrid.on_tree(|tree_group| walk::down(b, tree_group, all, &|_| all.to_vec()));
}

/// What [`allgather`] costs position `position` in blocks, sent and received; `blocks` counts those of consecutive positions.
#[must_use]
pub fn allgather_blocks(
    size: u32,
    group: u32,
    position: u32,
    blocks: &dyn Fn(Range<u32>) -> u64,
) -> (u64, u64) {
    let (leader, tree) = (position / group * group, KnomialTree::new(group, 2));
    let (all, below) = (blocks(0..size), tree.subtree(position - leader));
    let children = tree.children(position - leader).count() as u64;
    let subtree = blocks(leader + below.start..leader + below.end);
    let own = blocks(position..position + 1);
    if position != leader {
        return (subtree + children * all, subtree - own + all);
    }
    let mut sent = children * all;
    let mut held = leader..leader + group;
    while held.end - held.start < size {
        sent += blocks(held.clone());
        let wider = 2 * (held.end - held.start);
        held = held.start / wider * wider..held.start / wider * wider + wider;
    }
    (sent, all - own)
}
