//! Direct barrier: every rank tells every other rank, in one step.
//!
//! One step, but p − 1 messages at once for every rank.
//!
//! ```text
//! 3 ranks      0 ⇄ 1   0 ⇄ 2   1 ⇄ 2
//! ```
//!
//! Source: folklore; the one-step bound of C 5.1.

use super::BASE;
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::exchange::shifted;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "direct",
    citation: "folklore (C 5.1)",
    summary: "all tell all",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    for distance in 1..p {
        let peers = shifted(p, rank, distance);
        b.send_token(peers.to);
        b.recv_token(peers.from);
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: others,
        steps: others.min(1),
        volume: 0,
        work: 0,
    }
}
