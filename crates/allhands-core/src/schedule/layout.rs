//! The layout of a call's data: how many elements each unit has.

use crate::call::{Collective, Unit};
use alloc::vec::Vec;

/// How many elements each unit has; what turns blocks into bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A vector of this many elements, cut as evenly as it can be (the first parts one longer).
    Even(usize),
    /// Every unit has this many elements.
    Regular(usize),
    /// Unit `r` (a rank's block) has `counts[r]` elements.
    Blocks(Vec<usize>),
    /// Unit `s * ranks + d` (a pair of an alltoall) has `counts[s * ranks + d]` elements.
    Pairs(Vec<usize>),
    /// Only the own block is known: rank `rank`'s has `elements` (gather, scatter away from the root).
    Own {
        /// The rank that knows.
        rank: u32,
        /// Elements of its block.
        elements: usize,
    },
    /// Only the own row and column of an alltoall are known.
    Exchange {
        /// The rank that knows.
        rank: u32,
        /// Elements that it sends to each rank.
        send: Vec<usize>,
        /// Elements that it receives from each rank.
        receive: Vec<usize>,
    },
    /// The same, and the counts of blocks that pass through the rank on their way: see [`learned`](crate::schedule::learned).
    Passing {
        /// The rank that knows.
        rank: u32,
        /// Elements that it sends to each rank.
        send: Vec<usize>,
        /// Elements that it receives from each rank.
        receive: Vec<usize>,
        /// Units of others and their elements, in the order of units.
        passing: Vec<(Unit, usize)>,
    },
}

impl Layout {
    /// The layout of a regular call: `elements` are those of a block where blocks go between ranks, and those of the whole
    /// vector otherwise.
    #[must_use]
    pub fn regular(collective: Collective, elements: usize) -> Layout {
        match collective {
            Collective::Scatter
            | Collective::Gather
            | Collective::Allgather
            | Collective::Alltoall => Layout::Regular(elements),
            Collective::Barrier
            | Collective::Broadcast
            | Collective::ReduceScatter
            | Collective::Reduce
            | Collective::Allreduce
            | Collective::Scan
            | Collective::Exscan => Layout::Even(elements),
        }
    }

    /// The elements of `unit` when vectors are cut in `parts`, or blocks in so many [`pieces`](crate::call::Call::pieces); `None` if this
    /// rank cannot know.
    #[must_use]
    pub fn elements(&self, unit: Unit, parts: u32, pieces: u32) -> Option<usize> {
        if pieces == 1 {
            return self.whole(unit, parts);
        }
        let (block, piece) = (unit / Unit::from(pieces), unit % Unit::from(pieces));
        let block = self.whole(block, parts / pieces)?;
        Some(even_share(block, pieces, piece as usize))
    }

    /// The elements of a part, or of a whole block.
    fn whole(&self, unit: Unit, parts: u32) -> Option<usize> {
        match self {
            Layout::Even(total) => Some(even_share(*total, parts, unit as usize)),
            Layout::Regular(block) => Some(*block),
            Layout::Blocks(counts) | Layout::Pairs(counts) => counts.get(unit as usize).copied(),
            Layout::Own { rank, elements } => (unit == Unit::from(*rank)).then_some(*elements),
            Layout::Exchange {
                rank,
                send,
                receive,
            } => own_pair(*rank, send, receive, unit),
            Layout::Passing {
                rank,
                send,
                receive,
                passing,
            } => own_pair(*rank, send, receive, unit).or_else(|| {
                let at = passing.binary_search_by_key(&unit, |(unit, _)| *unit);
                at.ok().map(|at| passing[at].1)
            }),
        }
    }
}

impl Layout {
    /// The elements of the longest unit when vectors are cut in `parts`, or blocks in so many [`pieces`](crate::call::Call::pieces);
    /// `None` if this rank cannot know.
    #[must_use]
    pub fn longest(&self, parts: u32, pieces: u32) -> Option<usize> {
        let longest = match self {
            Layout::Even(total) => Some(total.div_ceil((parts / pieces) as usize)),
            Layout::Regular(block) => Some(*block),
            Layout::Blocks(counts) | Layout::Pairs(counts) => {
                Some(counts.iter().copied().max().unwrap_or(0))
            }
            Layout::Own { .. } | Layout::Exchange { .. } | Layout::Passing { .. } => None,
        };
        longest.map(|elements| elements.div_ceil(pieces as usize))
    }
}

/// The elements of a pair to which a rank belongs.
fn own_pair(rank: u32, send: &[usize], receive: &[usize], unit: Unit) -> Option<usize> {
    let (rank, ranks) = (Unit::from(rank), send.len() as Unit);
    let (source, destination) = (unit / ranks, unit % ranks);
    if source == rank {
        send.get(destination as usize).copied()
    } else if destination == rank {
        receive.get(source as usize).copied()
    } else {
        None
    }
}

/// The first element of part `part` of a vector of `total` elements cut evenly in `parts`.
#[must_use]
pub(crate) fn even_offset(total: usize, parts: u32, part: usize) -> usize {
    let parts = parts as usize;
    part * (total / parts) + part.min(total % parts)
}

/// The elements of part `part` of a vector of `total` elements cut evenly in `parts`.
fn even_share(total: usize, parts: u32, part: usize) -> usize {
    even_offset(total, parts, part + 1) - even_offset(total, parts, part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_parts_differ_by_at_most_one_and_add_up() {
        for total in 0..40 {
            for parts in 1..17 {
                let sizes: Vec<usize> = (0..parts)
                    .map(|u| {
                        Layout::Even(total)
                            .elements(Unit::from(u), parts, 1)
                            .unwrap()
                    })
                    .collect();
                assert_eq!(sizes.iter().sum::<usize>(), total);
                assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn pieces_of_a_block_are_even_and_make_up_the_block() {
        // A vector of ten elements in four blocks: three, three, two, two; and blocks of lengths of their own.
        let even = [[2, 1], [2, 1], [1, 1], [1, 1]];
        let blocks = [[3, 2], [0, 0], [1, 0], [4, 4]];
        let counts = blocks.map(|[one, other]| one + other);
        for (layout, expected, longest) in [
            (Layout::Even(10), even, 2),
            (Layout::Blocks(counts.to_vec()), blocks, 4),
            (Layout::Regular(5), [[3, 2]; 4], 3),
        ] {
            let found: Vec<usize> = (0..8)
                .map(|unit| layout.elements(unit, 8, 2).expect("all are known"))
                .collect();
            assert_eq!(found, expected.concat(), "{layout:?}");
            assert_eq!(layout.longest(8, 2), Some(longest), "{layout:?}");
        }
        let own = Layout::Own {
            rank: 2,
            elements: 5,
        };
        let known: Vec<_> = (3..7).map(|unit| own.elements(unit, 8, 2)).collect();
        assert_eq!(known, [None, Some(3), Some(2), None]);
    }
}
