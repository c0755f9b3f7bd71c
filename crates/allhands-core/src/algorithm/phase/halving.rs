//! Halving phases: between pairs of ranks a vector is halved and combined, or doubled and gathered.
//!
//! A power of two of ranks stand at positions 0..n of [`Halves`]; the vector has n slots. In each step a position exchanges with
//! the one that differs in one bit, and gives away the half of its slots that the partner keeps. Lowest bit first is
//! distance doubling, which combines neighbours first and so keeps rank order; highest bit first is distance halving.

use crate::pattern::circulant::halvings;
use crate::pattern::exchange::shifted;
use crate::pattern::math::floor_log2;
use crate::schedule::{Blocks, Builder, Side};
use alloc::vec::Vec;
use core::ops::Range;

/// The order in which positions meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// 1, 2, 4, …
    Doubling,
    /// n/2, n/4, …
    Halving,
}

/// The ranks of a halving, and which blocks its slots are.
pub struct Halves<'a> {
    /// The number of positions, a power of two.
    pub size: u32,
    /// The position of this rank.
    pub position: u32,
    /// The rank at a position.
    pub rank_at: &'a dyn Fn(u32) -> u32,
    /// The blocks that consecutive slots are.
    pub blocks_of: &'a dyn Fn(Range<u32>) -> Range<u32>,
    /// Who meets first.
    pub distance: Distance,
}

/// One step of a position: whom it meets, which slots it keeps and which it gives away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The partner's position.
    pub partner: u32,
    /// The slots that this position goes on with.
    pub keep: Range<u32>,
    /// The slots that the partner goes on with.
    pub give: Range<u32>,
}

/// The meetings of a position in a reduce-scatter; an allgather has them backwards.
#[must_use]
pub fn meetings(size: u32, position: u32, distance: Distance) -> Vec<Meeting> {
    let rounds = floor_log2(size);
    let mut mine = 0..size;
    let step = |round| {
        let bit = match distance {
            Distance::Doubling => round,
            Distance::Halving => rounds - 1 - round,
        };
        let middle = (mine.start + mine.end) / 2;
        let (low, high) = (mine.start..middle, middle..mine.end);
        let upper = position >> bit & 1 == 1;
        let (keep, give) = if upper { (high, low) } else { (low, high) };
        mine = keep.clone();
        Meeting {
            partner: position ^ (1u32 << bit),
            keep,
            give,
        }
    };
    (0..rounds).map(step).collect()
}

impl Halves<'_> {
    fn part(&self, vector: Blocks, slots: &Range<u32>) -> Blocks {
        let blocks = (self.blocks_of)(slots.clone());
        vector.slice(blocks.start, blocks.end - blocks.start)
    }

    fn meetings(&self) -> Vec<Meeting> {
        meetings(self.size, self.position, self.distance)
    }
}

/// Reduce-scatter: starts from `own`, combines into `sum`; returns where the own slot lies (`own`, if there was no step).
pub fn reduce_scatter(b: &mut Builder, halves: &Halves<'_>, own: Blocks, sum: Blocks) -> Blocks {
    let mut at = own;
    for Meeting {
        partner,
        keep,
        give,
    } in halves.meetings()
    {
        let peer = (halves.rank_at)(partner);
        let side = if partner < halves.position {
            Side::Left
        } else {
            Side::Right
        };
        b.send(peer, halves.part(at, &give));
        b.recv_reduce(peer, side, halves.part(at, &keep), halves.part(sum, &keep));
        b.step();
        at = sum;
    }
    at
}

/// Allgather, the reduce-scatter backwards: starts with the own slot in `vector` and ends with all of them there.
pub fn allgather(b: &mut Builder, halves: &Halves<'_>, vector: Blocks) {
    for Meeting {
        partner,
        keep,
        give,
    } in halves.meetings().into_iter().rev()
    {
        let peer = (halves.rank_at)(partner);
        b.send(peer, halves.part(vector, &keep));
        b.recv(peer, halves.part(vector, &give));
        b.step();
    }
}

/// Gather to the position `root`: as the allgather, but only towards the root.
pub fn gather(b: &mut Builder, halves: &Halves<'_>, root: u32, vector: Blocks) {
    for Meeting {
        partner,
        keep,
        give,
    } in halves.meetings().into_iter().rev()
    {
        let peer = (halves.rank_at)(partner);
        // The two differ in one bit; who agrees with the root there collects.
        if (halves.position ^ root) & (halves.position ^ partner) != 0 {
            b.send(peer, halves.part(vector, &keep));
            b.step();
            return;
        }
        b.recv(peer, halves.part(vector, &give));
        b.step();
    }
}

/// What [`gather`] costs position `position` in slots: (sent, received).
#[must_use]
pub fn gather_slots(size: u32, position: u32, root: u32, distance: Distance) -> (u32, u32) {
    let mut received = 0;
    for Meeting {
        partner,
        keep,
        give,
    } in meetings(size, position, distance).into_iter().rev()
    {
        if (position ^ root) & (position ^ partner) != 0 {
            return (keep.end - keep.start, received);
        }
        received += give.end - give.start;
    }
    (0, received)
}

/// Pairwise reduce-scatter: in step i the block of rank + i goes there, and what comes from rank − i is combined (T 4.4, 5.3).
///
/// The own block of `input` is combined into `sum`, one block.
pub fn pairwise(b: &mut Builder, input: Blocks, sum: Blocks) {
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

/// Circulant reduce-scatter (Träff 2024): starts from `input` and ends with the own block in the first of `rotated`, whose block
/// i is the one of rank + i.
pub fn circulant(b: &mut Builder, input: Blocks, rotated: Blocks) {
    let (p, rank) = (b.ranks(), b.rank());
    let mut untouched = true;
    for round in halvings(p) {
        let peers = shifted(p, rank, round.skip);
        // What has not been combined yet is still in the input.
        let (sent, own) = if untouched {
            let all = |first: u32, count| super::tree::wrapped(input, (rank + first) % p, count);
            (all(round.skip, round.blocks), all(0, round.blocks))
        } else {
            (
                alloc::vec![rotated.slice(round.skip, round.blocks)],
                alloc::vec![rotated.slice(0, round.blocks)],
            )
        };
        let rest = round.skip - round.blocks;
        b.send(peers.to, sent);
        b.recv_reduce(peers.from, Side::Left, own, rotated.slice(0, round.blocks));
        if untouched && rest > 0 {
            b.copy(
                super::tree::wrapped(input, (rank + round.blocks) % p, rest),
                rotated.slice(round.blocks, rest),
            );
        }
        b.step();
        untouched = false;
    }
    if untouched {
        b.copy(input.at(rank), rotated.at(0));
        b.step();
    }
}
