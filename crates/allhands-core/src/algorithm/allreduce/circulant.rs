//! Circulant allreduce: a reduce-scatter and an allgather on the circulant graph.
//!
//! 2⌈lg p⌉ steps with minimal volume and work for any number of ranks: what halving and doubling reach for powers of two only.
//!
//! ```text
//! 6 ranks      i ─▶ i+3, i+2, i+1: combine      then i ◀─ i+1, i+2, i+3: gather
//! ```
//!
//! Source: Träff 2024, Optimal, non-pipelined reduce-scatter and allreduce algorithms.

use super::BASE;
use crate::algorithm::phase::allgather::{self, circle::among_all};
use crate::algorithm::phase::reduce_scatter;
use crate::algorithm::{Algorithm, Claims, any_order, block_per_rank};
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape, Units};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "circulant",
    citation: "Träff 2024",
    summary: "circulant reduce-scatter, then circulant allgather",
    ordered: any_order,
    parts: block_per_rank,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank, input, output) = (b.ranks(), b.rank(), b.input(), b.output());
    let rotated = b.scratch(
        Units::Run {
            first: rank,
            modulo: p,
        },
        p / 2,
    );
    let own = output.at(rank);
    reduce_scatter::circulant::reduce_scatter(b, input, rotated, own);
    among_all(b, own, output, allgather::circulant::allgather);
}

fn claims(shape: &Shape) -> Claims {
    let others = u64::from(shape.ranks() - 1);
    Claims {
        ports: 1,
        steps: 2 * ceil_log2(shape.ranks()),
        volume: 2 * others,
        work: others,
    }
}
