//! An all-gather among nodes: each node's blocks gathered in its leader's window, exchanged between windows, copied out by all.
//!
//! ```text
//! 2 nodes of 2      1: put into 0's window   3: into 2's      0 ⇄ 2, window to window; meanwhile all copy out what is their
//!                   node's own      when the rest is there, all copy that out
//! ```
//!
//! A leader writes from its own window into the same places of another's, and each rank copies out to the right places: nothing
//! is shifted.
//!
//! Source: Q 5.2.2, figure 8.

use crate::algorithm::Claims;

use crate::algorithm::phase::shared_memory::window;
use crate::pattern::division::Division;
use crate::schedule::{Blocks, Builder, Shape};
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
struct Flags {
    /// Raised by each rank of the node whose block is in the window.
    full: u16,
    /// Raised by the leader when the node's ranks may fill the window again.
    free: u16,
    /// Raised by each rank of the node but the leader that has copied everything out.
    read: u16,
    /// Raised by each leader into whose window this one writes, when that may be.
    open: u16,
    /// Of each step, raised by each leader who has written into the window.
    arrived: Vec<u16>,
}

/// A rank with its node and the window of its leader.
struct Member {
    node: Division,
    leader: u32,
    window: Blocks,
    flags: Flags,
    steps: Steps,
}

/// The nodes whose ranks share memory.
#[must_use]
pub fn division(b: &Builder) -> Division {
    Division::of_sizes(b.rank(), &b.shape().nodes.innermost(b.ranks()))
}

/// The whole all-gather: gathers the node's blocks, takes the steps, copies out.
pub fn allgather(b: &mut Builder, steps: impl Fn(u32) -> Steps, ports: u32) {
    let node = division(b);
    let steps = steps(node.nodes());
    let passages = steps.iter().flatten().count() as u32;
    let window = window::vector(b);
    let flags = Flags {
        full: b.flag(0),
        free: b.flag(1),
        read: b.flag(0),
        open: b.flag(passages),
        arrived: steps.iter().map(|_| b.flag(0)).collect(),
    };
    let (input, own) = (b.input(), b.output().at(b.rank()));
    b.copy(input, own);
    let member = Member {
        leader: node.leader(node.own()),
        node,
        window,
        flags,
        steps,
    };
    if member.leader == b.rank() {
        member.lead(b, ports);
    } else {
        member.follow(b);
    }
}

impl Member {
    fn size(&self) -> u32 {
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
    fn copy_out(&self, b: &mut Builder, first: u32, count: u32) {
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
    fn copy_rest_out(&self, b: &mut Builder) {
        let size = self.size();
        self.copy_out(b, self.leader + size, b.ranks() - size);
        b.step();
    }

    /// A rank that is no leader.
    fn follow(&self, b: &mut Builder) {
        let (rank, size, input) = (b.rank(), self.size(), b.input());
        let (leader, flags) = (self.leader, &self.flags);
        b.watch(leader, flags.free, 1);
        b.step();
        b.put(leader, input, self.window.at(rank));
        b.notify(leader, flags.full);
        b.step();
        b.watch(leader, flags.full, size);
        b.step();
        self.copy_out(b, leader, size);
        b.step();
        for (arrived, passages) in flags.arrived.iter().zip(&self.steps) {
            b.watch(leader, *arrived, passages.len() as u32);
        }
        b.step();
        self.copy_rest_out(b);
        b.notify(leader, flags.read);
    }

    /// A leader: while its first messages are under way it copies out what is its node's own.
    fn lead(&self, b: &mut Builder, ports: u32) {
        let (rank, size, flags, input) = (b.rank(), self.size(), &self.flags, b.input());
        b.copy(input, self.window.at(rank));
        b.step();
        if size > 1 {
            b.notify(rank, flags.full);
            b.wait(flags.full, size);
        }
        b.wait(flags.open, self.steps.iter().flatten().count() as u32);
        b.step();
        for (number, passages) in self.steps.iter().enumerate() {
            self.put(b, number, passages, ports);
            if number == 0 {
                self.copy_out(b, rank, size);
            }
            b.step();
            b.wait(flags.arrived[number], passages.len() as u32);
            b.step();
        }
        if self.steps.is_empty() {
            self.copy_out(b, rank, size);
        }
        self.copy_rest_out(b);
        self.give_back(b);
    }

    /// The messages of a step, each followed by its flag.
    fn put(&self, b: &mut Builder, number: usize, passages: &[Passage], ports: u32) {
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
    fn give_back(&self, b: &mut Builder) {
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

/// What it costs: a leader puts its node's blocks, and those that have come to it, where the steps say, and each other rank of its
/// node gets all but its own from its window. Ports at most, what is copied out at once, at the end all blocks of other nodes; steps
/// at most, three rounds on a node, to fill, copy out and say so, and one a step.
#[must_use]
pub fn claims(shape: &Shape, steps: impl Fn(u32) -> Steps) -> Claims {
    let sizes = shape.nodes.innermost(shape.ranks());
    let alone = sizes.iter().all(|size| *size == 1);
    let steps = steps(sizes.len() as u32);
    let others = u64::from(shape.ranks() - 1);
    let volume = |(node, size): (usize, &u32)| {
        let from_node = sizes.iter().cycle().skip(node);
        let carried = |p: &Passage| from_node.clone().take(p.nodes as usize).sum::<u32>();
        let put: u32 = steps.iter().flatten().map(carried).sum();
        u64::from(size - 1) * others + u64::from(put)
    };
    let among_nodes = steps.len() as u32;
    Claims {
        ports: shape.ranks() - 1,
        steps: if alone { among_nodes } else { 3 + among_nodes },
        volume: sizes.iter().enumerate().map(volume).max().unwrap_or(0),
        work: 0,
    }
    .with_steps_at_most()
}

#[cfg(test)]
mod tests {
    use crate::algorithm::find;
    use crate::call::{Call, Collective};
    use crate::machine::Nodes;
    use crate::symbolic::Law;
    use crate::verify::verify_world;

    /// Flags `full`, `free`, `read`, `open` are those with numbers 0 to 3.
    fn proof_with_credit(name: &str, flag: usize) -> Result<(), Law> {
        let call = Call::new(Collective::Allgather, 6);
        let algorithm = find(Collective::Allgather, name).expect("it is there");
        let shape = algorithm.shape(call, "").expect("the default is right");
        let mut schedules = algorithm.world(&shape.on(Nodes::even(3, 2)));
        for schedule in &mut schedules {
            schedule.credits[flag] += 2;
        }
        let proof = verify_world(&call, &schedules, true);
        proof.map(|_| ()).map_err(|failure| failure.law)
    }

    #[test]
    fn a_window_that_is_written_too_early_is_caught() {
        for name in ["smp-direct", "smp-bruck"] {
            for flag in 0..4 {
                let proof = proof_with_credit(name, flag);
                assert!(proof.is_err(), "{name}, flag {flag}");
            }
            assert_eq!(proof_with_credit(name, 3), Err(Law::Window), "{name}");
        }
    }
}
