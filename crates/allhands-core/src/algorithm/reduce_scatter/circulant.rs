//! Circulant reduce-scatter: ⌈lg p⌉ steps with minimal volume and minimal work at once, for any number of ranks.
//!
//! The allgather on the circulant graph backwards: with skip s a rank sends its partial results for the ranks from rank + s on, and
//! combines those that come for the ranks from its own on. For operators that commute.
//!
//! ```text
//! 6 ranks, skips 3 2 1      i ─▶ i+3: 3 blocks      i ─▶ i+2: 1 block      i ─▶ i+1: 1 block
//! ```
//!
//! Source: Träff 2024, Optimal, non-pipelined reduce-scatter and allreduce algorithms.

use super::BASE;
use crate::algorithm::phase::reduce_scatter::circulant;
use crate::algorithm::{Algorithm, Claims, any_order};
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape, Units};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "circulant",
    citation: "Träff 2024",
    summary: "skips p/2, p/4, … rounded up: ⌈lg p⌉ steps, minimal volume and work, any p",
    ordered: any_order,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (input, output) = (b.input(), b.output());
    let rotated = b.scratch(
        Units::Run {
            first: b.rank(),
            modulo: b.ranks(),
        },
        b.ranks() / 2,
    );
    circulant::reduce_scatter(b, input, rotated, output);
}

fn claims(shape: &Shape) -> Claims {
    let others = u64::from(shape.ranks() - 1);
    Claims {
        ports: 1,
        steps: ceil_log2(shape.ranks()),
        volume: others,
        work: others,
    }
}
