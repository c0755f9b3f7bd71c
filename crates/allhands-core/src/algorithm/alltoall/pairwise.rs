//! Pairwise alltoall: p − 1 steps, in each of which every rank exchanges with one partner.
//!
//! Step k pairs rank i with i XOR k where p is a power of two; otherwise rank i sends to i + k and receives from i − k. One message at
//! a time in and out of every rank: best for long blocks.
//!
//! ```text
//! 4 ranks      0⇄1 2⇄3      0⇄2 1⇄3      0⇄3 1⇄2
//! ```
//!
//! Source: T 4.3.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, InPlace};
use crate::pattern::exchange::pairwise;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "pairwise",
    citation: "T 4.3",
    summary: "in step k with rank XOR k, or to rank + k and from rank − k",
    in_place: InPlace::Staged,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    b.copy(input.at(rank), output.at(rank));
    for step in 1..p {
        let peers = pairwise(p, rank, step);
        b.send(peers.to, input.at(peers.to));
        b.recv(peers.from, output.at(peers.from));
        b.step();
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: 1,
        steps: others,
        volume: u64::from(others),
        work: 0,
    }
}
