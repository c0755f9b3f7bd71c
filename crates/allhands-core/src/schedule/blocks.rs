//! Blocks: the pieces of a rank's memory that operations name.

use crate::call::{Alias, Unit};
use alloc::vec::Vec;

/// One of the four memories that a rank has during a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// What the user gave; never written (unless it is the output too, in place).
    Input,
    /// What the user gets.
    Output,
    /// The call's own memory.
    Scratch,
    /// Memory that peers may write or read by one-sided operations.
    Window,
}

impl Space {
    /// All four, in the order of their numbers.
    pub const ALL: [Space; 4] = [Space::Input, Space::Output, Space::Scratch, Space::Window];

    /// The space's place in [`Space::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Space::Input => 0,
            Space::Output => 1,
            Space::Scratch => 2,
            Space::Window => 3,
        }
    }
}

/// A strided set of blocks of one space: `times` runs of `run` blocks, `stride` blocks apart.
///
/// In a repeat, iteration `i` means the same set moved by `advance * i` blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The space.
    pub space: Space,
    /// The first block of the first run.
    pub first: u32,
    /// Blocks in a run.
    pub run: u32,
    /// Blocks from the start of a run to the start of the next; negative where the runs go down.
    pub stride: i32,
    /// The number of runs.
    pub times: u32,
    /// Blocks by which an iteration of a repeat moves the set.
    pub advance: i32,
}

impl Blocks {
    /// `count` consecutive blocks from `first`.
    #[must_use]
    pub const fn new(space: Space, first: u32, count: u32) -> Blocks {
        Blocks {
            space,
            first,
            run: count,
            stride: count as i32,
            times: 1,
            advance: 0,
        }
    }

    /// `times` runs of `run` blocks, `stride` apart.
    #[must_use]
    pub const fn strided(space: Space, first: u32, run: u32, stride: i32, times: u32) -> Blocks {
        Blocks {
            space,
            first,
            run,
            stride,
            times,
            advance: 0,
        }
    }

    /// `count` blocks from `first` downwards.
    #[must_use]
    pub const fn descending(space: Space, first: u32, count: u32) -> Blocks {
        Blocks::strided(space, first, 1, -1, count)
    }

    /// The same blocks, moving by `blocks` in each iteration of a repeat.
    #[must_use]
    pub const fn advancing(self, blocks: i32) -> Blocks {
        Blocks {
            advance: blocks,
            ..self
        }
    }

    /// How many blocks these are.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.run * self.times
    }

    /// Blocks `from..from + count` of a set that is one run.
    #[must_use]
    pub fn slice(&self, from: u32, count: u32) -> Blocks {
        debug_assert!(
            self.times == 1 && from + count <= self.run,
            "a slice of one run, inside it"
        );
        Blocks {
            first: self.first + from,
            run: count,
            stride: count as i32,
            ..*self
        }
    }

    /// The block at `index` of a set that is one run.
    #[must_use]
    pub fn at(&self, index: u32) -> Blocks {
        self.slice(index, 1)
    }

    /// Blocks `first..first + count` of a set that is one run, counted round from its last to its first.
    #[must_use]
    pub fn wrapped(&self, first: u32, count: u32) -> [Blocks; 2] {
        let until_end = count.min(self.count() - first);
        [
            self.slice(first, until_end),
            self.slice(0, count - until_end),
        ]
    }

    /// Where the blocks really lie on a rank whose input and output share memory as `alias` says; a single run has
    /// its own length for a stride.
    #[must_use]
    pub(crate) fn home(self, alias: Alias) -> Blocks {
        let (space, shift) = match (alias, self.space) {
            (Alias::InputInOutput { first }, Space::Input) => (Space::Output, first),
            (Alias::OutputInInput { first }, Space::Output) => (Space::Input, first),
            _ => (self.space, 0),
        };
        Blocks {
            space,
            first: self.first + shift,
            stride: if self.times == 1 {
                self.run as i32
            } else {
                self.stride
            },
            ..self
        }
    }

    /// The runs of iteration `iteration` as (first block, number of blocks).
    pub fn runs(&self, iteration: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
        let Blocks {
            first,
            run,
            stride,
            times,
            advance,
            ..
        } = *self;
        let moved = (i64::from(first) + i64::from(advance) * i64::from(iteration)) as u32;
        (0..times)
            .map(move |t| (moved.wrapping_add_signed(t as i32 * stride), run))
            .filter(|&(_, run)| run > 0)
    }

    /// Every block of iteration `iteration`, in order.
    pub fn each(&self, iteration: u32) -> impl Iterator<Item = u32> + use<> {
        self.runs(iteration)
            .flat_map(|(first, run)| first..first + run)
    }
}

/// What an operation accepts as its blocks: one set, several, or an array of them.
pub trait BlockList {
    /// The sets.
    fn sets(&self) -> &[Blocks];
}

impl BlockList for Blocks {
    fn sets(&self) -> &[Blocks] {
        core::slice::from_ref(self)
    }
}

impl BlockList for [Blocks] {
    fn sets(&self) -> &[Blocks] {
        self
    }
}

impl<const N: usize> BlockList for [Blocks; N] {
    fn sets(&self) -> &[Blocks] {
        self
    }
}

impl BlockList for Vec<Blocks> {
    fn sets(&self) -> &[Blocks] {
        self
    }
}

impl<T: BlockList + ?Sized> BlockList for &T {
    fn sets(&self) -> &[Blocks] {
        (**self).sets()
    }
}

