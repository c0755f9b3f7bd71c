//! Ring allgather: the blocks travel once round the ring of ranks.
//!
//! Each rank passes on to the next what came from the one before: p − 1 steps of one block, all of it between neighbours.
//! Minimal volume; best for long blocks.
//!
//! ```text
//! 4 ranks      step 0: i ─▶ i+1: block i      step 1: block i−1      step 2: block i−2     (mod 4)
//! ```
//!
//! Source: T 4.1.

use super::BASE;
use crate::algorithm::phase::allgather::circle::among_all;
use crate::algorithm::phase::allgather::ring;
use crate::algorithm::{Algorithm, Claims};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "ring",
    citation: "T 4.1",
    summary: "each rank passes on to the next what came last",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (input, output, rank) = (b.input(), b.output(), b.rank());
    b.copy(input, output.at(rank));
    among_all(b, input, output, ring::allgather);
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
