//! Line groups: on each line of a torus all send to all, one dimension after the other, and on long ones first in groups.
//!
//! First all of a group send to one another, then the ranks at a group's ends send its result to all other groups, each to its side.
//!
//! ```text
//! line of 8, groups of 4      0 1 2 3: all to all      4 5 6 7: all to all      then 3 ─▶ 4 5 6 7 and 4 ─▶ 3 2 1 0
//! ```
//!
//! Source: B 3.2, figures 3 and 4.

use crate::machine::Torus;
use alloc::vec::Vec;

/// One rank's part in an exchange: who sends to it, and to whom it sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// In the order of their coordinates, this rank where it stands itself: all that is combined.
    pub sources: Vec<u32>,
    /// The ranks on this rank's two sides, the nearest first, that get what this rank has.
    pub targets: [Vec<u32>; 2],
}

impl Turn {
    /// The messages that it sends.
    #[must_use]
    pub fn sends(&self) -> usize {
        self.targets.iter().map(Vec::len).sum()
    }
}

/// A rank's turns, one or two for each dimension: in groups of so many ranks, or, if that is 0, on whole lines.
#[must_use]
pub fn turns(torus: &Torus, group: u32, rank: u32) -> Vec<Turn> {
    let mut turns = Vec::new();
    for dimension in torus.dimensions() {
        let n = torus.extents()[dimension];
        let group = if group == 0 { n } else { group.min(n) };
        turns.push(inside_group(torus, dimension, group, rank));
        if group < n {
            turns.push(between_groups(torus, dimension, group, rank));
        }
    }
    turns
}

/// All of a group send to one another.
fn inside_group(torus: &Torus, dimension: usize, group: u32, rank: u32) -> Turn {
    let at = torus.coordinates(rank)[dimension];
    let first = at / group * group;
    let end = (first + group).min(torus.extents()[dimension]);
    let sources: Vec<u32> = (first..end)
        .map(|other| torus.moved(rank, dimension, other))
        .collect();
    let others = sources.iter().copied().filter(|other| *other != rank);
    let targets = sides(torus, dimension, rank, others);
    Turn { sources, targets }
}

/// The ends of groups send to all other groups: who is nearer, and the lower where both are as near.
fn between_groups(torus: &Torus, dimension: usize, group: u32, rank: u32) -> Turn {
    let n = torus.extents()[dimension];
    let at = |other: u32| torus.coordinates(other)[dimension];
    let sender = |group_of: u32, to: u32| {
        let first = at(group_of) / group * group;
        let ends = [first, (first + group).min(n) - 1];
        let ends = ends.map(|end| torus.moved(rank, dimension, end));
        let [low, high] = ends.map(|end| torus.way(end, to, dimension).1);
        ends[usize::from(high < low)]
    };
    let own_group = at(rank) / group;
    let firsts = (0..n).step_by(group as usize);
    let firsts = firsts.map(|first| torus.moved(rank, dimension, first));
    let source = |first: u32| {
        if at(first) / group == own_group {
            rank
        } else {
            sender(first, rank)
        }
    };
    let gets = |other: &u32| at(*other) / group != own_group && sender(rank, *other) == rank;
    let targets = sides(
        torus,
        dimension,
        rank,
        torus.line(rank, dimension).filter(gets),
    );
    Turn {
        sources: firsts.map(source).collect(),
        targets,
    }
}

/// Ranks of a line by the side of `rank` on which they are, the nearest first.
fn sides(
    torus: &Torus,
    dimension: usize,
    rank: u32,
    others: impl Iterator<Item = u32>,
) -> [Vec<u32>; 2] {
    let mut sides = [Vec::new(), Vec::new()];
    for other in others {
        let (direction, hops) = torus.way(rank, other, dimension);
        sides[usize::from(!direction.up)].push((hops, other));
    }
    sides.map(|mut side| {
        side.sort_unstable();
        side.into_iter().map(|(_, other)| other).collect()
    })
}
