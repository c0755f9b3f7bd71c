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
use super::progression::Progression;
use alloc::vec::Vec;
use core::iter::StepBy;
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

    /// The spans of every subtree of `rank` that is clipped, down to the one in which it is alone.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn spans(&self, rank: u32) -> Spans {
        let levels = self.groups.levels();
        let mut spans = Spans {
            whole: (levels, core::iter::once(0..self.p).collect()),
            clipped: Vec::new(),
        };
        for level in (0..levels).rev() {
            let size = self.groups.held(rank, level).len() as u32;
            let width = self.width(level);
            if size == 1 || size == width {
                break;
            }
            if size < self.groups.held(rank, level + 1).len() as u32 {
                let parts = spans
                    .before(level + 1)
                    .iter()
                    .flat_map(|span| pieces(span, width).flat_map(|part| pieces(&part, size)));
                let parts = parts.collect();
                spans.clipped.push((level, parts));
            }
        }
        spans
    }

    /// The destinations of the blocks that `rank` holds before `level`, unless it is alone in its subtree: those of each span.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn held<'a>(
        &self,
        rank: u32,
        level: u32,
        spans: &'a Spans,
    ) -> impl Iterator<Item = Progression> + use<'a> {
        let offset = rank - self.groups.held(rank, level).start;
        let step = self.width(level);
        let spans = spans.before(level).iter();
        spans.map(move |span| Progression {
            first: span.start.saturating_add(offset),
            step,
            times: (span.end - span.start)
                .saturating_sub(offset)
                .div_ceil(step),
        })
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
    /// all first, and, if that passes on what it does not keep, those that it serves, at once or in turn.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn ends(&self, rank: u32, level: u32, subtree: &Range<u32>) -> Ends {
        let own = self.groups.held(rank, level);
        Ends {
            subtree: subtree.clone(),
            offset: rank - own.start,
            step: (own.end - own.start).max(1),
        }
    }

    /// The ranks whose blocks from the clipped subtree of its group come to `rank` at `level`: itself, and those that it
    /// serves in a correction, at once or in turn. None if there is no such subtree, or `rank` is in it.
    ///
    /// # Panics
    /// If `rank` is not below `p`.
    pub fn passes(&self, rank: u32, level: u32) -> Option<Ends> {
        let own = self.groups.held(rank, level);
        let clipped = self.groups.clipped(rank, level).filter(|c| *c != own)?;
        let offset = rank - own.start;
        let mut holders = clipped.end - clipped.start;
        while holders <= offset {
            // Where this does not fit, nobody is served.
            holders = holders.saturating_mul(self.radix);
        }
        Some(Ends {
            subtree: own,
            offset,
            step: holders,
        })
    }

    /// How many subtrees a group has at most.
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// The ranks of a full subtree before `level`.
    pub fn width(&self, level: u32) -> u32 {
        power_at_most(self.radix, level, self.p)
    }

    /// The steps of the slowest chain of ranks, and the most blocks that a rank sends or receives.
    pub fn costs(&self) -> (u32, u64) {
        let p = self.p as usize;
        // Where a group is not full, ranks that have nothing to correct go on to the next level early.
        let mut clocks = alloc::vec![(0_u32, 0_u32); p];
        let (mut sent, mut received) = (alloc::vec![0; p], alloc::vec![0; p]);
        let mut number = 0;
        for message in self.volumes() {
            let (from, to) = (message.from as usize, message.to as usize);
            if message.step.number != number {
                number = message.step.number;
                clocks.iter_mut().for_each(|clock| clock.0 = clock.1);
            }
            let meet = clocks[from].0.max(clocks[to].0) + 1;
            clocks[from].1 = clocks[from].1.max(meet);
            clocks[to].1 = clocks[to].1.max(meet);
            sent[from] += message.blocks;
            received[to] += message.blocks;
        }
        let steps = clocks.into_iter().map(|clock| clock.1).max();
        let volume = sent.into_iter().chain(received).max();
        (steps.unwrap_or(0), volume.unwrap_or(0))
    }

    /// What each rank sends in each step, in blocks of one source and one destination each: the list of all transfers.
    pub fn volumes(&self) -> Vec<Volume> {
        let mut all = Vec::new();
        let counts = self.counts();
        for step in self.groups.steps() {
            let here = |ends: Ends| -> u64 {
                let after = &counts[step.level as usize + 1];
                ends.ranks().map(|end| after[end as usize]).sum()
            };
            for rank in 0..self.p {
                let own = self.groups.held(rank, step.level);
                for Transfer { peer, send, .. } in self.groups.transfers(rank, step) {
                    let Some(sources) = send else { continue };
                    let ends = match step.phase {
                        Phase::Exchange => {
                            Some(self.ends(rank, step.level, &self.groups.held(peer, step.level)))
                        }
                        Phase::Correction { .. } => self.passes(peer, step.level),
                    };
                    debug_assert!(step.phase != Phase::Exchange || sources == own);
                    let destinations = ends.map_or(0, here);
                    let blocks = u64::from(sources.end - sources.start) * destinations;
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
                    .flat_map(|subtree| self.ends(rank, level, &subtree).ranks())
                    .map(|end| after[end as usize])
                    .sum()
            });
            let before = before.collect();
            counts.insert(0, before);
        }
        counts
    }
}

