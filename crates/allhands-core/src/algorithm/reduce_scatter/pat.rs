//! PAT reduce-scatter: PAT's allgather backwards, with as few blocks in a message, from the nearest ranks to the farthest.
//!
//! Who got a block there combines what comes for it and sends the sum back. With `aggregation=1` it is p − 1 steps, with all blocks at once
//! ⌈lg p⌉; always minimal volume and work. For operators that commute. What a rank has combined for others lies in a vector of its own,
//! where NCCL's has a bounded buffer.
//!
//! ```text
//! 8 ranks, aggregation=2      i ◀─ i+1: 2 blocks      i ◀─ i+1: 2 blocks      i ◀─ i+2: 2 blocks      i ◀─ i+4: 1 block
//! ```
//!
//! Source: Jeaugey 2025, PAT: a new algorithm for all-gather and reduce-scatter operations at scale.

use super::BASE;
use crate::algorithm::phase::far_first;
use crate::algorithm::{Algorithm, Claims, Key, any_order};
use crate::pattern::far_first::steps;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "pat",
    citation: "Jeaugey 2025",
    summary: "parallel aggregated trees, the nearest ranks first: few blocks in a message",
    keys: &[Key::AGGREGATION],
    settings: &["", "aggregation=1", "aggregation=65536"],
    ordered: any_order,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    far_first::reduce_scatter(b, b.get("aggregation"));
}

fn claims(shape: &Shape) -> Claims {
    let others = u64::from(shape.ranks() - 1);
    Claims {
        ports: 1,
        steps: steps(shape.ranks(), shape.get("aggregation")).len() as u32,
        volume: others,
        work: others,
    }
}
