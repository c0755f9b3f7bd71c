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

    /// The elements of `unit` when vectors are cut in `parts`; `None` if this rank cannot know.
    #[must_use]
    pub fn elements(&self, unit: Unit, parts: u32) -> Option<usize> {
        match self {
            Layout::Even(total) => {
                let unit = unit as usize;
                Some(even_offset(*total, parts, unit + 1) - even_offset(*total, parts, unit))
            }
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
    /// The elements of the longest unit when vectors are cut in `parts`; `None` if this rank cannot know.
    #[must_use]
    pub fn longest(&self, parts: u32) -> Option<usize> {
        match self {
            Layout::Even(total) => Some(total.div_ceil(parts as usize)),
            Layout::Regular(block) => Some(*block),
            Layout::Blocks(counts) | Layout::Pairs(counts) => {
                Some(counts.iter().copied().max().unwrap_or(0))
            }
            Layout::Own { .. } | Layout::Exchange { .. } | Layout::Passing { .. } => None,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_parts_differ_by_at_most_one_and_add_up() {
        for total in 0..40 {
            for parts in 1..17 {
                let sizes: Vec<usize> = (0..parts)
                    .map(|u| Layout::Even(total).elements(Unit::from(u), parts).unwrap())
                    .collect();
                assert_eq!(sizes.iter().sum::<usize>(), total);
                assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            }
        }
    }
}
