//! PAT reduce-scatter: PAT's allgather backwards, with as few blocks in a message, from the nearest ranks to the farthest.
//!
//! Who got a block there combines what comes for it and sends the sum back. With `aggregation=1` it is p − 1 steps, with all blocks at once
//! ⌈lg p⌉; always minimal volume and work. For operators that commute. What a rank has combined for others lies in a vector of its own,
//! where NCCL's has a bounded buffer.
//!
//! ```text
//! 8 ranks, aggregation=2      i ◀─ i+1: 2 blocks      i ◀─ i+1: 2 blocks      i ◀─ i+2: 2 blocks      i ◀─ i+4: 1 block
//! ```
//!
//! Source: Jeaugey 2025, PAT: a new algorithm for all-gather and reduce-scatter operations at scale.

use super::BASE;
use crate::algorithm::phase::allgather::far_first::blocks_of;
use crate::algorithm::{Algorithm, Claims, Key, any_order};
use crate::pattern::exchange::shifted;
use crate::pattern::far_first::{Step, steps};
use crate::schedule::{Blocks, Builder, Shape, Side};
use alloc::vec;
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "pat",
    citation: "Jeaugey 2025",
    summary: "parallel aggregated trees, the nearest ranks first: few blocks in a message",
    keys: &[Key::AGGREGATION],
    settings: &["", "aggregation=1", "aggregation=65536"],
    ordered: any_order,
    build,
    claims,
    ..BASE
};

/// The allgather backwards: who got a block sends back what it has combined for it.
fn build(b: &mut Builder) {
    let (p, rank, input, output) = (b.ranks(), b.rank(), b.input(), b.output());
    let partial = if p > 2 { b.vector() } else { input };
    if p == 1 {
        b.copy(input, output);
    }
    let sums = Sums {
        p,
        rank,
        input,
        output,
        partial,
    };
    for step in steps(p, b.get("aggregation")).into_iter().rev() {
        let peers = shifted(p, rank, step.skip);
        // The last skip is the first here: with it all combine whom anything comes to.
        let is_first = step.skip == 1;
        let own = match is_first {
            true => blocks_of(input, rank, step),
            false => sums.at(step),
        };
        b.send(peers.from, sums.outgoing(step, is_first));
        b.recv_reduce(peers.to, Side::Left, own, sums.at(step));
        b.step();
    }
}

/// Where a rank has what it has combined.
struct Sums {
    p: u32,
    rank: u32,
    input: Blocks,
    /// What it has combined for itself, from the beginning.
    output: Blocks,
    /// What it has combined for others.
    partial: Blocks,
}

impl Sums {
    /// The sums for the blocks of a step; the first may be this rank's own.
    fn at(&self, step: Step) -> Vec<Blocks> {
        if step.first > 0 {
            return blocks_of(self.partial, self.rank, step);
        }
        let rest = Step {
            first: step.stride,
            count: step.count - 1,
            ..step
        };
        let mut blocks = vec![self.output];
        if rest.count > 0 {
            blocks.extend(blocks_of(self.partial, self.rank, rest));
        }
        blocks
    }

    /// What goes back in a step: sums, or the own blocks in the first step; nothing has come for the farthest rank's ever.
    fn outgoing(&self, step: Step, is_first: bool) -> Vec<Blocks> {
        let farther = Step {
            first: step.first + step.skip,
            ..step
        };
        if is_first {
            return blocks_of(self.input, self.rank, farther);
        }
        let last = farther.first + (farther.count - 1) * farther.stride;
        let is_alone = last == self.p - 1;
        let combined = Step {
            count: farther.count - u32::from(is_alone),
            ..farther
        };
        let mut blocks = Vec::new();
        if combined.count > 0 {
            blocks = blocks_of(self.partial, self.rank, combined);
        }
        if is_alone {
            blocks.push(self.input.at((self.rank + self.p - last) % self.p));
        }
        blocks
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = u64::from(shape.ranks() - 1);
    Claims {
        ports: 1,
        steps: steps(shape.ranks(), shape.get("aggregation")).len() as u32,
        volume: others,
        work: others,
    }
}
