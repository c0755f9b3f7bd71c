//! Ring allreduce: a reduce-scatter, then a ring allgather.
//!
//! 2(p − 1) steps of 1/p of the vector: minimal volume and work for any number of ranks, but a latency that grows with it. The
//! reduce-scatter is pairwise, as the paper has it, or with `reduce-scatter=ring` also between neighbours alone, what others
//! call the ring.
//!
//! ```text
//! 4 ranks      i ─▶ i+1, i ─▶ i+2, i ─▶ i+3: parts to combine      then 3 times i ─▶ i+1: results
//! ```
//!
//! Source: T 5.3; Patarasuk and Yuan 2009 for neighbours alone.

use super::BASE;
use crate::algorithm::phase::allgather::{self, circle::among_all};
use crate::algorithm::phase::reduce_scatter;
use crate::algorithm::{Algorithm, Claims, Key, any_order, block_per_rank};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "ring",
    citation: "T 5.3; Patarasuk and Yuan 2009",
    summary: "pairwise or ring reduce-scatter, then a ring allgather",
    keys: &[Key::REDUCE_SCATTER],
    settings: &["", "reduce-scatter=ring"],
    ordered: any_order,
    parts: block_per_rank,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (rank, input, output) = (b.rank(), b.input(), b.output());
    let own = output.at(rank);
    reduce_scatter::ring::reduce_scatter_by_key(b, input, output);
    among_all(b, own, output, allgather::ring::allgather);
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: 1,
        steps: 2 * others,
        volume: u64::from(2 * others),
        work: u64::from(others),
    }
}
