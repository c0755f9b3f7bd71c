//! A gather among nodes: each node in its leader's window, and from the windows up a tree of leaders to the root.
//!
//! What the ranks of a node have written leaves its leader's window as it lies there; only the root copies, out of its own.
//!
//! ```text
//! 3 nodes of 2, root 0, direct      1: put into 0's window   3: into 2's   5: into 4's      2 ─▶ 0, 4 ─▶ 0: 2 blocks each
//! ```
//!
//! Source: Q 3.1, 5.2.1, figure 7.

use crate::algorithm::phase::shared_memory::window::{self, Turns};
use crate::algorithm::phase::tree::{Group, steps, walk};
use crate::algorithm::{Claims, Key, Sharing, Values};
use crate::pattern::division::Division;
use crate::pattern::knomial::KnomialTree;
use crate::schedule::{Blocks, Builder, Shape};
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

    /// The position of this rank's node.
    fn position(&self) -> u32 {
        let nodes = self.node.nodes();
        (self.node.own() + nodes - self.node.root_node()) % nodes
    }

    /// The first rank at some positions, and how many there are, counted round from the last rank to the first.
    fn ranks(&self, first: u32, positions: u32) -> (u32, u32) {
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

    /// The whole gather. `places` says where the blocks of so many ranks, from one on, counted round, lie on a leader: of those
    /// [`Leaders::below`] it and, on the root, of its own node.
    pub fn gather(&self, b: &mut Builder, places: &dyn Fn(u32, u32) -> Vec<Blocks>) {
        let (gathered, turns) = self.gather_node(b, places);
        if !self.node.leads() {
            return;
        }
        let (first, count) = self.below();
        let own: Vec<Blocks> = match count {
            0 => gathered,
            _ => gathered.into_iter().chain(places(first, count)).collect(),
        };
        let leader = |position| self.node.leader(self.node_at(position));
        let group = Group {
            tree: self.tree,
            position: self.position(),
            rank_at: &leader,
            ports: self.ports,
        };
        walk::up(b, &group, &own, &|edge| {
            let (first, count) = self.ranks(edge.child, edge.size);
            places(first, count)
        });
        b.step();
        if self.node.size(self.node.own()) > 1 {
            turns.give_back(b);
        }
    }

    /// The node's blocks at its leader, in their places on the root and in the window elsewhere; and the turns of that window.
    fn gather_node(
        &self,
        b: &mut Builder,
        places: &dyn Fn(u32, u32) -> Vec<Blocks>,
    ) -> (Vec<Blocks>, Turns) {
        let (node, rank, input) = (&self.node, b.rank(), b.input());
        let own = node.own();
        let (leader, start, size) = (node.leader(own), node.start(own), node.size(own));
        let window = window::vector(b);
        let turns = Turns::new(b, [leader, leader], 1);
        let of_node = node.blocks(window, own);
        if rank != leader {
            turns.take(b);
            b.put(leader, input, window.at(rank));
            turns.filled(b);
            b.step();
            return (vec![], turns);
        }
        let is_root = self.position() == 0;
        match is_root {
            true => b.copy(input, places(rank, 1)),
            false if size == 1 => return (vec![input], turns),
            false => b.copy(input, window.at(rank)),
        }
        if size > 1 {
            turns.wait_full(b, size - 1);
        }
        b.step();
        if is_root {
            for (first, end) in [(start, rank), (rank + 1, start + size)] {
                let from = window.slice(first, end - first);
                b.copy(from, places(first, end - first));
            }
            b.step();
        }
        (vec![of_node], turns)
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
fn parts(shape: &Shape) -> (Vec<u32>, KnomialTree, u32) {
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

/// What it costs: the root gets all blocks but its own. Ports and steps at most: a round on the nodes, and those of the tree.
#[must_use]
pub fn claims(shape: &Shape) -> Claims {
    let (sizes, tree, ports) = parts(shape);
    let largest = sizes.iter().copied().max().unwrap_or(1);
    Claims {
        ports: ports.max(largest - 1),
        steps: u32::from(largest > 1) + steps::up(tree, ports),
        volume: u64::from(shape.ranks() - 1),
        work: 0,
    }
    .with_steps_at_most()
}
