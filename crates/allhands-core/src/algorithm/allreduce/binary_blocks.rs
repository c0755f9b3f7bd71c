//! Binary-blocks allreduce: the ranks stand in blocks of powers of two, which reduce on their own and then exchange segments.
//!
//! Each block does a reduce-scatter by vector halving and distance doubling; from the smallest on, its ranks send parts of their segments to the
//! next larger block. The largest block has the result; while blocks gather it, a rank of a smaller block gets its segment in a pair of
//! messages from the next larger one. Less work for odd numbers of ranks than folding, where blocks differ little in size.
//!
//! ```text
//! 13 ranks = 8 + 4 + 1      [0 .. 7] ◀─ [8 .. 11] ◀─ [12]      parts A .. H; 8: A-B, 12: A-H
//! ```
//!
//! Source: T 5.2, figure 13.

mod allgather;
mod cost;

use super::BASE;
use crate::algorithm::phase::reduce::binary_blocks::{reduce, work};
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::math::previous_power;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "binary-blocks",
    citation: "T 5.2",
    summary: "blocks of powers of two reduce on their own, then hand segments to their neighbours",
    parts: |shape| previous_power(2, shape.ranks()),
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (input, output) = (b.input(), b.output());
    reduce(b, input, output);
    if b.ranks() == 1 {
        b.copy(input, output);
    }
    allgather::allgather(b, output);
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    Claims {
        ports: 1,
        steps: cost::steps(p),
        volume: cost::volume(p),
        work: work(p),
    }
}
