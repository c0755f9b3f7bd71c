//! Circulant reduce-scatter: the blocks for half of the ranks go on, then those for a quarter, and so on.

use crate::pattern::circulant::{Halving, halvings};
use crate::pattern::exchange::shifted;
use crate::schedule::{Blocks, Builder, Side};

/// Circulant reduce-scatter (Träff 2024): starts from `input` and leaves the own block in `result`. Block i of `rotated`, ⌊p/2⌋ blocks of
/// scratch, is the one of rank + i.
pub fn reduce_scatter(b: &mut Builder, input: Blocks, rotated: Blocks, result: Blocks) {
    let (p, rank) = (b.ranks(), b.rank());
    if p == 1 {
        b.copy(input, result);
        b.step();
    }
    // Blocks from here on have not been combined yet and are still in the input.
    let mut fresh = 0;
    for Halving { skip, blocks } in halvings(p) {
        let peers = shifted(p, rank, skip);
        let at = |first: u32, count: u32| {
            let done = fresh.clamp(first, first + count) - first;
            let mut sets = alloc::vec![rotated.slice(first.min(fresh), done)];
            sets.extend(input.wrapped((rank + first + done) % p, count - done));
            sets
        };
        let into = if skip == 1 {
            result
        } else {
            rotated.slice(0, blocks)
        };
        b.send(peers.to, at(skip, blocks));
        b.recv_reduce(peers.from, Side::Left, at(0, blocks), into);
        b.step();
        fresh = fresh.max(blocks);
    }
}
