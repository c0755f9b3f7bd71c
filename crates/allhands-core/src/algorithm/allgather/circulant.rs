//! Circulant allgather: as many steps as Bruck's and as few blocks as the ring's, for any number of ranks.
//!
//! The skips are p halved again and again, rounded up. Going through them backwards, a rank that has the blocks of the s ranks
//! from its own on gets those of the next ones from the rank s ahead.
//!
//! ```text
//! 6 ranks, skips 1 2 3      i ◀─ i+1: 1 block      i ◀─ i+2: 1 block      i ◀─ i+3: 3 blocks
//! ```
//!
//! Source: Träff 2024, Optimal, non-pipelined reduce-scatter and allreduce algorithms.

use super::BASE;
use crate::algorithm::phase::allgather::circle::among_all;
use crate::algorithm::phase::allgather::circulant;
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "circulant",
    citation: "Träff 2024",
    summary: "skips double: ⌈lg p⌉ steps and p − 1 blocks for any p",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (input, output, rank) = (b.input(), b.output(), b.rank());
    b.copy(input, output.at(rank));
    among_all(b, input, output, circulant::allgather);
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    Claims {
        ports: 1,
        steps: ceil_log2(p),
        volume: u64::from(p - 1),
        work: 0,
    }
}
