//! Among whom: the ranks that a phase is for, as one rank sees its own group of them.

use crate::pattern::division::Division;

/// Which ranks a phase is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// Those of each node, on each node by itself; a rooted call has the leader for its root.
    Node,
    /// Those of each node that are in a share, each share by itself; a rooted call has the share's leader for its root.
    Share,
    /// The leaders of all nodes for a share; a rooted call has the leader of the root's node for its root.
    Leaders,
}

impl Among {
    /// The first rank of this rank's group, which has its ranks in a row unless it is the leaders.
    fn first(self, nodes: &Division) -> u32 {
        match self {
            Among::Node => nodes.start(nodes.own()),
            Among::Share => nodes.share_of(nodes.own()).start,
            Among::Leaders => 0,
        }
    }

    /// The number of ranks of this rank's group.
    pub(super) fn ranks(self, nodes: &Division) -> u32 {
        match self {
            Among::Node => nodes.size(nodes.own()),
            Among::Share => nodes.share_of(nodes.own()).len() as u32,
            Among::Leaders => nodes.nodes(),
        }
    }

    /// The number of ranks of the largest group.
    pub(super) fn largest(self, nodes: &Division) -> u32 {
        match self {
            Among::Node => nodes.largest(),
            Among::Share => nodes.largest_share(),
            Among::Leaders => nodes.nodes(),
        }
    }

    /// The member of the group that a rooted call has for its root.
    pub(super) fn root(self, nodes: &Division) -> u32 {
        match self {
            Among::Node | Among::Share => nodes.leader(nodes.own()) - self.first(nodes),
            Among::Leaders => nodes.root_node(),
        }
    }

    /// Which member of its group this rank is, if it is one.
    pub(super) fn member(self, nodes: &Division) -> Option<u32> {
        match self {
            Among::Node | Among::Share => {
                let member = nodes.rank().checked_sub(self.first(nodes));
                member.filter(|member| *member < self.ranks(nodes))
            }
            Among::Leaders => nodes.leads().then_some(nodes.own()),
        }
    }

    /// The rank that is a member of the group.
    pub(super) fn rank(self, nodes: &Division, member: u32) -> u32 {
        match self {
            Among::Node | Among::Share => self.first(nodes) + member,
            Among::Leaders => nodes.leader(member),
        }
    }

    /// The ranks whose blocks a member's block stands for, in a row: the first, and how many.
    pub(super) fn behind(self, nodes: &Division, member: u32) -> (u32, u32) {
        match self {
            Among::Node | Among::Share => (self.first(nodes) + member, 1),
            Among::Leaders => {
                let share = nodes.share_of(member);
                (share.start, share.len() as u32)
            }
        }
    }
}
