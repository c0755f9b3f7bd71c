//! What a rank holds between levels: the blocks of all its sources, one destination after the other.
//!
//! ```text
//! 4 ranks, rank 0 after the first level      (0, 0) (1, 0) (0, 2) (1, 2): those of 0 and 1, for 0 and then for 2
//! ```
//!
//! Source: Q 5.1.3, equation 5.

use crate::pattern::progression::Progression;
use crate::schedule::{Blocks, Builder, Space, Units};
use alloc::vec::Vec;
use core::ops::Range;

/// Blocks that a rank holds: those of all `sources`, one destination after the other.
pub(super) struct Held {
    pub(super) sources: Range<u32>,
    /// By destination and then source; or the input, which has blocks in the order of ranks.
    at: Blocks,
    is_input: bool,
}

impl Held {
    /// What a rank begins with: its own blocks, for all.
    pub(super) fn input(b: &Builder) -> Held {
        Held {
            sources: b.rank()..b.rank() + 1,
            at: b.input(),
            is_input: true,
        }
    }

    /// What a rank ends with: the blocks of all, for itself.
    pub(super) fn output(b: &Builder, sources: Range<u32>) -> Held {
        Held {
            sources,
            at: b.output(),
            is_input: false,
        }
    }

    /// Room for the blocks of `sources` for all these destinations.
    pub(super) fn scratch(
        b: &mut Builder,
        sources: Range<u32>,
        destinations: &[Progression],
    ) -> Held {
        let (ranks, width) = (b.ranks(), sources.end - sources.start);
        let rooms = destinations.iter().map(|some| {
            let units = Units::PairsByDestination {
                ranks,
                first: sources.start,
                width,
                onward: some.first,
                step: some.step,
            };
            b.scratch(units, width * some.times)
        });
        let all = rooms.reduce(|all, room| Blocks::new(all.space, all.first, all.run + room.run));
        Held {
            sources,
            at: all.unwrap_or(Blocks::new(Space::Scratch, 0, 0)),
            is_input: false,
        }
    }

    fn width(&self) -> u32 {
        self.sources.end - self.sources.start
    }

    /// The place of a destination, the one with number `index` of those that this is for.
    pub(super) fn place(&self, index: u32, destination: u32) -> u32 {
        if self.is_input { destination } else { index }
    }

    /// All blocks for the destinations with these places.
    pub(super) fn part(&self, places: impl IntoIterator<Item = Progression>) -> Vec<Blocks> {
        let (width, at) = (self.width(), self.at);
        let sets = places.into_iter().map(|some| {
            let first = at.first + some.first * width;
            match some.times {
                1 => Blocks::new(at.space, first, width),
                times => {
                    let stride = (some.step * width) as i32;
                    Blocks::strided(at.space, first, width, stride, times)
                }
            }
        });
        sets.collect()
    }

    /// The blocks of some of the sources, for all destinations.
    pub(super) fn of(&self, some: &Range<u32>) -> Blocks {
        let (at, width) = (self.at, self.width());
        Blocks::strided(
            at.space,
            at.first + (some.start - self.sources.start),
            some.end - some.start,
            width as i32,
            at.run.checked_div(width).unwrap_or(0),
        )
    }
}
