//! A member: a rank with its node's window, what goes from there to other windows, and what it copies out.

use super::{BETWEEN, OVERLAP};
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
    /// Raised by each leader into whose window this one puts, when that may be.
    pub(super) open: Option<u16>,
    /// Of each step, raised by each leader who has put into the window, or by its own, when all messages are there.
    pub(super) arrived: Vec<u16>,
}

/// A rank with its node and the window of its leader.
pub(super) struct Member {
    node: Division,
    pub(super) leader: u32,
    pub(super) window: Blocks,
    pub(super) flags: Flags,
    pub(super) steps: Steps,
    /// Whether what has come is copied out while more is under way.
    pub(super) overlaps: bool,
}

impl Member {
    /// This rank, where ranks of a node share memory, with the steps of so many nodes.
    pub(super) fn new(b: &mut Builder, steps: impl Fn(u32) -> Steps) -> Member {
        let sizes = b.shape().nodes.innermost(b.ranks());
        let node = Division::of_sizes(b.rank(), &sizes);
        let steps = steps(node.nodes());
        let passages = steps.iter().flatten().count() as u32;
        let puts = b.get(BETWEEN.name) == 0;
        Member {
            leader: node.leader(node.own()),
            node,
            window: window::vector(b),
            flags: Flags {
                full: b.flag(0),
                free: b.flag(1),
                read: b.flag(0),
                open: puts.then(|| b.flag(passages)),
                arrived: steps.iter().map(|_| b.flag(0)).collect(),
            },
            steps,
            overlaps: b.get(OVERLAP.name) > 0,
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

    /// Copies out what a step has brought.
    pub(super) fn copy_brought_out(&self, b: &mut Builder, passages: &[Passage]) {
        let (own, all, p) = (self.node.own(), self.node.nodes(), b.ranks());
        for passage in passages {
            let first = (own + passage.distance) % all;
            let end = self.node.start((first + passage.nodes) % all);
            let first = self.node.start(first);
            self.copy_out(b, first, (end + p - first) % p);
        }
    }

    /// How often a flag is raised to say that what a step brings is there.
    pub(super) fn arrivals(&self, passages: &[Passage]) -> u32 {
        match self.flags.open {
            Some(_) => passages.len() as u32,
            None => 1,
        }
    }

    /// What a step passes on: puts, each followed by its flag, or messages both ways, from window to window.
    pub(super) fn pass(&self, b: &mut Builder, number: usize, passages: &[Passage], ports: u32) {
        let (own, all) = (self.node.own(), self.node.nodes());
        for (port, passage) in passages.iter().enumerate() {
            let to = self.node.leader((own + all - passage.distance) % all);
            let places = self.places(own, passage.nodes);
            b.port(port as u32 % ports);
            if self.flags.open.is_some() {
                b.put(to, places, places);
                b.notify(to, self.flags.arrived[number]);
            } else {
                let from = (own + passage.distance) % all;
                b.send(to, places);
                b.recv(self.node.leader(from), self.places(from, passage.nodes));
            }
        }
    }

    /// A leader sees that what a step brings is there, or has received it and says so.
    pub(super) fn tell(&self, b: &mut Builder, number: usize, passages: &[Passage]) {
        let arrived = self.flags.arrived[number];
        if self.flags.open.is_some() {
            b.wait(arrived, passages.len() as u32);
        } else if self.size() > 1 {
            b.notify(b.rank(), arrived);
        }
        b.step();
    }

    /// When all have copied out, the window may be written again: by the node's ranks, and by the leaders that put into it.
    pub(super) fn give_back(&self, b: &mut Builder) {
        let (rank, flags) = (b.rank(), &self.flags);
        if self.size() > 1 {
            b.wait(flags.read, self.size() - 1);
            b.step();
            b.notify(rank, flags.free);
        }
        let Some(open) = flags.open else {
            return;
        };
        for passage in self.steps.iter().flatten() {
            let writer = (self.node.own() + passage.distance) % self.node.nodes();
            b.notify(self.node.leader(writer), open);
        }
    }
}
