//! Scattered alltoall: every rank posts all receives and all sends at once, each rank starting with another peer.
//!
//! Rank i receives from and sends to i + 1, i + 2, … so that not everybody begins with rank 0. The network sorts it out: good for blocks of medium length.
//!
//! ```text
//! 4 ranks      i ─▶ i+1, i+2, i+3     (mod 4), all at once
//! ```
//!
//! Source: T 4.3.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, InPlace};
use crate::pattern::exchange::shifted;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "scattered",
    citation: "T 4.3",
    summary: "everything is posted at once, to rank + 1, rank + 2, …",
    in_place: InPlace::Staged,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    // All receives, then all sends, both in the order of rank + distance.
    for distance in 1..p {
        let other = shifted(p, rank, distance).to;
        b.recv(other, output.at(other));
    }
    for distance in 1..p {
        let other = shifted(p, rank, distance).to;
        b.send(other, input.at(other));
    }
    b.copy(input.at(rank), output.at(rank));
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: others,
        steps: others.min(1),
        volume: u64::from(others),
        work: 0,
    }
}
