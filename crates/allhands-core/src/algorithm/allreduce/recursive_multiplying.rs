//! Recursive-multiplying allreduce: groups of ports + 1 ranks exchange whole vectors and combine them, and then such groups.
//!
//! Recursive doubling with more than one partner at a time: ⌈log_(k+1) p⌉ exchanges on k ports, each with k combinations. Each sum is of
//! neighbouring ranks, so that all are combined in the order of ranks. Where p is no power of k + 1, those whose partner a clipped group lacks get
//! its sum in correction steps, as in the allgather of this kind (`crates/allhands-core/src/pattern/multiplying.rs`).
//!
//! ```text
//! 9 ranks, 2 ports      0⇄1⇄2 3⇄4⇄5 6⇄7⇄8: one vector each      0⇄3⇄6 1⇄4⇄7 2⇄5⇄8: sums of three
//! ```
//!
//! Source: Ruefenacht, Bull and Booth 2017, Generalisation of recursive doubling for AllReduce; Q 5.1.2 for the corrections.

use super::BASE;
use crate::algorithm::phase::allgather::recursive_multiplying::costs;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::multiplying::Multiplying;
use crate::schedule::{Blocks, Builder, Shape};
use alloc::vec;
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "recursive-multiplying",
    citation: "Ruefenacht and others 2017",
    summary: "groups of ports + 1 exchange whole vectors and combine them",
    keys: &[Key {
        default: 3,
        ..Key::PORTS
    }],
    settings: &["", "ports=1", "ports=2"],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let pattern = Multiplying::new(b.ranks(), b.shape().radix());
    let (mut own, mut spare) = (b.input(), Vec::new());
    for level in 0..pattern.levels() {
        let sums = exchange(b, pattern, level, own, &mut spare);
        let others = sums.iter().filter(|(_, sum)| *sum != own);
        spare.extend(others.map(|(_, sum)| *sum));
        own = combine(b, own, &sums);
    }
    b.copy(own, b.output());
}

/// A sum of neighbouring ranks: the first of them, and where it is.
type Sum = (u32, Blocks);

/// The sums of all subtrees of the group, in the order of ranks; those that come go into `spare` vectors, or new ones.
fn exchange(
    b: &mut Builder,
    pattern: Multiplying,
    level: u32,
    own: Blocks,
    spare: &mut Vec<Blocks>,
) -> Vec<Sum> {
    let rank = b.rank();
    let mut sums: Vec<Sum> = vec![(pattern.held(rank, level).start, own)];
    let steps = pattern.steps();
    for step in steps.iter().filter(|step| step.level == level) {
        let mut came: Vec<Sum> = Vec::new();
        for (port, transfer) in (0..).zip(pattern.transfers(rank, *step)) {
            b.port(port);
            if let Some(range) = transfer.send {
                let sum = sums.iter().find(|(first, _)| *first == range.start);
                b.send(transfer.peer, sum.map_or(own, |(_, sum)| *sum));
            }
            if let Some(range) = transfer.receive {
                let into = spare.pop().unwrap_or_else(|| b.vector());
                b.recv(transfer.peer, into);
                came.push((range.start, into));
            }
        }
        b.step();
        sums.extend(came);
    }
    sums.sort_unstable_by_key(|(first, _)| *first);
    sums
}

/// Combines sums of ranks that follow one another; only the own one is in the input or the output, where the result is.
fn combine(b: &mut Builder, own: Blocks, sums: &[Sum]) -> Blocks {
    let output = b.output();
    let mut left = sums[0].1;
    let mut is_past = left == own;
    for (_, right) in &sums[1..] {
        is_past |= *right == own;
        let into = if is_past { output } else { left };
        b.reduce(left, *right, into);
        b.step();
        left = into;
    }
    left
}

fn claims(shape: &Shape) -> Claims {
    let (p, radix) = (shape.ranks(), shape.radix());
    let pattern = Multiplying::new(p, radix);
    let messages: Vec<(u64, u64)> = (0..p).map(|rank| pattern.messages(rank)).collect();
    let most = |of: fn(&(u64, u64)) -> u64| messages.iter().map(of).max().unwrap_or(0);
    Claims {
        ports: radix - 1,
        steps: costs(p, radix, vec![0; p as usize]).0,
        volume: most(|(sent, came)| *sent.max(came)),
        work: most(|(_, came)| *came),
    }
}
