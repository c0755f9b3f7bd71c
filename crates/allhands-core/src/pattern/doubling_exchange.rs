//! Doubling exchange: in round k positions 2^k apart give one another all blocks but those that their own groups need.
//!
//! ```text
//! 4 ranks      0⇄1 2⇄3: all but the own block      0⇄2 1⇄3: all but the pair's blocks
//! ```

use crate::pattern::fold::{Fold, Folding, Keeper};
use crate::pattern::math::floor_log2;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// Who meets whom, and what the messages are.
pub struct DoublingExchange {
    folding: Folding,
    needed: bool,
}

impl DoublingExchange {
    /// The exchange of so many ranks; with `needed`, a position is sent only what it has a use for.
    #[must_use]
    pub fn new(ranks: u32, needed: bool) -> DoublingExchange {
        DoublingExchange {
            folding: Folding::to_power(ranks, 2, Fold::Neighbour(Keeper::Last)),
            needed,
        }
    }

    /// Who stands at which position.
    #[must_use]
    pub fn folding(&self) -> &Folding {
        &self.folding
    }

    /// The number of rounds.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        floor_log2(self.folding.kept())
    }

    /// The ranks that the group of 2^round positions around one stands for.
    #[must_use]
    pub fn group(&self, position: u32, round: u32) -> Range<u32> {
        let first = position >> round << round;
        let last = first + (1 << round) - 1;
        let start = self.folding.members(first).next().unwrap_or(0);
        start..self.folding.members(last).last().unwrap_or(start) + 1
    }

    /// The blocks for which a position has a use when a round is over: its own and those that it sends on.
    #[must_use]
    pub fn useful(&self, position: u32, round: u32) -> Vec<Range<u32>> {
        let (own, done) = (self.group(position, 0), self.group(position, round + 1));
        vec![0..done.start, own, done.end..self.ranks()]
    }

    /// The blocks that a position receives in a round.
    #[must_use]
    pub fn received(&self, position: u32, round: u32) -> Vec<Range<u32>> {
        if self.needed {
            return self.useful(position, round);
        }
        let theirs = self.group(position ^ (1 << round), round);
        vec![0..theirs.start, theirs.end..self.ranks()]
    }

    fn ranks(&self) -> u32 {
        self.folding.kept() + self.folding.extra()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_all_that_is_of_use_and_nothing_else_if_so_asked() {
        for ranks in 1..40 {
            let [all, needed] = [false, true].map(|needed| DoublingExchange::new(ranks, needed));
            for (position, round) in (0..all.folding().kept())
                .flat_map(|at| (0..all.rounds()).map(move |round| (at, round)))
            {
                let set = |ranges: Vec<Range<u32>>| -> Vec<u32> {
                    ranges.into_iter().flatten().collect()
                };
                let useful = set(all.useful(position, round));
                let received = set(all.received(position, round));
                assert!(
                    useful.iter().all(|block| received.contains(block)),
                    "{ranks}"
                );
                assert_eq!(set(needed.received(position, round)), useful, "{ranks}");
                let own = all.group(position, 0);
                assert!(own.clone().all(|block| useful.contains(&block)), "{ranks}");
            }
        }
    }
}
