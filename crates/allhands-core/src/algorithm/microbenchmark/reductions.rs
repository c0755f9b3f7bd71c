//! Reductions: rank 0 combines its vector with itself, so often, one after another: γ(m).
//!
//! ```text
//! 0: input + input ──▶ scratch
//! ```
//!
//! Source: C 3.1, γ.

use super::{BASE, MANY, alone};
use crate::algorithm::Algorithm;
use crate::call::Collective;
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    name: "microbenchmark-reductions",
    summary: "rank 0 combines vectors",
    keys: &[MANY],
    parts: |_| 1,
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (room, input) = (b.vector(), b.input());
    alone(b, |b| b.reduce(input, input, room));
}
