//! One-to-all barrier: all tell the root, the root tells all.
//!
//! C 5.1 prints the root's messages first, but then ranks could leave before others enter: an erratum.
//!
//! ```text
//! 4 ranks      1 ─▶ 0   2 ─▶ 0   3 ─▶ 0      then      0 ─▶ 1   0 ─▶ 2   0 ─▶ 3
//! ```
//!
//! Source: C 5.1, table 1.

use super::BASE;
use crate::algorithm::{Algorithm, Claims};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "one-to-all",
    citation: "C 5.1, table 1",
    summary: "all tell rank 0, rank 0 tells all",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    if b.rank() > 0 {
        b.send_token(0);
        b.step();
        b.recv_token(0);
        return;
    }
    for rank in 1..b.ranks() {
        b.recv_token(rank);
    }
    b.step();
    for rank in 1..b.ranks() {
        b.send_token(rank);
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: others,
        steps: if others > 0 { 2 } else { 0 },
        volume: 0,
        work: 0,
    }
}
