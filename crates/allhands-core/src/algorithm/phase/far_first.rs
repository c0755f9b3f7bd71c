//! Far-first phases: an allgather that serves the farthest ranks first, and the reduce-scatter that is its mirror.

use crate::pattern::exchange::shifted;
use crate::pattern::far_first::{Step, steps};
use crate::schedule::{Blocks, Builder, Side};
use alloc::vec::Vec;

/// `count` blocks of a vector: that of `first`, and of each `stride` ranks before the last one, counted round.
fn backwards(of: Blocks, first: u32, stride: u32, count: u32) -> Vec<Blocks> {
    let before_end = count.min(first / stride + 1);
    let run = |first: u32, count: u32| {
        Blocks::strided(of.space, of.first + first, 1, -(stride as i32), count)
    };
    let mut runs = Vec::from([run(first, before_end)]);
    if count > before_end {
        runs.push(run(
            first + of.run - before_end * stride,
            count - before_end,
        ));
    }
    runs
}

/// The blocks of a step as `holder`, who has them that far back, finds them in a vector.
fn blocks_of(vector: Blocks, holder: u32, step: Step) -> Vec<Blocks> {
    let first = (holder + vector.run - step.first) % vector.run;
    backwards(vector, first, step.stride, step.count)
}

/// Allgather of `input` into `output`, at most `most` blocks in a message.
pub fn allgather(b: &mut Builder, most: u32) {
    let (p, rank, input, output) = (b.ranks(), b.rank(), b.input(), b.output());
    b.copy(input, output.at(rank));
    for step in steps(p, most) {
        let peers = shifted(p, rank, step.skip);
        match step {
            Step {
                first: 0, count: 1, ..
            } => b.send(peers.to, input),
            _ => b.send(peers.to, blocks_of(output, rank, step)),
        }
        b.recv(peers.from, blocks_of(output, peers.from, step));
        b.step();
    }
}

/// Reduce-scatter of `input` into `output`, the allgather backwards: who got a block sends back what it has combined for it.
pub fn reduce_scatter(b: &mut Builder, most: u32) {
    let (p, rank, input, output) = (b.ranks(), b.rank(), b.input(), b.output());
    let partial = if p > 2 { b.vector() } else { input };
    if p == 1 {
        b.copy(input, output);
    }
    for step in steps(p, most).into_iter().rev() {
        let peers = shifted(p, rank, step.skip);
        // The last skip is the first here: with it all combine whom anything comes to.
        let is_first = step.skip == 1;
        let farther = Step {
            first: step.first + step.skip,
            ..step
        };
        let last = farther.first + (farther.count - 1) * farther.stride;
        let alone = u32::from(last == p - 1);
        let combined = Step {
            count: farther.count - alone,
            ..farther
        };
        let mut outgoing = Vec::new();
        if is_first {
            outgoing = blocks_of(input, rank, farther);
        } else {
            if combined.count > 0 {
                outgoing = blocks_of(partial, rank, combined);
            }
            if alone > 0 {
                outgoing.push(input.at((rank + p - last) % p));
            }
        }
        b.send(peers.from, outgoing);
        // What is combined for this rank itself, the first block if it is among them, is in the output from the beginning.
        let mine = || {
            if step.first > 0 {
                return blocks_of(partial, rank, step);
            }
            let rest = Step {
                first: step.stride,
                count: step.count - 1,
                ..step
            };
            let mut blocks = Vec::from([output]);
            if rest.count > 0 {
                blocks.extend(blocks_of(partial, rank, rest));
            }
            blocks
        };
        let own = match is_first {
            true => blocks_of(input, rank, step),
            false => mine(),
        };
        b.recv_reduce(peers.to, Side::Left, own, mine());
        b.step();
    }
}
