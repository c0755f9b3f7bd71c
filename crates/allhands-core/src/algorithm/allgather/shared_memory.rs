//! Shared-memory allgather: every rank copies its block into its own window and raises one counter; when all have, each gets all.
//!
//! ```text
//! 3 ranks      all: watch empty@0 for 3, copy in, ↑ full@0, watch full@0 for 3      0: get from 1, 2   1: get from 0, 2   …   ↑ empty@0
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
    summary: "each fills its own window and raises one counter; all get all",
    requires: &[Requirement::Window],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    let slot = window::slots(b, 1);
    b.copy(input, output.at(rank));
    let turns = window::fill_all(b, &[(input, slot)]);
    for from in (0..p).filter(|from| *from != rank) {
        b.get_from(from, slot, output.at(from));
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
