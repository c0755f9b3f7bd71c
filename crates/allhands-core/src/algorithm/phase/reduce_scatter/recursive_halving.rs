//! Halving phases: between pairs of ranks a vector is halved and combined, or doubled and gathered.
//!
//! A power of two of ranks stand at positions 0..n of [`Halves`]; the vector has n slots. In each step a position exchanges with
//! the one that differs in one bit, and gives away the half of its slots that the partner keeps. Lowest bit first is
//! distance doubling, which combines neighbours first and so keeps rank order; highest bit first is distance halving.

use crate::algorithm::phase::view;
use crate::pattern::math::floor_log2;
use crate::schedule::{Blocks, Builder, Shape, Side};
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

impl Distance {
    /// What the parameter `distance` says.
    #[must_use]
    pub fn of(shape: &Shape) -> Distance {
        match shape.get("distance") {
            0 => Distance::Doubling,
            _ => Distance::Halving,
        }
    }
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

    fn row(&self, slots: &Range<u32>) -> u32 {
        (self.blocks_of)(slots.clone()).start
    }

    fn meetings(&self) -> Vec<Meeting> {
        meetings(self.size, self.position, self.distance)
    }

    /// The blocks of `vector` that the reduce-scatter leaves on this position.
    #[must_use]
    pub fn own(&self, vector: Blocks) -> Blocks {
        let last = self.meetings().pop().map_or(0..self.size, |last| last.keep);
        self.part(vector, &last)
    }
}

/// Reduce-scatter: starts from `own`, combines into `sum`, and leaves the blocks of the own slot in `result`.
pub fn reduce_scatter(
    b: &mut Builder,
    halves: &Halves<'_>,
    own: Blocks,
    sum: Blocks,
    result: &[Blocks],
) {
    let meetings = halves.meetings();
    let rounds = meetings.len();
    if rounds == 0 {
        b.copy(halves.own(own), result);
        b.step();
    }
    let mut at = own;
    for (round, meeting) in (1..).zip(meetings) {
        let Meeting {
            partner,
            keep,
            give,
        } = meeting;
        let peer = (halves.rank_at)(partner);
        let side = Side::of(partner, halves.position);
        let half = [halves.part(sum, &keep)];
        let into = if round == rounds { result } else { &half };
        b.send(peer, halves.part(at, &give));
        b.recv_reduce(peer, side, halves.part(at, &keep), into);
        b.step();
        view::rows(b, &[(halves.row(&keep), into)]);
        at = sum;
    }
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
        let both = keep.start.min(give.start)..keep.end.max(give.end);
        view::rows(b, &[(halves.row(&both), &[halves.part(vector, &both)])]);
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
            view::rows(b, &[]);
            return;
        }
        b.recv(peer, halves.part(vector, &give));
        b.step();
        let both = keep.start.min(give.start)..keep.end.max(give.end);
        view::rows(b, &[(halves.row(&both), &[halves.part(vector, &both)])]);
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
