//! Passing on: the blocks from a clipped subtree that a rank holds for others of its own, until corrections bring them there.
//!
//! The clipped subtree's ranks have partners at the lowest offsets only. A partner gets their blocks for itself and for all offsets
//! that it stands in for, and each correction hands a part of these on to a rank that has not got any yet.
//!
//! ```text
//! 5 ranks, level 2      0 passes on 4's blocks for 1, 2, 3      0→1: those for 1, 3      0→2: for 2      1→3: for 3
//! ```
//!
//! Source: Q 5.1.3, 7.3.

use super::held::Held;
use super::level::Level;
use crate::pattern::complete_exchange::Ends;
use crate::pattern::progression::{Progression, append};
use crate::schedule::{Blocks, Builder};
use alloc::vec::Vec;

/// What a rank passes on.
pub(super) struct Passing {
    /// With whom it ends: the rank itself, and those that it serves, at once or in turn.
    ends: Ends,
    /// Where it lies meanwhile; its sources are the clipped subtree.
    pub(super) held: Held,
}

impl Passing {
    /// Room for what the rank passes on, if there is a clipped subtree and the rank is not in it.
    pub(super) fn new(b: &mut Builder, level: &Level<'_>) -> Option<Passing> {
        let ends = level.passes()?;
        let held = Held::scratch(b, level.clipped(), &destinations(level, &ends));
        Some(Passing { ends, held })
    }

    /// The blocks that go to the rank whose part is `theirs`: of each span the one that stays there, and after all of these the rest.
    pub(super) fn for_peer(&self, level: &Level<'_>, theirs: &Ends) -> Vec<Blocks> {
        let mine = &self.ends;
        // Of the blocks for each span, those that stay here have no place in what is passed on.
        let ahead = (theirs.offset - mine.offset) / mine.step - 1;
        let step = theirs.step / mine.step;
        let some = |first, times| Progression { first, step, times };
        let (mut stay, mut pass) = (Vec::new(), Vec::new());
        let mut place = 0;
        for span in level.spans {
            let here = level.rest_of(span, &mine.subtree);
            let len = here.end - here.start;
            let (first, count) = (place + ahead, theirs.below(len));
            append(&mut stay, some(first, count.min(1)));
            append(&mut pass, some(first + step, count.saturating_sub(1)));
            place += mine.below(len).saturating_sub(1);
        }
        self.held.part(stay.into_iter().chain(pass))
    }
}

/// The destinations whose blocks a rank passes on: of each span all but the first, its own.
fn destinations(level: &Level<'_>, ends: &Ends) -> Vec<Progression> {
    let mut destinations = Vec::new();
    for span in level.spans {
        let there = level.rest_of(span, &ends.subtree);
        let first = there.start.saturating_add(ends.offset);
        let some = Progression {
            first: first.saturating_add(ends.step),
            step: ends.step,
            times: ends.below(there.end - there.start).saturating_sub(1),
        };
        append(&mut destinations, some);
    }
    destinations
}
