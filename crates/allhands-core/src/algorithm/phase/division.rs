//! The division of a call: its nodes and their leaders as its shape says, and blocks and scratch by them.

use crate::algorithm::Key;
use crate::call::Collective;
use crate::pattern::division::{Division, cut};
use crate::schedule::{Blocks, Builder, Shape, Units};
use alloc::vec::Vec;

impl Division {
    /// The nodes (or outermost groups of nodes) of the builder's call, for the share that this rank is in.
    #[must_use]
    pub fn new(b: &Builder) -> Division {
        let (shape, call) = (b.shape(), b.call());
        let root = call.collective.rooted().then_some(call.root);
        let nodes = Division::of_sizes(b.rank(), &sizes(shape));
        nodes.with_root(root).in_shares(shares(shape))
    }

    /// The blocks of a node in the share, of blocks that lie rank by rank.
    #[must_use]
    pub fn blocks(&self, all: Blocks, node: u32) -> Blocks {
        let share = self.share_of(node);
        all.slice(share.start, share.len() as u32)
    }

    /// New scratch with a block for each rank of this rank's node that is in the share.
    pub fn scratch(&self, b: &mut Builder) -> Blocks {
        let share = self.share_of(self.own());
        let modulo = u32::MAX;
        let first = share.start;
        b.scratch(Units::Run { first, modulo }, share.len() as u32)
    }
}

/// The leaders that each node has: as many as are asked for, but no more than the smallest node has ranks; where nodes are
/// inside groups of nodes, a group has one.
fn leaders(shape: &Shape) -> u32 {
    if shape.nodes.inside().is_some() {
        return 1;
    }
    let sizes = shape.nodes.sizes(shape.ranks());
    let smallest = sizes.iter().copied().min().unwrap_or(1);
    shape.get(Key::LEADERS.name).clamp(1, smallest.max(1))
}

/// Whether what the leaders of a node have is never joined on it: then they lead smaller nodes.
fn parted(collective: Collective) -> bool {
    matches!(collective, Collective::Gather | Collective::Scatter)
}

/// In how many shares the data is divided.
pub(crate) fn shares(shape: &Shape) -> u32 {
    if parted(shape.call.collective) {
        1
    } else {
        leaders(shape)
    }
}

/// The number of ranks of every node; of every part of one that has a leader, in a gather or scatter.
pub(crate) fn sizes(shape: &Shape) -> Vec<u32> {
    let sizes = shape.nodes.sizes(shape.ranks());
    let leaders = leaders(shape);
    if leaders == 1 || !parted(shape.call.collective) {
        return sizes;
    }
    let parts =
        |size| (0..leaders).map(move |at| cut(size, at + 1, leaders) - cut(size, at, leaders));
    sizes.into_iter().flat_map(parts).collect()
}
