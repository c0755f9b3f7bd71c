//! Complete exchange by recursive multiplying: which destinations' blocks a rank holds before each level, and where they go.
//!
//! Groups, exchanges and corrections are those of [`Multiplying`]; but a block has one destination. Before a level, a rank holds
//! the blocks of its whole subtree for some destinations; an exchange brings them to the subtree of the group in which their
//! destination is, or would be, at the same offset. Where the sender's subtree is clipped, its ranks stand in for the offsets that
//! it lacks: their blocks arrive at the rank from which the allgather's corrections start, and the corrections bring each to the
//! offset where it belongs, by the same messages as they bring copies in the allgather.
//!
//! ```text
//! p = 5, r = 2     exchange     01 23 4        0⇄1 2⇄3
//!                  exchange     0123 4         0⇄2 1⇄3
//!                  exchange     01234          0⇄4           4's blocks for 0, 1, 2 and 3, and 0's to 3's for 4
//!                  correction                  0→1           4's blocks for 1 and 3
//!                  correction                  0→2 1→3       4's block for 2, for 3
//! ```

use super::math::power_at_most;
use super::multiplying::{Multiplying, Phase, Step, Transfer};
use alloc::vec::Vec;
use core::ops::Range;

/// The complete exchange of `p` ranks in groups of `radix`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompleteExchange {
    p: u32,
    radix: u32,
    groups: Multiplying,
}

impl CompleteExchange {
    /// The complete exchange of `p` ranks in groups of `radix`.
    ///
    /// # Panics
    /// If `p` is 0 or `radix` is below 2.
    pub fn new(p: u32, radix: u32) -> Self {
        let groups = Multiplying::new(p, radix);
        Self { p, radix, groups }
    }

    /// The groups, exchanges and corrections.
    pub fn groups(&self) -> Multiplying {
        self.groups
    }

