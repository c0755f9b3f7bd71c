//! Binary-blocks reduce: the ranks stand in blocks of powers of two, which reduce on their own and then hand segments to their neighbours.
//!
//! Each block does a reduce-scatter by vector halving and distance doubling; from the smallest on, its ranks send parts of their segments to the
//! next larger block. The ranks of the largest then gather the result at the root; a root outside of it gets the segment of rank 0
//! and plays its role.
//!
//! ```text
//! 13 ranks = 8 + 4 + 1      [0 .. 7] ◀─ [8 .. 11] ◀─ [12]      parts A .. H; 8: A-B, 12: A-H
//! ```
//!
//! Source: T 5.2, figure 13.

use super::BASE;
use crate::algorithm::phase::gather::halves::gather;
use crate::algorithm::phase::halving::{Distance, Halves};
use crate::algorithm::phase::reduce::binary_blocks::{self, part, segment};
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::binary_blocks::{
    Block, block_of, next_smaller, peer_in_smaller, peers_in_larger,
};
use crate::pattern::math::previous_power;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "binary-blocks",
    citation: "T 5.2",
    summary: "blocks of powers of two reduce on their own, then hand segments to their neighbours",
    parts: |shape| previous_power(2, shape.ranks()),
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root, rank) = (b.ranks(), b.root(), b.rank());
    let sum = if rank == root { b.output() } else { b.vector() };
    let own = binary_blocks::reduce(b, b.input(), sum);
    let largest = block_of(p, 0);
    let outside = root >= largest.size();
    let first = segment(b.parts(), largest, 0);
    if outside && rank == 0 {
        b.send(root, own);
        return;
    }
    if outside && rank == root {
        b.recv(0, part(sum, &first));
        b.step();
    }
    let position = if outside && rank == root { 0 } else { rank };
    if position >= largest.size() {
        return;
    }
    if p == 1 {
        b.copy(own, sum);
    }
    let rank_at = |position| stands_at(largest, root, position);
    let halves = Halves::plain(largest.size(), position, &rank_at, Distance::Doubling);
    gather(b, &halves, if outside { 0 } else { root }, sum);
}

/// Who stands at a position of the gather: the ranks of the largest block, but a root outside of it at position 0.
fn stands_at(largest: Block, root: u32, position: u32) -> u32 {
    if position == 0 && root >= largest.size() {
        root
    } else {
        position
    }
}

/// The round in which the reduction ends on `rank`'s segment, before the parts of it are sent on.
///
/// A rank of a larger block that takes part j of a segment gets it j + 1 rounds after its sender and its own block are ready.
fn reduced(p: u32, rank: u32) -> u32 {
    let block = block_of(p, rank);
    match peer_in_smaller(p, rank) {
        None => block.exponent,
        Some((peer, part)) => reduced(p, peer).max(block.exponent) + 1 + part,
    }
}

/// The round in which `rank`, in another block than the largest, has sent all parts of its segment.
fn sent_on(p: u32, rank: u32) -> u32 {
    let last = peers_in_larger(p, rank).last();
    last.map_or(0, |peer| reduced(p, peer))
}

fn claims(shape: &Shape) -> Claims {
    let (p, root) = (shape.ranks(), shape.call.root);
    let largest = block_of(p, 0);
    let (rounds, slots) = (largest.exponent, u64::from(largest.size()));
    let mut ready = binary_blocks::steps(p);
    // A root in the largest block gets its halves, perhaps its segment from a smaller block, and all segments but its own.
    let mut volume = 2 * (slots - 1) + u64::from(!p.is_power_of_two());
    if root >= largest.size() {
        let both = reduced(p, 0).max(sent_on(p, root));
        ready = ready.max(both + 1);
        // Outside of it, its halves, its segment unless its block is the smallest, and all segments.
        let block = block_of(p, root);
        let smallest = next_smaller(p, block).is_none();
        let lacking = if smallest { slots >> block.exponent } else { 0 };
        // Rank 1 then sends or receives halves, a segment and half of all segments, but one or two.
        volume = (2 * slots - lacking).max(slots + slots / 2 - 1);
    }
    Claims {
        ports: 1,
        steps: ready + rounds,
        volume,
        work: binary_blocks::work(p),
    }
}
