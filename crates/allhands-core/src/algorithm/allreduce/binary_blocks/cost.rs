//! What it costs: the rounds until results have come down to the last block, and what the busiest rank sends or receives.
//!
//! ```text
//! 7 ranks      up: 6 is ready after 0 rounds, 4 and 5 after 3, 0 to 3 after 5      down: all are after 9
//! ```
//!
//! Source: T 5.2.

use crate::algorithm::phase::reduce::binary_blocks::{gap, slowest};
use crate::pattern::binary_blocks::{Block, blocks};
use alloc::vec::Vec;

/// The round in which the allgather after the reduction ends.
///
/// Let a rank of block i be ready in round D on the way up. On the way down it has its segment in round max(D + a, b), where a and b
/// follow from those of the next larger block: the 2^δ parts go up one after another; the second giver is ready after δ − 1 meetings
/// and one round after the first, if both were ready at once. A block ends when its givers have met in the rest of their rounds.
pub(super) fn steps(p: u32) -> u32 {
    let mut levels = slowest(p);
    levels.reverse();
    let (mut a, mut b) = (0, 0);
    let mut end = levels[0].1 + levels[0].0.exponent;
    for pair in levels.windows(2) {
        let [(larger, _), (smaller, ready)] = [pair[0], pair[1]];
        let (delta, parts) = gap(larger, smaller);
        a = parts + (a + delta).max(2);
        b = (larger.exponent + a).max(b + delta + 1);
        // The givers of the larger block still meet at this bit and the lower ones, the smaller block at the lower ones.
        let segment = (ready + a).max(b);
        let givers_end = segment + smaller.exponent + 1;
        end = if larger.index == 0 {
            givers_end
        } else {
            end.max(givers_end)
        };
    }
    end
}

/// The most slots that a rank sends or receives in both.
pub(super) fn volume(p: u32) -> u64 {
    let all: Vec<Block> = blocks(p).collect();
    let slots = u64::from(all[0].size());
    let of_block = |(index, block): (usize, &Block)| {
        let own = slots >> block.exponent;
        let up = if index > 0 { own } else { 0 };
        let (given, come) = match all.get(index + 1) {
            Some(smaller) => (slots >> smaller.exponent >> 1, own),
            None => (0, 0),
        };
        // Halving and doubling, and the segment up and down again.
        2 * (slots - own) + up + given.max(come)
    };
    all.iter().enumerate().map(of_block).max().unwrap_or(0)
}
