//! Nothing: a call in which nothing is to be done, so that what is left is what any call takes.
//!
//! ```text
//! 0    1    2    3
//! ```
//!
//! Source: C 3.3, by analogy: what is the same in all other microbenchmarks is taken off.

use super::BASE;
use crate::algorithm::Algorithm;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-nothing",
    summary: "no rank does anything",
    build: |_| {},
    ..BASE
};
