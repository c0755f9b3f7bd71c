//! An all-gather among nodes: each node's blocks gathered in its leader's window, exchanged between windows, copied out by all.
//!
//! ```text
//! 2 nodes of 2      1: put into 0's window   3: into 2's      0 ⇄ 2, window to window; meanwhile all copy out what is their
//!                   node's own      when the rest is there, all copy that out
//! ```
//!
//! A leader writes from its own window into the same places of another's, or sends from there to there, and each rank copies out to
//! the right places: nothing is shifted. Where leaders send, windows are memory of one node alone.
//!
//! Source: Q 5.2.2, figure 8.

mod claims;
mod member;

use crate::algorithm::{Key, Sharing, Values};
use crate::schedule::{Builder, Shape};
use member::Member;

pub use claims::claims;
pub use member::{Passage, Steps};

/// `between`: how what a node has gathered comes to another.
pub const BETWEEN: Key = Key {
    name: "between",
    values: Values::Names(&["puts", "messages"]),
    default: 0,
    about: "how blocks go from a leader's window to another's: put there, or sent, where the network has no puts",
};

/// `overlap`: what a rank copies out while blocks of other nodes are under way.
pub const OVERLAP: Key = Key {
    name: "overlap",
    values: Values::Names(&["own", "all"]),
    default: 0,
    about: "what is copied out while blocks are under way: the own node's, or also what the step before has brought",
};

/// Which ranks must share memory: those of a node; leaders may put into windows of others.
#[must_use]
pub fn sharing(shape: &Shape) -> Sharing {
    match shape.get(BETWEEN.name) {
        0 => Sharing::Windows,
        _ => Sharing::Nodes,
    }
}

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
            b.watch(leader, *arrived, self.arrivals(passages));
            if self.overlaps {
                b.step();
                self.copy_brought_out(b, passages);
                b.step();
            }
        }
        b.step();
        if !self.overlaps {
            self.copy_rest_out(b);
        }
        b.notify(leader, flags.read);
    }

    /// A leader: while its messages are under way it copies out what is its node's own, and what has come before.
    fn lead(&self, b: &mut Builder, ports: u32) {
        let (rank, size, flags, input) = (b.rank(), self.size(), &self.flags, b.input());
        b.copy(input, self.window.at(rank));
        b.step();
        if size > 1 {
            b.notify(rank, flags.full);
            b.wait(flags.full, size);
        }
        if let Some(open) = flags.open {
            b.wait(open, self.steps.iter().flatten().count() as u32);
        }
        b.step();
        for (number, passages) in self.steps.iter().enumerate() {
            self.pass(b, number, passages, ports);
            match number {
                0 => self.copy_out(b, rank, size),
                _ if self.overlaps => self.copy_brought_out(b, &self.steps[number - 1]),
                _ => {}
            }
            b.step();
            self.tell(b, number, passages);
        }
        match self.steps.last() {
            None => self.copy_out(b, rank, size),
            Some(last) if self.overlaps => self.copy_brought_out(b, last),
            Some(_) => self.copy_rest_out(b),
        }
        b.step();
        self.give_back(b);
    }
}

#[cfg(test)]
mod tests {
    use crate::algorithm::find;
    use crate::call::{Call, Collective};
    use crate::machine::Nodes;
    use crate::symbolic::Law;
    use crate::verify::verify_world;

    /// Flags `full`, `free`, `read`, and, where leaders put, `open` are those with numbers 0 to 3.
    fn proof_with_credit((name, parameters): (&str, &str), flag: usize) -> Result<(), Law> {
        let call = Call::new(Collective::Allgather, 9);
        let algorithm = find(Collective::Allgather, name).expect("it is there");
        let shape = algorithm.shape(call, parameters).expect("it has the keys");
        let mut schedules = algorithm.world(&shape.on(Nodes::even(3, 3)));
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
                let proof = proof_with_credit((name, ""), flag);
                assert!(proof.is_err(), "{name}, flag {flag}");
            }
            assert_eq!(proof_with_credit((name, ""), 3), Err(Law::Window), "{name}");
            for flag in 0..3 {
                for parameters in ["between=messages", "between=messages,overlap=all"] {
                    let proof = proof_with_credit((name, parameters), flag);
                    assert!(proof.is_err(), "{name}:{parameters}, flag {flag}");
                }
            }
        }
    }
}
