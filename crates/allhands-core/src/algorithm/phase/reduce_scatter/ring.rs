//! Ring phases: a reduce-scatter in which each partial result goes once round the ring of ranks, or straight where it belongs.

use crate::algorithm::Key;
use crate::algorithm::phase::reduce_scatter::pairwise;
use crate::pattern::exchange::shifted;
use crate::schedule::{Blocks, Builder, Side};

/// Combines block r of all ranks' `input` for rank r, which finds it in `partial(r)`; what a rank passes on it has in `partial` of the block.
///
/// p − 1 steps, of one block to the next rank each (Patarasuk and Yuan 2009). In no order of ranks.
pub fn reduce_scatter(b: &mut Builder, input: Blocks, partial: &dyn Fn(u32) -> Blocks) {
    let (p, rank) = (b.ranks(), b.rank());
    if p == 1 {
        b.copy(input, partial(rank));
        b.step();
    }
    let peers = shifted(p, rank, 1);
    // Block r begins at the rank behind r, so that it ends there.
    let back = |count: u32| (rank + p - count) % p;
    for step in 1..p {
        let (outgoing, incoming) = (back(step), back((step + 1) % p));
        let sum = match step {
            1 => input.at(outgoing),
            _ => partial(outgoing),
        };
        b.send(peers.to, sum);
        b.recv_reduce(
            peers.from,
            Side::Left,
            input.at(incoming),
            partial(incoming),
        );
        b.step();
    }
}

/// Reduce-scatter of `input` into this rank's block of `result`, as the key `reduce-scatter` says; the other blocks are room.
pub fn reduce_scatter_by_key(b: &mut Builder, input: Blocks, result: Blocks) {
    match b.get(Key::REDUCE_SCATTER.name) {
        0 => pairwise::reduce_scatter(b, input, result.at(b.rank())),
        _ => reduce_scatter(b, input, &|block| result.at(block)),
    }
}
