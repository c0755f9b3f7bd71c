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

mod member;

use crate::algorithm::Claims;
use crate::schedule::{Builder, Shape};
use member::Member;

pub use member::{Passage, Steps};

/// The whole all-gather: gathers the node's blocks, takes the steps, copies out.
pub fn allgather(b: &mut Builder, steps: impl Fn(u32) -> Steps, ports: u32) {
    let member = Member::new(b, steps);
    let (input, own) = (b.input(), b.output().at(b.rank()));
    b.copy(input, own);
    if member.leader == b.rank() {
        member.lead(b, ports);
    } else {
        member.follow(b);
    }
}

impl Member {
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
