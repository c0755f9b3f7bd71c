//! A member: a rank with its node's window, what it writes there and to other windows, and what it copies out.

use crate::algorithm::phase::shared_memory::window;
use crate::pattern::division::Division;
use crate::schedule::{Blocks, Builder};
use alloc::vec::Vec;

/// A message from a leader to another, window to window: the blocks of its own node and of those that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// How many nodes back it goes, below the number of nodes.
    pub distance: u32,
    /// The blocks of so many nodes.
    pub nodes: u32,
}

/// The passages of each step, all of which have the same for all leaders; within a step their distances differ.
pub type Steps = Vec<Vec<Passage>>;

/// The flags of a node; each is at the leader.
pub(super) struct Flags {
    /// Raised by each rank of the node whose block is in the window.
    pub(super) full: u16,
    /// Raised by the leader when the node's ranks may fill the window again.
    pub(super) free: u16,
    /// Raised by each rank of the node but the leader that has copied everything out.
    pub(super) read: u16,
    /// Raised by each leader into whose window this one writes, when that may be.
    pub(super) open: u16,
    /// Of each step, raised by each leader who has written into the window.
    pub(super) arrived: Vec<u16>,
}

/// A rank with its node and the window of its leader.
pub(super) struct Member {
    node: Division,
    pub(super) leader: u32,
    pub(super) window: Blocks,
    pub(super) flags: Flags,
    pub(super) steps: Steps,
}

impl Member {
    /// This rank, where ranks of a node share memory, with the steps of so many nodes.
    pub(super) fn new(b: &mut Builder, steps: impl Fn(u32) -> Steps) -> Member {
        let sizes = b.shape().nodes.innermost(b.ranks());
        let node = Division::of_sizes(b.rank(), &sizes);
        let steps = steps(node.nodes());
        let passages = steps.iter().flatten().count() as u32;
        Member {
            leader: node.leader(node.own()),
            node,
            window: window::vector(b),
            flags: Flags {
                full: b.flag(0),
                free: b.flag(1),
                read: b.flag(0),
                open: b.flag(passages),
                arrived: steps.iter().map(|_| b.flag(0)).collect(),
            },
            steps,
        }
    }

    pub(super) fn size(&self) -> u32 {
        self.node.size(self.node.own())
    }

    /// The places of some ranks' blocks in the window, from those of `node` on.
    fn places(&self, node: u32, nodes: u32) -> [Blocks; 2] {
        let (p, all, first) = (
            self.window.count(),
            self.node.nodes(),
            self.node.start(node),
        );
        let end = self.node.start((node + nodes) % all);
        let count = if nodes == all {
            p
        } else {
            (end + p - first) % p
        };
        self.window.wrapped(first, count)
    }

    /// Copies blocks out of the leader's window, each by itself to its place (Q 5.2.2): those of the `count` ranks from `first`
    /// on, but for the own.
    pub(super) fn copy_out(&self, b: &mut Builder, first: u32, count: u32) {
        let (rank, p, output) = (b.rank(), b.ranks(), b.output());
        let others = (0..count).map(|at| (first + at) % p);
        for at in others.filter(|at| *at != rank) {
            if rank == self.leader {
                b.copy(self.window.at(at), output.at(at));
            } else {
                b.get_from(self.leader, self.window.at(at), output.at(at));
            }
        }
    }

    /// Copies out what all other nodes have.
    pub(super) fn copy_rest_out(&self, b: &mut Builder) {
        let size = self.size();
        self.copy_out(b, self.leader + size, b.ranks() - size);
        b.step();
    }

    /// The messages of a step, each followed by its flag.
    pub(super) fn put(&self, b: &mut Builder, number: usize, passages: &[Passage], ports: u32) {
        let (own, all) = (self.node.own(), self.node.nodes());
        for (port, passage) in passages.iter().enumerate() {
            let to = self.node.leader((own + all - passage.distance) % all);
            let places = self.places(own, passage.nodes);
            b.port(port as u32 % ports);
            b.put(to, places, places);
            b.notify(to, self.flags.arrived[number]);
        }
    }

    /// When all have copied out, the window may be written again: by the node's ranks, and by the leaders that write into it.
    pub(super) fn give_back(&self, b: &mut Builder) {
        let (rank, flags) = (b.rank(), &self.flags);
        if self.size() > 1 {
            b.wait(flags.read, self.size() - 1);
            b.step();
            b.notify(rank, flags.free);
        }
        for passage in self.steps.iter().flatten() {
            let writer = (self.node.own() + passage.distance) % self.node.nodes();
            b.notify(self.node.leader(writer), flags.open);
        }
    }
}
