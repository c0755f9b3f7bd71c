//! The division of a call's ranks into nodes, with the leaders of each, as one rank sees it.

use crate::algorithm::Key;
use crate::call::Collective;
use crate::schedule::{Blocks, Builder, Shape, Units};
use alloc::vec::Vec;

/// The nodes of a call, as one rank sees them, and one of the shares in which several leaders a node divide the data.
///
/// ```text
/// node of 6, 2 leaders      0 1 2 │ 3 4 5      0 leads for share 0, 3 for share 1
/// ```
#[derive(Clone, Debug)]
pub struct Division {
    /// Where each node starts, and the number of ranks.
    starts: Vec<u32>,
    root: Option<u32>,
    rank: u32,
    share: u32,
    shares: u32,
}

impl Division {
    /// The nodes (or outermost groups of nodes) of the builder's call, for the share that this rank is in.
    #[must_use]
    pub fn new(b: &Builder) -> Division {
        let (shape, rank) = (b.shape(), b.rank());
        let mut division = Division {
            root: shape.call.collective.rooted().then_some(shape.call.root),
            shares: shares(shape),
            ..Division::of_sizes(rank, &sizes(shape))
        };
        let is_in = |share: &u32| {
            division
                .of_share(*share)
                .share_of(division.own())
                .contains(&rank)
        };
        division.share = (0..division.shares).find(is_in).unwrap_or(0);
        division
    }

    /// Nodes of these sizes, with one share, as `rank` sees them.
    #[must_use]
    pub fn of_sizes(rank: u32, sizes: &[u32]) -> Division {
        let mut starts = alloc::vec![0];
        for size in sizes {
            starts.push(starts[starts.len() - 1] + size);
        }
        Division {
            starts,
            root: None,
            rank,
            share: 0,
            shares: 1,
        }
    }

    /// The same nodes, of a call with this root, which leads its own.
    #[must_use]
    pub fn with_root(self, root: Option<u32>) -> Division {
        Division { root, ..self }
    }

    /// The same nodes, for another share.
    #[must_use]
    pub fn of_share(&self, share: u32) -> Division {
        Division {
            share,
            ..self.clone()
        }
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The number of shares, each of which has a leader on every node.
    #[must_use]
    pub fn shares(&self) -> u32 {
        self.shares
    }

    /// This rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The node of a rank.
    #[must_use]
    pub fn node_of(&self, rank: u32) -> u32 {
        self.starts.partition_point(|start| *start <= rank) as u32 - 1
    }

    /// This rank's node.
    #[must_use]
    pub fn own(&self) -> u32 {
        self.node_of(self.rank)
    }

    /// The node of the root, or the first.
    #[must_use]
    pub fn root_node(&self) -> u32 {
        self.root.map_or(0, |root| self.node_of(root))
    }

    /// The first rank of a node.
    #[must_use]
    pub fn start(&self, node: u32) -> u32 {
        self.starts[node as usize]
    }

    /// The number of ranks of a node.
    #[must_use]
    pub fn size(&self, node: u32) -> u32 {
        self.start(node + 1) - self.start(node)
    }

    /// The number of ranks of the largest node.
    #[must_use]
    pub fn largest(&self) -> u32 {
        let sizes = (0..self.nodes()).map(|node| self.size(node));
        sizes.max().unwrap_or(1)
    }

    /// The ranks of a node that are in the share: consecutive ones.
    #[must_use]
    pub fn share_of(&self, node: u32) -> core::ops::Range<u32> {
        let (start, size) = (self.start(node), self.size(node));
        let cut = |share| start + cut(size, share, self.shares);
        cut(self.share)..cut(self.share + 1)
    }

    /// The most ranks that a node has in any share.
    #[must_use]
    pub fn largest_share(&self) -> u32 {
        self.largest().div_ceil(self.shares)
    }

    /// The rank that speaks for a node: the first in the share, or the root on the root's own.
    #[must_use]
    pub fn leader(&self, node: u32) -> u32 {
        match self.root {
            Some(root) if node == self.root_node() => root,
            _ => self.share_of(node).start,
        }
    }

    /// Whether this rank speaks for its node.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.leader(self.own()) == self.rank
    }

    /// The blocks of a node in the share, of blocks that lie rank by rank.
    #[must_use]
    pub fn blocks(&self, all: Blocks, node: u32) -> Blocks {
        let share = self.share_of(node);
        all.slice(share.start, share.len() as u32)
    }

    /// All ranks in the share, in runs of (first, how many).
    #[must_use]
    pub fn ranks_in_share(&self) -> Vec<(u32, u32)> {
        let run = |node| {
            let share = self.share_of(node);
            (share.start, share.len() as u32)
        };
        if self.shares == 1 {
            alloc::vec![(0, self.start(self.nodes()))]
        } else {
            (0..self.nodes()).map(run).collect()
        }
    }

    /// The part of a vector of `parts` units that is the share, as a run of (first, how many).
    #[must_use]
    pub fn part_in_share(&self, parts: u32) -> Vec<(u32, u32)> {
        let cut = |share| cut(parts, share, self.shares);
        alloc::vec![(cut(self.share), cut(self.share + 1) - cut(self.share))]
    }

    /// New scratch with a block for each rank of this rank's node that is in the share.
    pub fn scratch(&self, b: &mut Builder) -> Blocks {
        let share = self.share_of(self.own());
        let modulo = u32::MAX;
        let first = share.start;
        b.scratch(Units::Run { first, modulo }, share.len() as u32)
    }
}

/// Where share `share` of `shares` starts in `whole`.
pub(crate) fn cut(whole: u32, share: u32, shares: u32) -> u32 {
    (u64::from(whole) * u64::from(share) / u64::from(shares)) as u32
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
