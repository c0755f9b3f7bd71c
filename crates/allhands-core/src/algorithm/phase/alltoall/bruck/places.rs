//! Places: where a rank has the blocks of an exchange before their first move, between moves, and after the last.

use super::runs::{Run, runs};
use crate::pattern::digits::{Move, blocks_with_digit, moves};
use crate::schedule::{Blocks, Builder, Space, Units};
use alloc::vec;
use alloc::vec::Vec;

/// Where blocks lie between their moves.
pub(super) struct Places {
    p: u32,
    rank: u32,
    radix: u32,
    input: Blocks,
    output: Blocks,
    /// For each digit position and value, the region of the blocks that came by it and go on.
    regions: Vec<Vec<Blocks>>,
}

impl Places {
    pub(super) fn new(b: &Builder) -> Places {
        Places {
            p: b.ranks(),
            rank: b.rank(),
            radix: b.shape().radix(),
            input: b.input(),
            output: b.output(),
            regions: Vec::new(),
        }
    }

    /// Makes room for the blocks that come by these moves, those of the next step, and go on: what has higher digits too. The last
    /// position has none.
    pub(super) fn add_regions(&mut self, b: &mut Builder, all: &[Move]) {
        let &mut Places { p, rank, radix, .. } = self;
        let region = |this: &Move| {
            let units = Units::Transit {
                rank,
                ranks: p,
                weight: radix.pow(this.step),
                radix,
                digit: this.digit,
            };
            let (_, goes_on) = runs(p, radix, *this, None);
            let count = match goes_on.count() {
                0 => 0,
                _ => blocks_with_digit(p, radix, *this),
            };
            b.scratch(units, count)
        };
        self.regions.push(all.iter().map(region).collect());
    }

    /// What a move sends and where it is received, in the same order at both ends.
    pub(super) fn blocks(&self, this: Move) -> (Vec<Blocks>, Vec<Blocks>) {
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        let lower = (0..this.step).flat_map(|step| moves(self.p, self.radix, step));
        for last in core::iter::once(None).chain(lower.map(Some)) {
            let (ends, goes_on) = runs(self.p, self.radix, this, last);
            for run in [&ends, &goes_on] {
                sent.extend(last.map_or_else(|| self.unmoved(run), |by| self.region(by, run)));
            }
            received.extend(self.ended(&ends));
            received.extend(self.region(this, &goes_on));
        }
        (sent, received)
    }

    /// The block that stands for displacement `j` before step `step`.
    pub(super) fn of_displacement(&self, j: u32, step: u32) -> Blocks {
        let &Places { p, rank, radix, .. } = self;
        let came = |by: &u32| !(j / radix.pow(*by)).is_multiple_of(radix);
        let Some(last) = (0..step).rev().find(came) else {
            return self.input.at((rank + j) % p);
        };
        let weight = radix.pow(last);
        if j < weight * radix {
            return self.output.at((rank + p - j) % p);
        }
        let region = self.regions[last as usize][(j / weight % radix) as usize - 1];
        region.at(j / weight / radix * weight + j % weight)
    }

    /// A run's blocks in the region of `by`.
    fn region(&self, by: Move, run: &Run) -> Vec<Blocks> {
        let weight = self.radix.pow(by.step);
        let region = self.regions[by.step as usize][by.digit as usize - 1];
        let index = |j: u32| j / weight / self.radix * weight + j % weight;
        run.sets(
            Space::Scratch,
            region.first + index(run.first),
            (run.stride / self.radix) as i32,
        )
    }

    /// A run's blocks where they have not moved yet: input block rank + j.
    fn unmoved(&self, run: &Run) -> Vec<Blocks> {
        // A stride of one block each, cut where it passes the last rank.
        let until_end = (self.p - self.rank)
            .saturating_sub(run.first)
            .div_ceil(run.stride.max(1))
            .min(run.count());
        let part = |first: u32, times: u32| {
            Blocks::strided(
                self.input.space,
                self.input.first + first,
                1,
                run.stride as i32,
                times,
            )
        };
        let beyond = run.first + until_end * run.stride + self.rank;
        let mut sets = Vec::with_capacity(2);
        if until_end > 0 {
            sets.push(part(self.rank + run.first, until_end));
        }
        if run.count() > until_end {
            sets.push(part(beyond - self.p, run.count() - until_end));
        }
        sets
    }

    /// A run's blocks where they end: output block rank − j.
    fn ended(&self, run: &Run) -> Vec<Blocks> {
        if run.width == 0 {
            return Vec::new();
        }
        let first = (self.rank + self.p - run.first) % self.p;
        let until_zero = run.width.min(first + 1);
        let down = |from: u32, count: u32| {
            Blocks::descending(self.output.space, self.output.first + from, count)
        };
        vec![
            down(first, until_zero),
            down(self.p - 1, run.width - until_zero),
        ]
    }
}
