//! One rank at one level: which of the blocks that it holds are for which subtree of its group.
//!
//! It holds those for some destinations of every span. A full subtree shares them out in turn, one to each rank, so those for another
//! one's digit are every so many-th. A clipped subtree does so as if it were full, and its ranks stand in for those that it lacks.
//!
//! ```text
//! radix 2, 4 ranks, level 1, rank 0      holds 0, 2 of the span 0..4: 0 is for its own subtree 0..2, 2 for the other, 2..4
//! radix 2, 5 ranks, level 2, rank 4      holds 0, 1, 2, 3 and 4: the first four are for the full subtree 0..4, by way of rank 0
//! ```
//!
//! Source: Q 5.1.3, 7.3.

use super::held::Held;
use crate::pattern::complete_exchange::{CompleteExchange, Ends, Spans};
use crate::pattern::progression::{Progression, append};
use crate::schedule::Blocks;
use alloc::vec::Vec;
use core::ops::Range;

/// One rank at one level.
pub(super) struct Level<'a> {
    pub(super) all: &'a CompleteExchange,
    pub(super) number: u32,
    rank: u32,
    /// The rank's subtree.
    pub(super) own: Range<u32>,
    /// The subtrees that exchange.
    pub(super) group: Range<u32>,
    /// Those of the group.
    pub(super) spans: &'a [Range<u32>],
}

impl<'a> Level<'a> {
    pub(super) fn new(
        all: &'a CompleteExchange,
        number: u32,
        rank: u32,
        spans: &'a Spans,
    ) -> Level<'a> {
        Level {
            all,
            number,
            rank,
            own: all.groups().held(rank, number),
            group: all.groups().held(rank, number + 1),
            spans: spans.before(number + 1),
        }
    }

    /// The destinations whose blocks the rank holds after the level.
    pub(super) fn destinations_after(&self, spans: &Spans) -> Vec<Progression> {
        let mut destinations = Vec::new();
        for some in self.all.held(self.rank, self.number + 1, spans) {
            append(&mut destinations, some);
        }
        destinations
    }

    /// The subtree that the rank passes on for and from, if there is a clipped one besides its own: with whom those blocks end.
    pub(super) fn passes(&self) -> Option<Ends> {
        self.all.passes(self.rank, self.number)
    }

    /// The clipped subtree of the group.
    pub(super) fn clipped(&self) -> Range<u32> {
        let clipped = self.all.groups().clipped(self.rank, self.number);
        clipped.unwrap_or_default()
    }

    /// What of a span is for `subtree`, and those after it.
    pub(super) fn rest_of(&self, span: &Range<u32>, subtree: &Range<u32>) -> Range<u32> {
        let offset = subtree.start - self.group.start;
        span.start + offset.min(span.end - span.start)..span.end
    }

    /// The blocks that go to a subtree of the group: those that stay where they arrive, and then those that are passed on.
    pub(super) fn for_subtree(&self, before: &Held, subtree: &Range<u32>) -> Vec<Blocks> {
        let is_full = self.own.len() as u32 == self.all.width(self.number);
        before.part(match is_full {
            true => self.for_digit(before, subtree),
            false => self.for_offsets(before, subtree),
        })
    }

    /// From a full subtree: of the destinations that the rank holds, those with the subtree's digit.
    fn for_digit(&self, before: &Held, subtree: &Range<u32>) -> Vec<Progression> {
        let (offset, width) = (self.rank - self.own.start, self.all.width(self.number));
        let digit = (subtree.start - self.group.start) / width;
        let radix = self.all.radix();
        let (mut places, mut index) = (Vec::new(), 0);
        for span in self.spans {
            let count = (span.end - span.start)
                .saturating_sub(offset)
                .div_ceil(width);
            let some = Progression {
                first: before.place(index, span.start) + digit,
                step: radix,
                times: count.saturating_sub(digit).div_ceil(radix),
            };
            append(&mut places, some);
            index += count;
        }
        places
    }

    /// From a clipped subtree: of each span first the destination that is with the partner, and after all of these the rest, which it
    /// passes on.
    fn for_offsets(&self, before: &Held, subtree: &Range<u32>) -> Vec<Progression> {
        let subtrees = self.all.subtrees(self.rank, self.number);
        let ends = subtrees.map(|other| self.all.ends(self.rank, self.number, &other));
        let ends: Vec<Ends> = ends.collect();
        let (mut stay, mut pass) = (Vec::new(), Vec::new());
        let mut index = 0;
        for span in self.spans {
            for ends in &ends {
                let there = self.rest_of(span, &ends.subtree);
                let count = ends.below(there.end - there.start);
                if ends.subtree == *subtree && count > 0 {
                    // The input has the destinations in a row as well.
                    let first = before.place(index, there.start + ends.offset);
                    append(&mut stay, in_a_row(first, 1));
                    append(&mut pass, in_a_row(first + 1, count - 1));
                }
                index += count;
            }
        }
        stay.extend(pass);
        stay
    }
}

fn in_a_row(first: u32, times: u32) -> Progression {
    let step = 1;
    Progression { first, step, times }
}
