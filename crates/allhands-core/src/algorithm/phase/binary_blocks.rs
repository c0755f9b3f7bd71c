//! Binary-blocks phases: blocks of powers of two reduce on their own and then hand segments to their neighbours (T 5.2).
//!
//! The vector has as many slots as the largest block has ranks. Within a block a reduce-scatter leaves each rank a segment; from the smallest block
//! on, a rank sends the parts of its segment to the ranks of the next larger block that have them. For an allreduce results go
//! back the same way while the blocks gather: a rank of the smaller block gets the halves of its segment in a pair of messages, as soon as
//! two ranks of the larger block have them.

use super::halving::{Distance, Halves, Meeting, meetings, reduce_scatter};
use super::view;
use crate::algorithm::Claims;
use crate::pattern::binary_blocks::{
    Block, block_of, blocks, next_larger, next_smaller, peer_in_smaller, peers_in_larger,
};
use crate::schedule::{Blocks, Builder, Side};
use alloc::vec;
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

/// Counts what the phases cost, rank by rank, in the order in which they happen.
pub struct Ledger {
    p: u32,
    slots: u32,
    clocks: Vec<u32>,
    sent: Vec<u64>,
    received: Vec<u64>,
    work: Vec<u64>,
}

impl Ledger {
    /// Nothing has happened among `p` ranks whose vector has `slots` slots.
    #[must_use]
    pub fn new(p: u32, slots: u32) -> Ledger {
        let zeros = || vec![0u64; p as usize];
        Ledger {
            p,
            slots,
            clocks: vec![0; p as usize],
            sent: zeros(),
            received: zeros(),
            work: zeros(),
        }
    }

    /// A message of `slots` slots; `combined` if the receiver reduces it.
    pub fn message(&mut self, from: u32, to: u32, slots: u32, combined: bool) {
        self.meet(from, to);
        self.carry(from, to, slots, combined);
    }

    fn meet(&mut self, one: u32, other: u32) {
        let end = self.clocks[one as usize].max(self.clocks[other as usize]) + 1;
        self.clocks[one as usize] = end;
        self.clocks[other as usize] = end;
    }

    fn carry(&mut self, from: u32, to: u32, slots: u32, combined: bool) {
        self.sent[from as usize] += u64::from(slots);
        self.received[to as usize] += u64::from(slots);
        self.work[to as usize] += if combined { u64::from(slots) } else { 0 };
    }

    fn exchange(&mut self, one: u32, other: u32, slots: u32, combined: bool) {
        self.meet(one, other);
        self.carry(one, other, slots, combined);
        self.carry(other, one, slots, combined);
    }

    /// [`reduce`].
    pub fn reduce(&mut self) {
        for block in blocks(self.p) {
            for round in 0..block.exponent {
                for one in block
                    .ranks()
                    .filter(|r| (r - block.first) >> round & 1 == 0)
                {
                    self.exchange(one, one + (1 << round), self.slots >> (round + 1), true);
                }
            }
        }
        for block in blocks(self.p).rev() {
            for rank in block.ranks() {
                let peers: Vec<u32> = peers_in_larger(self.p, rank).collect();
                let piece = (self.slots >> block.exponent) / (peers.len() as u32).max(1);
                peers
                    .into_iter()
                    .for_each(|peer| self.message(rank, peer, piece, true));
            }
        }
    }

    /// [`allgather`].
    pub fn allgather(&mut self) {
        for block in blocks(self.p) {
            let width = self.slots >> block.exponent;
            for done in 0..=block.exponent {
                for rank in block.ranks() {
                    if let Some((_, to)) =
                        taker(self.p, block, rank).filter(|taker| taker.0 == done as usize)
                    {
                        self.message(rank, to, width << done, false);
                    }
                }
                if done < block.exponent {
                    let bit = block.exponent - 1 - done;
                    for one in block.ranks().filter(|r| (r - block.first) >> bit & 1 == 0) {
                        self.exchange(one, one + (1 << bit), width << done, false);
                    }
                }
            }
        }
    }

    /// The sum.
    #[must_use]
    pub fn claims(&self) -> Claims {
        let most = |counts: &[u64]| counts.iter().copied().max().unwrap_or(0);
        Claims {
            ports: 1,
            steps: self.clocks.iter().copied().max().unwrap_or(0),
            volume: most(&self.sent).max(most(&self.received)),
            work: most(&self.work),
        }
    }
}
