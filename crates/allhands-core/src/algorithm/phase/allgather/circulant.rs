//! Circulant allgather: every position gets what those have that are a skip away, and skips double.

use crate::algorithm::phase::allgather::circle::Circle;
use crate::pattern::circulant::halvings;
use crate::pattern::exchange::shifted;
use crate::schedule::{Blocks, Builder};
use alloc::vec::Vec;

/// Circulant graph: skips double, rounded so that the last round takes just what is missing; ⌈lg n⌉ steps, n − 1 blocks (Träff 2024).
pub fn allgather(b: &mut Builder, circle: &Circle<'_>) {
    let (n, me) = (circle.size, circle.position);
    for round in halvings(n).rev() {
        let peers = shifted(n, me, round.skip);
        b.send(
            (circle.rank_at)(peers.from),
            circle.around(me, round.blocks),
        );
        let arriving = blocks_around(circle, me + round.skip, round.blocks);
        b.recv((circle.rank_at)(peers.to), arriving);
        b.step();
    }
}

fn blocks_around(circle: &Circle<'_>, first: u32, count: u32) -> Vec<Blocks> {
    let first = first % circle.size;
    let until_end = count.min(circle.size - first);
    let mut blocks = (circle.blocks)(first..first + until_end);
    if count > until_end {
        blocks.extend((circle.blocks)(0..count - until_end));
    }
    blocks
}
