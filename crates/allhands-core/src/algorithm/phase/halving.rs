//! Halving: in which order pairs of ranks meet, and how they share out the slots of a vector.
//!
//! A power of two of ranks stand at positions 0..n of [`Halves`]; the vector has n slots. In each step a position exchanges with
//! the one that differs in one bit, and gives away the half of its slots that the partner keeps. Lowest bit first is
//! distance doubling, which combines neighbours first and so keeps rank order; highest bit first is distance halving.
//!
//! ```text
//! 4 positions, doubling      0⇄1 2⇄3: slots 0 1 to the even, 2 3 to the odd      0⇄2 1⇄3: 0 ends with slot 0, 2 with 1, 1 with 2
//! 4 positions, halving       0⇄2 1⇄3: slots 0 1 to the low, 2 3 to the high      0⇄1 2⇄3: each ends with its own
//! ```

use crate::pattern::math::floor_log2;
use crate::schedule::{Blocks, Shape};
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

impl Meeting {
    /// The slots that the two have together: what they had before a reduce-scatter's meeting, and have after an allgather's.
    #[must_use]
    pub fn both(&self) -> Range<u32> {
        self.keep.start.min(self.give.start)..self.keep.end.max(self.give.end)
    }
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

impl<'a> Halves<'a> {
    /// So many positions, whose slots are the vector's blocks.
    #[must_use]
    pub fn plain(
        size: u32,
        position: u32,
        rank_at: &'a dyn Fn(u32) -> u32,
        distance: Distance,
    ) -> Halves<'a> {
        Halves {
            size,
            position,
            rank_at,
            blocks_of: &|slots| slots,
            distance,
        }
    }

    /// Where some slots of a vector lie.
    #[must_use]
    pub fn part(&self, vector: Blocks, slots: &Range<u32>) -> Blocks {
        let blocks = (self.blocks_of)(slots.clone());
        vector.slice(blocks.start, blocks.end - blocks.start)
    }

    /// The row of a picture at which some slots begin.
    #[must_use]
    pub fn row(&self, slots: &Range<u32>) -> u32 {
        (self.blocks_of)(slots.clone()).start
    }

    /// The meetings of this rank.
    #[must_use]
    pub fn meetings(&self) -> Vec<Meeting> {
        meetings(self.size, self.position, self.distance)
    }

    /// The blocks of `vector` that the reduce-scatter leaves on this position.
    #[must_use]
    pub fn own(&self, vector: Blocks) -> Blocks {
        let last = self.meetings().pop().map_or(0..self.size, |last| last.keep);
        self.part(vector, &last)
    }
}
