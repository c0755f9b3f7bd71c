//! Shared-memory alltoall: every rank copies its blocks into its own window and raises one counter; when all have, each gets its own.
//!
//! ```text
//! 3 ranks      all: watch empty@0 for 3, copy in, ↑ full@0, watch full@0 for 3      0: get block 0 from 1, 2   …   ↑ empty@0
//! ```
//!
//! Source: Q 4.2.

use super::BASE;
use crate::algorithm::phase::shared_memory::window;
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "shared-memory",
    citation: "Q 4.2",
    summary: "each fills its own window and raises one counter; each gets its blocks",
    requires: &[Requirement::Window, Requirement::AllCounts],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    let window = window::slots(b, p);
    let turns = window::fill_all(b, &window::all_but(rank, input, window));
    b.copy(input.at(rank), output.at(rank));
    for from in (0..p).filter(|from| *from != rank) {
        b.get_from(from, window.at(rank), output.at(from));
    }
    turns.give_back(b);
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
