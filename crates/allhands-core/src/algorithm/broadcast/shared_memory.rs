//! Shared-memory broadcast: the root copies its vector into its window and raises one flag, which all others watch and then get.
//!
//! With segments the root fills one after another and raises the flag for each, so that the others copy one out while it
//! copies the next one in. The root may fill its window again when all others have counted themselves done.
//!
//! ```text
//! 3 ranks, root 0      0: watch empty@0 for 2, copy in, ↑ full@0      1, 2: watch full@0 for 1, get, ↑ empty@0
//! ```
//!
//! Source: Q 4.2 (shm_bcast).

use super::BASE;
use crate::algorithm::phase::shared_memory::window::{self, Turns};
use crate::algorithm::{Algorithm, Claims, Key, Requirement, Values};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "shared-memory",
    citation: "Q 4.2",
    summary: "the root fills its window and raises one flag; all others get",
    requires: &[Requirement::Window],
    keys: &[Key {
        values: Values::Range { min: 1, max: 256 },
        default: 1,
        ..Key::SEGMENTS
    }],
    settings: &["", "segments=4"],
    parts: segments,
    build,
    claims,
    ..BASE
};

fn segments(shape: &Shape) -> u32 {
    shape.get("segments")
}

fn build(b: &mut Builder) {
    let (root, others) = (b.root(), b.ranks() - 1);
    let window = window::vector(b);
    let turns = Turns::new(b, [root, root], others);
    let output = b.output();
    if b.rank() == root {
        let input = b.input();
        b.copy(input, output);
        if others > 0 {
            turns.take(b);
            for segment in 0..b.parts() {
                b.copy(input.at(segment), window.at(segment));
                b.step();
                turns.filled(b);
            }
        }
        return;
    }
    for segment in 0..b.parts() {
        turns.wait_full(b, 1);
        b.get_from(root, window.at(segment), output.at(segment));
        b.step();
    }
    turns.give_back(b);
}

fn claims(shape: &Shape) -> Claims {
    let (others, segments) = (shape.ranks() - 1, segments(shape));
    // The flag and the get of each segment; segments wait for nothing but the ones before.
    Claims {
        ports: others,
        steps: if others > 0 { segments + 1 } else { 0 },
        volume: u64::from(others) * u64::from(segments),
        work: 0,
    }
}
