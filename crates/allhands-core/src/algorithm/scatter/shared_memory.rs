//! Shared-memory scatter: the root copies all blocks into its window and raises one flag, which all others watch; each gets its own.
//!
//! With segments the pieces of the blocks go through two places of the window in turn, each with counters of its own: a rank that has read
//! both of them stands for nobody who has read neither.
//!
//! ```text
//! 3 ranks, root 0      0: watch empty@0 for 2, copy blocks 1 and 2 in, ↑ full@0      1: watch full@0 for 1, get block 1, ↑ empty@0
//! ```
//!
//! Source: Q 4.2.

use super::BASE;
use crate::algorithm::phase::shared_memory::pieces;
use crate::algorithm::phase::shared_memory::window::{self, Turns};
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::schedule::{Builder, Shape};
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "shared-memory",
    citation: "Q 4.2",
    summary: "the root fills its window and raises one flag; each gets its block",
    requires: &[Requirement::Window, Requirement::AllCounts],
    keys: &[pieces::SEGMENTS],
    settings: &["", "segments=8"],
    parts: pieces::parts,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root, rank) = (b.ranks(), b.root(), b.rank());
    let (places, segments) = (pieces::places(b), b.get("segments"));
    let window = window::slots(b, places * p);
    let turns: Vec<Turns> = (0..places)
        .map(|_| Turns::new(b, [root, root], p - 1))
        .collect();
    let (input, output) = (b.input(), b.output());
    if rank == root {
        b.copy(input.slice(root * segments, segments), output);
    }
    for segment in (0..segments).filter(|_| p > 1) {
        let number = segment % places;
        let (place, turns) = (window.slice(number * p, p), turns[number as usize]);
        if rank == root {
            turns.take(b);
            for to in pieces::all_but(b, root) {
                let into = place.slice(to.start, to.len() as u32);
                b.copy(pieces::piece(b, segment, input, to), into);
            }
            b.step();
            turns.filled(b);
        } else {
            turns.wait_full(b, 1);
            b.get_from(root, place.at(rank), output.at(segment));
            turns.give_back(b);
        }
    }
}

fn claims(shape: &Shape) -> Claims {
    let (others, segments) = (shape.ranks() - 1, shape.get("segments"));
    // Two pieces are told of one behind the other, each got as soon as it is there, and then both places are given back.
    Claims {
        ports: others,
        steps: (3 * segments).div_ceil(2) * others.min(1),
        volume: u64::from(others) * u64::from(segments),
        work: 0,
    }
}
