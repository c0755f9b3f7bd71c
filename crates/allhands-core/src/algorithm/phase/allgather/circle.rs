//! Circles: the ranks of an allgather, in the order in which it goes round, and where they keep their blocks.
//!
//! The ranks that take part stand at positions 0..n of a [`Circle`], each with one block to start with; a phase ends when every
//! position has all of them. What a block is, and where it lies, the caller says.

use crate::schedule::{Blocks, Builder};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// The ranks of an exchange and where they keep their blocks.
pub struct Circle<'a> {
    /// The number of positions.
    pub size: u32,
    /// The position of this rank.
    pub position: u32,
    /// The rank at a position.
    pub rank_at: &'a dyn Fn(u32) -> u32,
    /// Where the blocks of consecutive positions lie (or come to lie).
    pub blocks: &'a dyn Fn(Range<u32>) -> Vec<Blocks>,
    /// Where the own block lies at the start, which may be elsewhere.
    pub own: &'a [Blocks],
}

impl Circle<'_> {
    /// What to send for a range of positions: the own block from where it is.
    pub fn source(&self, range: Range<u32>) -> Vec<Blocks> {
        if range == (self.position..self.position + 1) {
            self.own.to_vec()
        } else {
            (self.blocks)(range)
        }
    }

    /// Blocks of `count` positions from `first`, counted round.
    pub fn around(&self, first: u32, count: u32) -> Vec<Blocks> {
        let first = first % self.size;
        let until_end = count.min(self.size - first);
        let mut blocks = self.source(first..first + until_end);
        if count > until_end {
            blocks.extend(self.source(0..count - until_end));
        }
        blocks
    }
}

/// Runs a phase among all ranks in their order: the blocks of `vector` are theirs, the own one lies at `own` at first.
pub fn among_all(
    b: &mut Builder,
    own: Blocks,
    vector: Blocks,
    phase: impl FnOnce(&mut Builder, &Circle<'_>),
) {
    let circle = Circle {
        size: b.ranks(),
        position: b.rank(),
        rank_at: &|position| position,
        blocks: &|range| vec![vector.slice(range.start, range.end - range.start)],
        own: &[own],
    };
    phase(b, &circle);
}
