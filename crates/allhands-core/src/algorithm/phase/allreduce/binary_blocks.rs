//! Binary-blocks phases: blocks of powers of two reduce on their own and then hand segments to their neighbours (T 5.2).
//!
//! The vector has as many slots as the largest block has ranks. Within a block a reduce-scatter leaves each rank a segment; from the smallest block
//! on, a rank sends the parts of its segment to the ranks of the next larger block that have them. For an allreduce results go
//! back the same way while the blocks gather: a rank of the smaller block gets the halves of its segment in a pair of messages, as soon as
//! two ranks of the larger block have them.

use crate::algorithm::phase::halving::{Distance, Halves, Meeting, meetings};
use crate::algorithm::phase::reduce_scatter::recursive_halving::reduce_scatter;
use crate::algorithm::phase::view;
use crate::pattern::binary_blocks::{
    Block, block_of, blocks, next_larger, next_smaller, peer_in_smaller, peers_in_larger,
};
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

fn part(vector: Blocks, slots: &Range<u32>) -> Blocks {
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

/// The two ranks of the next larger block from which a rank gets the halves of its segment.
fn givers(larger: Block, block: Block, rank: u32) -> [u32; 2] {
    let low = larger.first + (rank - block.first);
    [low, low + block.size()]
}

/// The rank of the next smaller block to which a rank gives half a segment, and after how many of its meetings.
fn taker(p: u32, block: Block, rank: u32) -> Option<(usize, u32)> {
    let smaller = next_smaller(p, block)?;
    let position = rank - block.first;
    let doublings = (block.exponent - smaller.exponent - 1) as usize;
    (position < 2 * smaller.size()).then(|| (doublings, smaller.first + position % smaller.size()))
}

/// Gathers the results, which the ranks of the largest block have in their segments of `vector`, on all ranks.
pub fn allgather(b: &mut Builder, vector: Blocks) {
    let (p, rank, slots) = (b.ranks(), b.rank(), b.parts());
    let block = block_of(p, rank);
    let width = slots >> block.exponent;
    let mut have = segment(slots, block, rank);
    if let Some(larger) = next_larger(p, block) {
        let middle = have.start + width / 2;
        for (giver, half) in givers(larger, block, rank)
            .into_iter()
            .zip([have.start..middle, middle..have.end])
        {
            let come = have.start..half.end;
            b.recv(giver, part(vector, &half));
            b.step();
            view::rows(b, &[(come.start, &[part(vector, &come)])]);
        }
    }
    let taker = taker(p, block, rank);
    let mut gathering = meetings(block.size(), rank - block.first, Distance::Doubling);
    gathering.reverse();
    for (done, meeting) in gathering.into_iter().map(Some).chain([None]).enumerate() {
        if let Some((_, to)) = taker.filter(|taker| taker.0 == done) {
            b.send(to, part(vector, &have));
            b.step();
        }
        if let Some(Meeting { partner, give, .. }) = meeting {
            let peer = block.first + partner;
            let theirs = give.start * width..give.end * width;
            b.send(peer, part(vector, &have));
            b.recv(peer, part(vector, &theirs));
            b.step();
            have = have.start.min(theirs.start)..have.end.max(theirs.end);
            view::rows(b, &[(have.start, &[part(vector, &have)])]);
        }
    }
}

/// How far a smaller block is from the next larger one: δ of their exponents, and how many messages go up (2^δ).
fn gap(larger: Block, smaller: Block) -> (u32, u32) {
    let delta = larger.exponent - smaller.exponent;
    (delta, 1 << delta)
}

/// The round in which [`reduce`] ends on `rank`'s segment, before the parts of it are sent on.
///
/// A rank of a larger block that takes part j of a segment gets it j + 1 rounds after its sender and its own block are ready.
#[must_use]
pub fn reduced(p: u32, rank: u32) -> u32 {
    let block = block_of(p, rank);
    match peer_in_smaller(p, rank) {
        None => block.exponent,
        Some((peer, part)) => reduced(p, peer).max(block.exponent) + 1 + part,
    }
}

/// The round in which `rank`, in another block than the largest, has sent all parts of its segment.
#[must_use]
pub fn sent_on(p: u32, rank: u32) -> u32 {
    let last = peers_in_larger(p, rank).last();
    last.map_or(0, |peer| reduced(p, peer))
}

/// The round in which [`reduce`] ends in the largest block: every level adds as many rounds as a rank sends parts.
#[must_use]
pub fn reduce_steps(p: u32) -> u32 {
    slowest(p).last().map_or(0, |&(_, ready)| ready)
}

/// For each block, smallest first, the round in which its last rank is ready.
fn slowest(p: u32) -> Vec<(Block, u32)> {
    let mut all: Vec<(Block, u32)> = Vec::new();
    for block in blocks(p).rev() {
        let ready = all.last().map_or(block.exponent, |&(smaller, ready)| {
            ready.max(block.exponent) + gap(block, smaller).1
        });
        all.push((block, ready));
    }
    all
}

/// The round in which [`allgather`] after [`reduce`] ends.
///
/// Let a rank of block i be ready in round D on the way up. On the way down it has its segment in round max(D + a, b), where a and b
/// follow from those of the next larger block: the 2^δ parts go up one after another; the second giver is ready after δ − 1 meetings
/// and one round after the first, if both were ready at once. A block ends when its givers have met in the rest of their rounds.
#[must_use]
pub fn allreduce_steps(p: u32) -> u32 {
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

/// The most slots that a rank sends or receives in [`reduce`] and [`allgather`].
#[must_use]
pub fn allreduce_volume(p: u32) -> u64 {
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

/// The most slots that a rank combines in [`reduce`].
#[must_use]
pub fn work(p: u32) -> u64 {
    let slots = u64::from(block_of(p, 0).size());
    slots - u64::from(p.is_power_of_two())
}