/// A list of [`Blocks`] in a schedule's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// The index of the first entry.
    pub start: u32,
    /// The number of entries.
    pub len: u32,
}

/// Which unit each block of a region is sized for (and, in a proof, must hold).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Block `i` is for unit `(first + i) mod modulo`.
    Run {
        /// The unit of block 0.
        first: u32,
        /// The number of units.
        modulo: u32,
    },
    /// Block `i` of an alltoall in transit after Bruck's steps up to and including the digit of weight
    /// `weight`: it stands for the displacement `j` with digit value `digit` there, and on its way
    /// has come to this rank from rank `rank - (j mod (weight * radix))`; it goes on to that rank plus `j`.
    Transit {
        /// The rank that holds the region.
        rank: u32,
        /// The number of ranks.
        ranks: u32,
        /// `radix` to the power of the step.
        weight: u32,
        /// The radix.
        radix: u32,
        /// The value of the digit.
        digit: u32,
    },
    /// Block `i` is for the pair (source `(first + i / width * source_step) mod ranks`, destination
    /// `(onward + i mod width * step) mod ranks`), in an alltoall that forwards blocks by groups: source by source.
    Pairs {
        /// The number of ranks.
        ranks: u32,
        /// The first source.
        first: u32,
        /// Ranks from a source to the next.
        source_step: u32,
        /// The first destination.
        onward: u32,
        /// Ranks from a destination to the next.
        step: u32,
        /// Destinations for each source.
        width: u32,
    },
    /// Block `i` is for the pair (source `(first + i mod width) mod ranks`, destination `(onward + i / width * step) mod ranks`):
    /// destination by destination.
    PairsByDestination {
        /// The number of ranks.
        ranks: u32,
        /// The first source.
        first: u32,
        /// Sources for each destination.
        width: u32,
        /// The first destination.
        onward: u32,
        /// Ranks from a destination to the next.
        step: u32,
    },
    /// Window blocks for any unit, each as long as the longest one; how much of a slot an operation touches, its other
    /// blocks say. So ranks that are in different groups ask for the same window.
    Slots,
}

impl Units {
    /// The unit of a slot, which is for any.
    pub const ANY: Unit = Unit::MAX;

    /// The unit of block `index` of the region.
    #[must_use]
    pub fn unit(&self, index: u32) -> Unit {
        match *self {
            Units::Run { first, modulo } => {
                (Unit::from(first) + Unit::from(index)) % Unit::from(modulo)
            }
            Units::Transit {
                rank,
                ranks,
                weight,
                radix,
                digit,
            } => {
                let displacement = transit_displacement(index, weight, radix, digit);
                let travelled = displacement % (weight * radix);
                let source =
                    (u64::from(rank) + u64::from(ranks) - u64::from(travelled)) % u64::from(ranks);
                let destination = (source + u64::from(displacement)) % u64::from(ranks);
                source * u64::from(ranks) + destination
            }
            Units::Pairs {
                ranks,
                first,
                source_step,
                onward,
                step,
                width,
            } => {
                let ranks = u64::from(ranks);
                let source =
                    (u64::from(first) + u64::from(index / width) * u64::from(source_step)) % ranks;
                let destination =
                    (u64::from(onward) + u64::from(index % width) * u64::from(step)) % ranks;
                source * ranks + destination
            }
            Units::PairsByDestination {
                ranks,
                first,
                width,
                onward,
                step,
            } => {
                let ranks = u64::from(ranks);
                let source = (u64::from(first) + u64::from(index % width)) % ranks;
                let destination =
                    (u64::from(onward) + u64::from(index / width) * u64::from(step)) % ranks;
                source * ranks + destination
            }
            Units::Slots => Units::ANY,
        }
    }
}

/// The `index`-th number (counting up) whose digit of weight `weight` is `digit`.
fn transit_displacement(index: u32, weight: u32, radix: u32, digit: u32) -> u32 {
    let (high, low) = (index / weight, index % weight);
    (high * radix + digit) * weight + low
}

/// A run of scratch or window blocks that an algorithm asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first block in its space.
    pub first: u32,
    /// The number of blocks.
    pub blocks: u32,
    /// What the blocks are sized for.
    pub units: Units,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_move_with_the_iteration() {
        let blocks = Blocks::strided(Space::Output, 1, 2, 4, 3).advancing(10);
        let got: std::vec::Vec<u32> = blocks.each(1).collect();
        assert_eq!(got, [11, 12, 15, 16, 19, 20]);
    }

    #[test]
    fn transit_numbers_digits() {
        // Binary, weight 2: numbers with bit 1 set: 2 3 6 7 10 11.
        let got: std::vec::Vec<u32> = (0..6).map(|i| transit_displacement(i, 2, 2, 1)).collect();
        assert_eq!(got, [2, 3, 6, 7, 10, 11]);
    }

    #[test]
    fn pairs_by_destination_are_the_pairs_of_each_destination_in_turn() {
        // Of 10 ranks, sources 8, 9 and 0 for destinations 3, 7 and 1.
        let units = Units::PairsByDestination {
            ranks: 10,
            first: 8,
            width: 3,
            onward: 3,
            step: 4,
        };
        let got: std::vec::Vec<Unit> = (0..9).map(|i| units.unit(i)).collect();
        assert_eq!(got, [83, 93, 3, 87, 97, 7, 81, 91, 1]);
    }
}
