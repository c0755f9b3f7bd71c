//! Direct allreduce: every rank sends its whole vector to every other at once and combines what comes in rank order.
//!
//! One step, p − 1 messages: for the shortest vectors among few ranks.
//!
//! ```text
//! 3 ranks      0 ⇄ 1   0 ⇄ 2   1 ⇄ 2      then each combines 0 + 1 + 2
//! ```
//!
//! Source: folklore; the one-step bound of C 5.5.

use super::BASE;
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::exchange::shifted;
use crate::schedule::{Builder, Shape};
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "direct",
    citation: "direct exchange",
    summary: "all send all their vectors, all combine them in rank order",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    let vectors: Vec<_> = (0..p)
        .map(|other| if other == rank { input } else { b.vector() })
        .collect();
    for distance in 1..p {
        let peers = shifted(p, rank, distance);
        b.send(peers.to, input);
        b.recv(peers.from, vectors[peers.from as usize]);
    }
    b.step();
    let mut sum = vectors[0];
    for (other, vector) in vectors.iter().enumerate().skip(1) {
        // In place the output is the own vector, which is still needed until its turn has come.
        let into = if other as u32 >= rank || !b.call().in_place {
            output
        } else {
            vectors[other]
        };
        b.reduce(sum, *vector, into);
        b.step();
        sum = into;
    }
    b.copy(sum, output);
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: others,
        steps: others.min(1),
        volume: u64::from(others),
        work: u64::from(others),
    }
}
