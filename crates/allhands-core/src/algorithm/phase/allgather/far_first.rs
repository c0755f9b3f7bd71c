//! Far-first allgather: the farthest ranks are served first.

use crate::pattern::exchange::shifted;
use crate::pattern::far_first::{Step, steps};
use crate::schedule::{Blocks, Builder};
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
pub fn blocks_of(vector: Blocks, holder: u32, step: Step) -> Vec<Blocks> {
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