/// What is left of `range` in pieces of `size`, the last one as long as it is.
fn pieces(range: &Range<u32>, size: u32) -> impl Iterator<Item = Range<u32>> + use<> {
    let Range { start, end } = *range;
    (start..end)
        .step_by(size as usize)
        .map(move |first| first..first + size.min(end - first))
}

/// Ranks of a subtree at equal distances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The subtree.
    pub subtree: Range<u32>,
    /// The offset there of the first one.
    pub offset: u32,
    /// From one to the next.
    pub step: u32,
}

impl Ends {
    /// All of them.
    pub fn ranks(&self) -> StepBy<Range<u32>> {
        let Range { start, end } = self.subtree;
        (start.saturating_add(self.offset)..end).step_by(self.step as usize)
    }

    /// How many of them are among the first `ranks` of the subtree.
    pub fn below(&self, ranks: u32) -> u32 {
        let ranks = ranks.min(self.subtree.end - self.subtree.start);
        ranks.saturating_sub(self.offset).div_ceil(self.step)
    }
}

/// Which destinations' blocks the ranks of one rank's subtrees hold.
///
/// A span is some destinations in a row; the first rank of the subtree holds the blocks for the first of them, the next rank
/// for the next. If the span is longer than the subtree, the first rank follows the last. The world has one span, and so have,
/// but for the last, all the subtrees below. That of a clipped subtree falls into pieces, as the ranks that it lacks have others
/// stand in for them: as many as its first rank holds destinations' blocks. So a rank has one span for each size of the smallest
/// clipped subtree that fits into p, roughly: some ⌈log p⌉ on average over all ranks, and up to p/2 at the very end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spans {
    whole: (u32, Vec<Range<u32>>),
    /// By level, the highest first.
    clipped: Vec<(u32, Vec<Range<u32>>)>,
}

