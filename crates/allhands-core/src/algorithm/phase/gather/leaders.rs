//! The leaders of a gather among nodes: which ranks each has blocks of, and the tree up which these go.
//!
//! Positions are nodes counted round from the root's, so what a subtree has is of consecutive ranks, counted round.
//!
//! ```text
//! nodes of 2, 3, 1 and 2 ranks, root 6      positions: 6 7 │ 0 1 │ 2 3 4 │ 5      in a binomial tree leader 2 has the block of 5
//! ```
//!
//! Source: Q 3.1, 5.2.1.

use crate::algorithm::phase::tree::Group;
use crate::algorithm::{Key, Sharing, Values};
use crate::pattern::division::Division;
use crate::pattern::knomial::KnomialTree;
use crate::schedule::{Builder, Shape};
use alloc::vec;
use alloc::vec::Vec;

/// `inter`: what gathers among the leaders, all at once or up a (k+1)-nomial tree.
pub const INTER: Key = Key::inter(&["direct", "binomial"]);

/// `intra`: what gathers on a node.
pub const INTRA: Key = Key {
    name: "intra",
    values: Values::Names(&["shared-memory", "messages"]),
    default: 0,
    about: "how a node gathers: in its leader's window, or every rank is a node of its own",
};

/// The nodes, and the tree over their leaders.
pub struct Leaders {
    /// The nodes as this rank sees them; the root leads its own.
    pub node: Division,
    tree: KnomialTree,
    ports: u32,
}

impl Leaders {
    /// Those of a call, as its keys `inter`, `ports` and, where it has that, `intra` say.
    #[must_use]
    pub fn new(b: &Builder) -> Leaders {
        let (shape, call) = (b.shape(), b.call());
        let (sizes, tree, ports) = parts(shape);
        let root = call.collective.rooted().then_some(call.root);
        Leaders {
            node: Division::of_sizes(b.rank(), &sizes).with_root(root),
            tree,
            ports,
        }
    }

    /// The node at a position of the tree, whose root is the root's node.
    fn node_at(&self, position: u32) -> u32 {
        (position + self.node.root_node()) % self.node.nodes()
    }

    /// The position of this rank's node: 0 is the root's.
    pub(super) fn position(&self) -> u32 {
        let nodes = self.node.nodes();
        (self.node.own() + nodes - self.node.root_node()) % nodes
    }

    /// The first rank at some positions, and how many there are, counted round from the last rank to the first.
    pub(super) fn ranks(&self, first: u32, positions: u32) -> (u32, u32) {
        let sizes = (first..first + positions).map(|at| self.node.size(self.node_at(at)));
        (self.node.start(self.node_at(first)), sizes.sum())
    }

    /// The ranks whose blocks this leader has from others: the first, and how many.
    #[must_use]
    pub fn below(&self) -> (u32, u32) {
        let subtree = self.tree.subtree(self.position());
        let others = self.ranks(subtree.start + 1, subtree.len() as u32 - 1);
        if others.1 == 0 { (0, 0) } else { others }
    }

    /// The leader of the node at a position.
    pub(super) fn leader_at(&self, position: u32) -> u32 {
        self.node.leader(self.node_at(position))
    }

    /// The tree with this rank's place in it, if it leads.
    pub(super) fn group<'a>(&self, leader_at: &'a dyn Fn(u32) -> u32) -> Group<'a> {
        Group {
            tree: self.tree,
            position: self.position(),
            rank_at: leader_at,
            ports: self.ports,
        }
    }
}

/// Which ranks must share memory: those of a node that gathers in a window.
#[must_use]
pub fn sharing(shape: &Shape) -> Sharing {
    match shape.get(INTRA.name) {
        0 => Sharing::Nodes,
        _ => Sharing::Nobody,
    }
}

/// The sizes of the nodes, the tree over them, and its ports.
pub(super) fn parts(shape: &Shape) -> (Vec<u32>, KnomialTree, u32) {
    let sizes = match shape.get(INTRA.name) {
        0 => shape.nodes.innermost(shape.ranks()),
        _ => vec![1; shape.ranks() as usize],
    };
    let nodes = sizes.len() as u32;
    // All at once is a tree of one level.
    let (radix, ports) = match shape.get(INTER.name) {
        0 => (nodes.max(2), nodes),
        _ => (shape.ports() + 1, shape.ports()),
    };
    (sizes, KnomialTree::new(nodes, radix), ports)
}
