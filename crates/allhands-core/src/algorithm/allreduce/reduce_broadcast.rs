//! Reduce-broadcast: a binomial reduce to rank 0, then a binomial broadcast from it.
//!
//! The old allreduce of MPICH: 2⌈lg p⌉ steps of the whole vector. It keeps rank order and is good where few messages matter more
//! than few steps.
//!
//! ```text
//! 4 ranks      1 ─▶ 0, 3 ─▶ 2      2 ─▶ 0      0 ─▶ 2      0 ─▶ 1, 2 ─▶ 3
//! ```
//!
//! Source: T 4.5, 5.

use super::BASE;
use crate::algorithm::phase::tree::{Group, walk};
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape};
use alloc::vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "reduce-broadcast",
    citation: "T 4.5 (old)",
    summary: "binomial reduce to rank 0, binomial broadcast from it",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let group = Group::binomial(b.ranks(), b.rank(), &|rank| rank);
    let (input, output) = (b.input(), b.output());
    let sum = walk::reduce_up(b, &group, input, &mut |_| output);
    if b.rank() == 0 {
        b.copy(sum, output);
        b.step();
    }
    walk::down(b, &group, &[output], &|_| vec![output]);
}

fn claims(shape: &Shape) -> Claims {
    let rounds = ceil_log2(shape.ranks());
    // Rank 0 receives and sends to each child.
    Claims {
        ports: 1,
        steps: 2 * rounds,
        volume: u64::from(rounds),
        work: u64::from(rounds),
    }
}