impl Spans {
    /// Those of the rank's subtree before `level`, in the order of ranks; if it is alone in it, those of the group after.
    pub fn before(&self, level: u32) -> &[Range<u32>] {
        let found = self.clipped.iter().rev().find(|(of, _)| *of >= level);
        &found.unwrap_or(&self.whole).1
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

    /// The destinations of the blocks that a rank holds, in order.
    fn held(all: &CompleteExchange, rank: u32, level: u32) -> Vec<u32> {
        if all.groups.held(rank, level).len() == 1 {
            return (0..all.p).collect();
        }
        all.held(rank, level, &all.spans(rank))
            .flat_map(Progression::numbers)
            .collect()
    }

    fn exchanges() -> impl Iterator<Item = CompleteExchange> {
        (1..=70_u32).flat_map(|p| {
            let radices = (2..=6).chain([p.max(2), p + 1]);
            radices.map(move |radix| CompleteExchange::new(p, radix))
        })
    }

    #[test]
    fn each_source_has_every_destination_once_in_its_subtree() {
        for all in exchanges() {
            for level in 0..=all.groups.levels() {
                for first in (0..all.p).step_by(all.width(level) as usize) {
                    let subtree = all.groups.held(first, level);
                    let mut found: Vec<u32> =
                        subtree.flat_map(|rank| held(&all, rank, level)).collect();
                    found.sort_unstable();
                    assert!(found.into_iter().eq(0..all.p), "{all:?}, level {level}");
                }
            }
        }
    }

    #[test]
    fn what_a_rank_holds_is_what_is_with_the_ends_of_each_subtree_after() {
        for all in exchanges() {
            for level in 0..all.groups.levels() {
                for rank in 0..all.p {
                    let ends = all
                        .subtrees(rank, level)
                        .flat_map(|subtree| all.ends(rank, level, &subtree).ranks());
                    let mut after: Vec<u32> =
                        ends.flat_map(|end| held(&all, end, level + 1)).collect();
                    after.sort_unstable();
                    assert_eq!(
                        held(&all, rank, level),
                        after,
                        "{all:?}, rank {rank}, level {level}"
                    );
                }
            }
        }
    }

    /// The largest number of spans that a rank asks for at a level.
    fn most_spans(all: &CompleteExchange, rank: u32) -> u64 {
        let spans = all.spans(rank);
        let levels = 0..=all.groups.levels();
        let counts = levels.map(|level| spans.before(level).len() as u64);
        counts.max().unwrap_or(0)
    }

    #[test]
    fn ranks_have_few_spans_on_average_and_one_outside_the_last_subtree() {
        let large = [4096, 4095, 5461, 4099].map(|p| CompleteExchange::new(p, 2));
        for all in exchanges().chain(large) {
            let levels = all.groups.levels();
            let top = levels.saturating_sub(1);
            let last = match all.groups.held(all.p - 1, top) {
                whole if whole.len() as u32 == all.width(top) => whole.end,
                clipped => clipped.start,
            };
            assert!((0..last).all(|rank| most_spans(&all, rank) == 1), "{all:?}");
            let sum: u64 = (0..all.p).map(|rank| most_spans(&all, rank)).sum();
            let bound = 3 * u64::from(levels.max(1)) * u64::from(all.p);
            assert!(2 * sum <= bound, "{all:?}: {sum}");
        }
    }

    #[test]
    fn a_clipped_subtree_has_as_many_spans_as_its_first_rank_has_destinations() {
        for all in exchanges() {
            for level in 0..=all.groups.levels() {
                let first = all.groups.held(all.p - 1, level).start;
                let size = all.p - first;
                if size > 1 && size < all.width(level) {
                    let spans = all.spans(first);
                    let destinations = held(&all, first, level);
                    assert_eq!(spans.before(level).len(), destinations.len(), "{all:?}");
                }
            }
        }
    }

    #[test]
    fn five_ranks_as_in_the_figure() {
        let all = CompleteExchange::new(5, 2);
        assert_eq!(held(&all, 0, 2), [0, 4]);
        assert_eq!(held(&all, 4, 2), [0, 1, 2, 3, 4]);
        assert!(all.ends(4, 2, &(0..4)).ranks().eq(0..4));
        assert!(all.passes(0, 2).is_some_and(|ends| ends.ranks().eq(0..4)));
        assert!(all.passes(1, 2).is_some_and(|ends| ends.ranks().eq([1, 3])));
        assert_eq!(all.passes(4, 2), None);
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
