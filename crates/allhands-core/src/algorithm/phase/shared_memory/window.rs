//! Windows in phases: who may fill them, who has, who may read them, and when they may be filled again.
//!
//! Two counters, which only grow and which any number of ranks watch: `full` is raised by everyone who has filled a window,
//! `empty` by everyone who has read. Who fills first watches `empty`, with one call's worth of credit, so that no call
//! overwrites what an earlier one still reads.

use crate::schedule::{Blocks, Builder, Units};
use alloc::vec::Vec;

/// A flag of a rank.
type Flag = (u32, u16);

/// The two counters of windows that are filled and read in every call.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    full: Flag,
    /// The counter of readers, and how many there are.
    empty: Option<(Flag, u32)>,
}

impl Turns {
    /// Counters for windows that `readers` ranks read in every call, one at rank `full` and one at rank `empty`.
    ///
    /// A call may follow one with another root: a counter that is always at the same rank must be watched by the same ranks
    /// whoever the root is.
    pub fn new(b: &mut Builder, [full, empty]: [u32; 2], readers: u32) -> Turns {
        let full = (full, b.flag(0));
        let empty = Some(((empty, b.flag(readers)), readers));
        Turns { full, empty }
    }

    /// Without the counter of readers: for algorithms that know otherwise when all have read.
    pub fn unguarded(b: &mut Builder, full: u32) -> Turns {
        let (full, empty) = ((full, b.flag(0)), None);
        Turns { full, empty }
    }

    /// Waits until all readers of the call before are done.
    pub fn take(&self, b: &mut Builder) {
        if let Some(((at, flag), readers)) = self.empty {
            b.watch(at, flag, readers);
            b.step();
        }
    }

    /// Says that this rank has filled its part.
    pub fn filled(&self, b: &mut Builder) {
        b.notify(self.full.0, self.full.1);
    }

    /// Waits until `writers` have filled theirs.
    pub fn wait_full(&self, b: &mut Builder, writers: u32) {
        b.watch(self.full.0, self.full.1, writers);
        b.step();
    }

    /// Says that this rank has read what it wanted.
    pub fn give_back(&self, b: &mut Builder) {
        b.step();
        if let Some(((at, flag), _)) = self.empty {
            b.notify(at, flag);
            b.step();
        }
    }

    /// Copies what is this rank's into its own window, as every rank does, and waits until all have.
    pub fn fill(&self, b: &mut Builder, own: &[(Blocks, Blocks)]) {
        for (from, into) in own {
            b.copy(*from, *into);
        }
        b.step();
        self.filled(b);
        self.wait_full(b, b.ranks());
    }
}

/// One phase of all ranks: [`Turns::fill`], for windows that everyone reads until the counters that this returns are given
/// back.
pub fn fill_all(b: &mut Builder, own: &[(Blocks, Blocks)]) -> Turns {
    let turns = Turns::new(b, [0, 0], b.ranks());
    turns.take(b);
    turns.fill(b, own);
    turns
}

/// A window with a slot for each rank's block, or for the one block that each rank has.
pub fn slots(b: &mut Builder, blocks: u32) -> Blocks {
    b.window(Units::Slots, blocks)
}

/// A window with room for a vector.
pub fn vector(b: &mut Builder) -> Blocks {
    let modulo = b.parts();
    b.window(Units::Run { first: 0, modulo }, modulo)
}

/// All blocks of `from` but the one at `own`, with their places in `into`.
#[must_use]
pub fn all_but(own: u32, from: Blocks, into: Blocks) -> Vec<(Blocks, Blocks)> {
    let after = own + 1;
    [(0, own), (after, from.count() - after)]
        .into_iter()
        .map(|(first, count)| (from.slice(first, count), into.slice(first, count)))
        .collect()
}
