//! PAT allgather: parallel aggregated trees, which send the farthest ranks few blocks first, and never many at a time.
//!
//! Bruck's dimensions from the farthest to the nearest, and each block in its place from the start. Once a message would hold more than
//! `aggregation` blocks, what a rank had and what came go on apart, one after the other: what is to be kept until it is
//! passed on is no more than a message for each dimension. For any number of ranks.
//!
//! ```text
//! 8 ranks, aggregation=2      i ─▶ i+4: 1 block      i ─▶ i+2: 2 blocks      i ─▶ i+1: 2 blocks      i ─▶ i+1: 2 blocks
//! ```
//!
//! Source: Jeaugey 2025, PAT: a new algorithm for all-gather and reduce-scatter operations at scale.

use super::BASE;
use crate::algorithm::phase::allgather::far_first;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::far_first::steps;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "pat",
    citation: "Jeaugey 2025",
    summary: "parallel aggregated trees, the farthest ranks first: few blocks in a message",
    keys: &[Key::AGGREGATION],
    settings: &["", "aggregation=1"],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    far_first::allgather(b, b.get("aggregation"));
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    Claims {
        ports: 1,
        steps: steps(p, shape.get("aggregation")).len() as u32,
        volume: u64::from(p - 1),
        work: 0,
    }
}
