//! Shared-memory scatter: the root copies all blocks into its window and raises one flag, which all others watch; each gets its own.
//!
//! ```text
//! 3 ranks, root 0      0: watch empty@0 for 2, copy blocks 1 and 2 in, ↑ full@0      1: watch full@0 for 1, get block 1, ↑ empty@0
//! ```
//!
//! Source: Q 4.2.

use super::BASE;
use crate::algorithm::phase::shared_memory::window::{self, Turns};
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "shared-memory",
    citation: "Q 4.2",
    summary: "the root fills its window and raises one flag; each gets its block",
    requires: &[Requirement::Window, Requirement::AllCounts],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root, rank) = (b.ranks(), b.root(), b.rank());
    let window = window::slots(b, p);
    let turns = Turns::new(b, [root, root], p - 1);
    let (input, output) = (b.input(), b.output());
    if rank != root {
        turns.wait_full(b, 1);
        b.get_from(root, window.at(rank), output);
        turns.give_back(b);
        return;
    }
    b.copy(input.at(root), output);
    if p > 1 {
        turns.take(b);
        window::all_but(root, input, window)
            .into_iter()
            .for_each(|(from, into)| b.copy(from, into));
        b.step();
        turns.filled(b);
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: others,
        steps: 2 * others.min(1),
        volume: u64::from(others),
        work: 0,
    }
}
