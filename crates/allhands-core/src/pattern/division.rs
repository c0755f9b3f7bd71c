//! The division of ranks into nodes, with the leaders of each, as one rank sees it.

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

    /// The same nodes, whose data is divided in so many shares, for the one that this rank is in.
    #[must_use]
    pub fn in_shares(self, shares: u32) -> Division {
        let division = Division { shares, ..self };
        let own = division.own();
        let is_in = |division: &Division| division.share_of(own).contains(&division.rank);
        let mut all = (0..shares).map(|share| division.of_share(share));
        all.find(is_in).unwrap_or_else(|| division.of_share(0))
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
}

/// Where share `share` of `shares` starts in `whole`.
pub(crate) fn cut(whole: u32, share: u32, shares: u32) -> u32 {
    (u64::from(whole) * u64::from(share) / u64::from(shares)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_in_one_share_whose_leader_is_on_its_node() {
        for sizes in [&[1][..], &[6], &[3, 1, 2], &[5, 7, 4]] {
            let (ranks, smallest) = (sizes.iter().sum(), sizes.iter().min());
            for shares in 1..=*smallest.unwrap_or(&1) {
                for root in [None, Some(ranks - 1)] {
                    let of = |rank| Division::of_sizes(rank, sizes).with_root(root);
                    let mut leaders = Vec::new();
                    for rank in 0..ranks {
                        let own = of(rank).in_shares(shares);
                        let node = own.own();
                        assert!(own.share_of(node).contains(&rank), "{own:?}");
                        assert_eq!(own.node_of(own.leader(node)), node, "{own:?}");
                        leaders.extend(own.leads().then_some(rank));
                    }
                    if shares == 1 {
                        assert_eq!(leaders.len(), sizes.len(), "{sizes:?}, {root:?}");
                    }
                    let count = |share| of(0).in_shares(shares).of_share(share).ranks_in_share();
                    let runs = (0..shares).flat_map(count);
                    assert_eq!(runs.map(|(_, count)| count).sum::<u32>(), ranks);
                }
            }
        }
    }
}