    /// The destinations of the blocks that `rank` holds before `level`, in the order in which it keeps them: by the subtree to
    /// which they go at this level, then by the rank there with which they end ([`CompleteExchange::ends`]), and so on.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn held(&self, rank: u32, level: u32) -> Vec<u32> {
        let mut destinations = Vec::new();
        self.collect(rank, level, &mut destinations);
        destinations
    }

    fn collect(&self, rank: u32, level: u32, destinations: &mut Vec<u32>) {
        if level >= self.groups.levels() {
            destinations.push(rank);
            return;
        }
        for subtree in self.subtrees(rank, level) {
            for end in self.ends(rank, level, &subtree) {
                self.collect(end, level + 1, destinations);
            }
        }
    }

    /// The subtrees of `rank`'s group at `level`, its own too.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn subtrees(&self, rank: u32, level: u32) -> impl Iterator<Item = Range<u32>> + use<> {
        let group = self.groups.held(rank, level + 1);
        let width = self.width(level);
        group
            .clone()
            .step_by(width as usize)
            .map(move |first| first..first + width.min(group.end - first))
    }

    /// The ranks of `subtree` with which the blocks are, after `level`, that `rank` holds for it before: the one that gets them
    /// all first, and, if that passes on what it does not keep, those that it serves, in the order of [`CompleteExchange::passes`].
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn ends(&self, rank: u32, level: u32, subtree: &Range<u32>) -> Vec<u32> {
        let own = self.groups.held(rank, level);
        let (offset, size) = (rank - own.start, own.end - own.start);
        if *subtree == own {
            return alloc::vec![rank];
        }
        if size < self.width(level) {
            return self.served(offset, size, subtree);
        }
        let there = subtree.start + offset;
        (there < subtree.end).then_some(there).into_iter().collect()
    }

    /// The ranks whose blocks from the clipped subtree of its group come to `rank` at `level`: itself, then each that it
    /// serves in a correction, followed by those that are served there. Empty if there is no such subtree, or `rank` is in it.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn passes(&self, rank: u32, level: u32) -> Vec<u32> {
        let own = self.groups.held(rank, level);
        let Some(clipped) = self.groups.clipped(rank, level).filter(|c| *c != own) else {
            return Vec::new();
        };
        let offset = rank - own.start;
        let mut holders = clipped.end - clipped.start;
        while holders <= offset {
            holders *= self.radix;
        }
        self.served(offset, holders, &own)
    }

    /// Who is served at once or in turn by the rank at `offset` of a full subtree that is there when `holders` offsets are.
    fn served(&self, offset: u32, holders: u32, subtree: &Range<u32>) -> Vec<u32> {
        let width = u64::from(subtree.end - subtree.start);
        let mut all = alloc::vec![subtree.start + offset];
        let mut distance = u64::from(holders);
        while distance < width {
            let next = distance * u64::from(self.radix);
            for turn in 1..u64::from(self.radix) {
                let to = u64::from(offset) + turn * distance;
                if to < width {
                    // Only where `to` is below the width does another level follow, and then `next` fits.
                    let there = u32::try_from(next).unwrap_or(u32::MAX);
                    all.extend(self.served(to as u32, there, subtree));
                }
            }
            distance = next;
        }
        all
    }

    fn width(&self, level: u32) -> u32 {
        power_at_most(self.radix, level, self.p)
    }

    /// What each rank sends in each step, in blocks of one source and one destination each: the list of all transfers.
    pub fn volumes(&self) -> Vec<Volume> {
        let mut all = Vec::new();
        let counts = self.counts();
        for step in self.groups.steps() {
            let here = |ends: Vec<u32>| -> u64 {
                let after = &counts[step.level as usize + 1];
                ends.into_iter().map(|end| after[end as usize]).sum()
            };
            for rank in 0..self.p {
                let own = self.groups.held(rank, step.level);
                for Transfer { peer, send, .. } in self.groups.transfers(rank, step) {
                    let Some(sources) = send else { continue };
                    let ends = match step.phase {
                        Phase::Exchange => {
                            self.ends(rank, step.level, &self.groups.held(peer, step.level))
                        }
                        Phase::Correction { .. } => self.passes(peer, step.level),
                    };
                    debug_assert!(step.phase != Phase::Exchange || sources == own);
                    let blocks = u64::from(sources.end - sources.start) * here(ends);
                    all.push(Volume {
                        step,
                        from: rank,
                        to: peer,
                        blocks,
                    });
                }
            }
        }
        all
    }

    /// For each level, and after the last, how many destinations' blocks each rank holds.
    fn counts(&self) -> Vec<Vec<u64>> {
        let levels = self.groups.levels();
        let mut counts = alloc::vec![alloc::vec![1; self.p as usize]];
        for level in (0..levels).rev() {
            let after = &counts[0];
            let before = (0..self.p).map(|rank| {
                self.subtrees(rank, level)
                    .flat_map(|subtree| self.ends(rank, level, &subtree))
                    .map(|end| after[end as usize])
                    .sum()
            });
            let before = before.collect();
            counts.insert(0, before);
        }
        counts
    }
}

/// A message of the complete exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// The step.
    pub step: Step,
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// The blocks, each from one rank for one rank.
    pub blocks: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_has_every_destination_once_in_its_subtree() {
        for p in 1..=70_u32 {
            for radix in (2..=6).chain([p.max(2), p + 1]) {
                let all = CompleteExchange::new(p, radix);
                for level in 0..=all.groups.levels() {
                    for first in (0..p).step_by(all.width(level) as usize) {
                        let subtree = all.groups.held(first, level);
                        let mut held: Vec<u32> =
                            subtree.flat_map(|rank| all.held(rank, level)).collect();
                        held.sort_unstable();
                        assert!(
                            held.into_iter().eq(0..p),
                            "p = {p}, radix = {radix}, level {level}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn five_ranks_as_in_the_figure() {
        let all = CompleteExchange::new(5, 2);
        assert_eq!(all.held(0, 2), [0, 4]);
        assert_eq!(all.held(4, 2), [0, 1, 3, 2, 4]);
        assert_eq!(all.ends(4, 2, &(0..4)), [0, 1, 3, 2]);
        assert_eq!(all.passes(1, 2), [1, 3]);
        assert!(all.passes(4, 2).is_empty());
    }

    #[test]
    fn powers_send_what_equation_5_of_qian_says() {
        for (radix, levels) in [(2_u32, 5_u32), (3, 3), (4, 2), (5, 2)] {
            let p = radix.pow(levels);
            let volumes = CompleteExchange::new(p, radix).volumes();
            assert_eq!(volumes.len() as u32, p * levels * (radix - 1));
            assert!(volumes.iter().all(|v| v.blocks == u64::from(p / radix)));
        }
    }
}
