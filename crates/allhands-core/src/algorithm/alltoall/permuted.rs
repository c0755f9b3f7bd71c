//! Permuted alltoall: every rank posts its messages in one random order of the ranks, each from a place of its own in it.
//!
//! The order is the same on every rank, because the random numbers start from the same seed; rank i begins with the i-th of
//! it. So at any moment all destinations differ, and no two neighbours on a torus send the same way for long. A destination
//! that gets nothing is left out, at both ends. How many packets a destination gets in turn, and how long they are, is the
//! network's matter.
//!
//! ```text
//! 4 ranks, order 2 0 3 1:      0 ─▶ 2, 3, 1      1 ─▶ 0, 3, 2      2 ─▶ 3, 1, 0      3 ─▶ 1, 2, 0
//! ```
//!
//! Source: B 3.1.

use super::BASE;
use crate::algorithm::phase::torus::prefix;
use crate::algorithm::{Algorithm, Claims, InPlace, Key, Layer, Values};
use crate::pattern::math::{add_mod, sub_mod};
use crate::pattern::permutation::permutation;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "permuted",
    citation: "B 3.1",
    summary: "everything is posted at once, in a random order that all ranks share",
    keys: &[SEED, prefix::PREFIX],
    settings: &["", "seed=7", "prefix=barrier"],
    in_place: InPlace::Staged,
    layer: Layer::PacketsInRandomOrder,
    build,
    claims,
    ..BASE
};

const SEED: Key = Key {
    name: "seed",
    values: Values::Range {
        min: 0,
        max: u32::MAX,
    },
    default: 1,
    about: "where the random numbers start, on every rank",
};

fn build(b: &mut Builder) {
    prefix::emit(b);
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    let order = permutation(p, b.get("seed"));
    let place = order.iter().position(|other| *other == rank).unwrap_or(0) as u32;
    for turn in 0..p {
        // Rank i sends to the (i + turn)-th of the order in this turn.
        let from = sub_mod(place, turn, p);
        if from != rank {
            b.recv(from, output.at(from));
        }
        let to = order[add_mod(rank, turn, p) as usize];
        if to != rank {
            b.send(to, input.at(to));
        }
    }
    b.copy(input.at(rank), output.at(rank));
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    let own = Claims {
        ports: others,
        steps: others.min(1),
        volume: u64::from(others),
        work: 0,
    };
    prefix::claims(shape, own)
}
