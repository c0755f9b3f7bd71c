//! Binary-blocks reduction: blocks of powers of two reduce on their own and then hand segments to their neighbours (T 5.2).
//!
//! The vector has as many slots as the largest block has ranks. Within a block a reduce-scatter leaves each rank a segment; from the smallest block
//! on, a rank sends the parts of its segment to the ranks of the next larger block that have them.
//!
//! ```text
//! 7 ranks: blocks 0 1 2 3, 4 5, 6      0⇄1 2⇄3 4⇄5, 0⇄2 1⇄3      6 ─▶ 4, 6 ─▶ 5: halves      4 ─▶ 0, 2   5 ─▶ 1, 3: quarters
//! ```

use crate::algorithm::phase::halving::{Distance, Halves};
use crate::algorithm::phase::reduce_scatter::recursive_halving::reduce_scatter;
use crate::algorithm::phase::view;
use crate::pattern::binary_blocks::{Block, block_of, blocks, peer_in_smaller, peers_in_larger};
use crate::schedule::{Blocks, Builder, Side};
use alloc::vec::Vec;
use core::ops::Range;

/// The slots of the vector that a rank of a block has after its reduce-scatter, of `slots` in all.
#[must_use]
pub fn segment(slots: u32, block: Block, rank: u32) -> Range<u32> {
    let width = slots >> block.exponent;
    let number = block.segment(rank - block.first);
    number * width..(number + 1) * width
}

/// Where some slots of a vector lie.
#[must_use]
pub fn part(vector: Blocks, slots: &Range<u32>) -> Blocks {
    vector.slice(slots.start, slots.end - slots.start)
}

/// Reduces within blocks and from the smallest to the largest; `sum` is a vector to combine in. Returns where the own segment
/// lies, which is the result on the ranks of the largest block.
pub fn reduce(b: &mut Builder, input: Blocks, sum: Blocks) -> Blocks {
    let (p, rank, slots) = (b.ranks(), b.rank(), b.parts());
    let block = block_of(p, rank);
    let width = slots >> block.exponent;
    let halves = Halves {
        size: block.size(),
        position: rank - block.first,
        rank_at: &|position| block.first + position,
        blocks_of: &|range| range.start * width..range.end * width,
        distance: Distance::Doubling,
    };
    let own = segment(slots, block, rank);
    view::whole(b, input);
    // A block of one rank starts from its input.
    let mut at = part(if block.exponent == 0 { input } else { sum }, &own);
    if block.exponent > 0 {
        reduce_scatter(b, &halves, input, sum, &[at]);
    }
    if let Some((peer, _)) = peer_in_smaller(p, rank) {
        b.recv_reduce(peer, Side::Right, at, part(sum, &own));
        b.step();
        at = part(sum, &own);
        view::rows(b, &[(own.start, &[at])]);
    }
    let peers = peers_in_larger(p, rank);
    let piece = width / (peers.len() as u32).max(1);
    for (number, peer) in peers.enumerate() {
        let sent = (number as u32 + 1) * piece;
        b.send(peer, at.slice(sent - piece, piece));
        b.step();
        view::rows(b, &[(own.start + sent, &[at.slice(sent, width - sent)])]);
    }
    at
}

/// The most slots that a rank combines in [`reduce`].
#[must_use]
pub fn work(p: u32) -> u64 {
    let slots = u64::from(block_of(p, 0).size());
    slots - u64::from(p.is_power_of_two())
}

/// How far a smaller block is from the next larger one: δ of their exponents, and how many messages go up (2^δ).
#[must_use]
pub fn gap(larger: Block, smaller: Block) -> (u32, u32) {
    let delta = larger.exponent - smaller.exponent;
    (delta, 1 << delta)
}

/// The round in which [`reduce`] ends in the largest block: every level adds as many rounds as a rank sends parts.
#[must_use]
pub fn steps(p: u32) -> u32 {
    slowest(p).last().map_or(0, |&(_, ready)| ready)
}

/// For each block, smallest first, the round in which its last rank is ready.
#[must_use]
pub fn slowest(p: u32) -> Vec<(Block, u32)> {
    let mut all: Vec<(Block, u32)> = Vec::new();
    for block in blocks(p).rev() {
        let ready = all.last().map_or(block.exponent, |&(smaller, ready)| {
            ready.max(block.exponent) + gap(block, smaller).1
        });
        all.push((block, ready));
    }
    all
}
