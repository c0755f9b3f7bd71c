//! Windows in phases: who may fill them, who has, who may read them, and when they may be filled again.
//!
//! Two counters, which only grow and which any number of ranks watch: `full` is raised by everyone who has filled a window,
//! `empty` by everyone who has read. Who fills first watches `empty`, with one call's worth of credit, so that no call
//! overwrites what an earlier one still reads.

use crate::algorithm::Claims;
use crate::schedule::{Blocks, Builder, Shape, Side, Units};
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

/// Combines the same block of every rank's window into `into`, in rank order from rank 0 on: the same on every rank, to
/// the last bit. `own` is what this rank has in its window.
pub fn fold_in_order(b: &mut Builder, window: Blocks, own: Blocks, into: Blocks) {
    let (p, rank) = (b.ranks(), b.rank());
    // The first two are combined at once, by a rank that is one of them.
    let (mut sum, mut next) = match rank {
        0 if p == 1 => {
            b.copy(own, into);
            (into, 1)
        }
        0 => (own, 1),
        1 => {
            b.get_reduce(0, Side::Left, window, own, into);
            (into, 2)
        }
        _ => {
            b.get_from(0, window, into);
            (into, 1)
        }
    };
    while next < p {
        b.step();
        if next == rank {
            // What `own` was may have been overwritten, in a call in place.
            b.reduce(sum, window, into);
        } else {
            b.get_reduce(next, Side::Right, window, sum, into);
        }
        (sum, next) = (into, next + 1);
    }
}

/// Combines a block of every other rank's window with `own` into `into`, from this rank downwards and then upwards, so that
/// ranks which do this at once begin at different windows. Nobody else reads these blocks.
pub fn fold_around(b: &mut Builder, window: Blocks, own: Blocks, into: Blocks) {
    let (p, rank) = (b.ranks(), b.rank());
    let lower = (0..rank).rev().map(|from| (from, Side::Left));
    let higher = (rank + 1..p).map(|from| (from, Side::Right));
    let mut sum = own;
    for (from, side) in lower.chain(higher) {
        b.get_reduce_last(from, side, window, sum, into);
        b.step();
        sum = into;
    }
    if p == 1 {
        b.copy(own, into);
        b.step();
    }
}

/// What it costs to combine all vectors at once, or by parts and then to get them.
#[must_use]
pub fn combining(shape: &Shape, by_parts: bool) -> Claims {
    let others = shape.ranks() - 1;
    // The counter and one window after another; for parts a second counter, and the parts of the others.
    let (ends, passes) = if by_parts { (3, 2) } else { (1, 1) };
    Claims {
        ports: others,
        steps: if others > 0 { others + ends } else { 0 },
        volume: passes * u64::from(others),
        work: u64::from(others),
    }
}

/// Two phases in which rank r combines part r of all vectors in `sum` and leaves it in its own window; then a second counter
/// tells who wants the result, one rank or all, that it may get the parts.
pub fn reduce_by_parts(b: &mut Builder, root: Option<u32>, sum: Blocks) {
    let (p, rank, input) = (b.ranks(), b.rank(), b.input());
    let (serves, reads) = (root != Some(rank), root.is_none_or(|root| root == rank));
    let (at, servers) = root.map_or((0, p), |root| (root, p - 1));
    let window = vector(b);
    // Where all watch the second counter it says that all have read the windows but for the own parts, and those are written
    // when all have entered the next call. Otherwise the root gives the windows back at once.
    let turns = match root {
        Some(_) => Turns::new(b, [0, 0], 1),
        None => Turns::unguarded(b, 0),
    };
    let summed = b.flag(0);
    turns.take(b);
    turns.fill(b, &all_but(rank, input, window));
    fold_around(b, window.at(rank), input.at(rank), sum);
    if serves {
        b.copy(sum, window.at(rank));
        b.step();
        b.notify(at, summed);
    }
    if reads {
        b.watch(at, summed, servers);
        b.step();
        let output = b.output();
        for from in (0..p).filter(|from| *from != rank) {
            let (part, into) = (window.at(from), output.at(from));
            match root {
                Some(_) => b.get_last(from, part, into),
                None => b.get_from(from, part, into),
            }
        }
        turns.give_back(b);
    }
}
