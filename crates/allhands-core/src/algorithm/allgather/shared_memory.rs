//! Shared-memory allgather: every rank copies its block into its own window and raises one counter; when all have, each gets all.
//!
//! With segments the pieces of a block go through two places of the window in turn.
//!
//! ```text
//! 3 ranks      all: watch empty@0 for 3, copy in, ↑ full@0, watch full@0 for 3      0: get from 1, 2   1: get from 0, 2   …   ↑ empty@0
//! ```
//!
//! Source: Q 4.2.

use super::BASE;
use crate::algorithm::phase::shared_memory::pieces;
use crate::algorithm::phase::shared_memory::window;
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "shared-memory",
    citation: "Q 4.2",
    summary: "each fills its own window and raises one counter; all get all",
    requires: &[Requirement::Window],
    keys: &[pieces::SEGMENTS],
    settings: &["", "segments=8"],
    parts: pieces::parts,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    let places = window::slots(b, pieces::places(b));
    let turns = pieces::turns_of_all(b);
    for segment in 0..b.get("segments") {
        let (own, place) = (input.at(segment), places.at(segment % 2));
        let of = |b: &Builder, rank| pieces::piece(b, segment, output, rank..rank + 1);
        b.copy(own, of(b, rank));
        if segment == 0 {
            turns.take(b);
        }
        turns.fill(b, &[(own, place)]);
        for from in (0..p).filter(|from| *from != rank) {
            b.get_from(from, place, of(b, from));
        }
        b.step();
    }
    turns.give_back(b);
}

fn claims(shape: &Shape) -> Claims {
    let (others, segments) = (shape.ranks() - 1, shape.get("segments"));
    Claims {
        ports: others,
        steps: 2 * segments * others.min(1),
        volume: u64::from(others) * u64::from(segments),
        work: 0,
    }
}
