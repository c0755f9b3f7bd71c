//! Reduce-scatterv: a binomial reduce of the whole vector to rank 0, which then sends every rank its block, one after another.
//!
//! The old reduce-scatter of MPICH: ⌈lg p⌉ + p − 1 steps. It keeps rank order.
//!
//! ```text
//! 4 ranks      1 ─▶ 0, 3 ─▶ 2      2 ─▶ 0      0 ─▶ 1      0 ─▶ 2      0 ─▶ 3
//! ```
//!
//! Source: T 4.4.

use super::BASE;
use crate::algorithm::phase::tree::{Group, walk};
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "reduce-scatterv",
    citation: "T 4.4 (old)",
    summary: "binomial reduce to rank 0, which then sends each rank its block",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let group = Group::binomial(p, rank, &|rank| rank);
    let (input, output) = (b.input(), b.output());
    let sum = walk::reduce_up(b, &group, input, &mut Builder::vector);
    if rank > 0 {
        b.recv(0, output);
        return;
    }
    b.copy(sum.at(0), output);
    for other in 1..p {
        b.send(other, sum.at(other));
        b.step();
    }
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let (rounds, whole) = (ceil_log2(p), u64::from(ceil_log2(p)) * u64::from(p));
    let scattered = u64::from(p - 1);
    Claims {
        ports: 1,
        steps: rounds + p - 1,
        volume: whole.max(scattered),
        work: whole,
    }
}
