//! Shared-memory alltoall: every rank copies its blocks into its own window and raises one counter; when all have, each gets its own.
//!
//! With segments the pieces of the blocks go through two places of the window in turn, as in the allgather.
//!
//! ```text
//! 3 ranks      all: watch empty@0 for 3, copy in, ↑ full@0, watch full@0 for 3      0: get block 0 from 1, 2   …   ↑ empty@0
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
    summary: "each fills its own window and raises one counter; each gets its blocks",
    requires: &[Requirement::Window, Requirement::AllCounts],
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
    let places = pieces::places(b);
    let window = window::slots(b, places * p);
    let turns = pieces::turns_of_all(b);
    turns.take(b);
    for segment in 0..b.get("segments") {
        let place = window.slice(segment % places * p, p);
        let piece = |b: &Builder, of, ranks| pieces::piece(b, segment, of, ranks);
        let own = pieces::all_but(b, rank).map(|to| {
            (
                piece(b, input, to.clone()),
                place.slice(to.start, to.len() as u32),
            )
        });
        turns.fill(b, &own);
        let [from, into] = [input, output].map(|of| piece(b, of, rank..rank + 1));
        b.copy(from, into);
        for from in (0..p).filter(|from| *from != rank) {
            let into = piece(b, output, from..from + 1);
            b.get_from(from, place.at(rank), into);
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
