//! Copies: rank 0 copies a block of its own, so often, one after another.
//!
//! ```text
//! 0: input ──▶ scratch
//! ```
//!
//! Source: C 3.1, what is done between messages.

use super::{BASE, MANY, alone, room};
use crate::algorithm::Algorithm;
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-copies",
    summary: "rank 0 copies",
    keys: &[MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (room, input) = (room(b, 1), b.input());
    alone(b, |b| b.copy(input.at(0), room));
}
