//! Pairwise reduce-scatter: every rank meets every other once, and combines what is its own.

use crate::pattern::exchange::shifted;
use crate::schedule::{Blocks, Builder, Side};

/// Pairwise reduce-scatter: in step i the block of rank + i goes there, and what comes from rank − i is combined (T 4.4, 5.3).
///
/// The own block of `input` is combined into `sum`, one block.
pub fn reduce_scatter(b: &mut Builder, input: Blocks, sum: Blocks) {
    let (p, rank) = (b.ranks(), b.rank());
    let mut own = input.at(rank);
    for step in 1..p {
        let peers = shifted(p, rank, step);
        b.send(peers.to, input.at(peers.to));
        b.recv_reduce(peers.from, Side::Left, own, sum);
        b.step();
        own = sum;
    }
    b.copy(own, sum);
}
