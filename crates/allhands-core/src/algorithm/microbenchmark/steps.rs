//! Steps: rank 0 sends to so many peers, to each when the message before has left: a further one takes os(m), and g(m) besides, where a
//! processor cannot go on before its port has sent what it gave it.
//!
//! ```text
//! 0 ─▶ peer    0 ─▶ +1    0 ─▶ +2
//! ```
//!
//! Source: after C 3.3, whose overheads are known apart from the gap.

use super::{BASE, MANY, PEER, scatter};
use crate::algorithm::Algorithm;
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-steps",
    summary: "rank 0 sends to many ranks, one after another",
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    scatter::to_peers(b, |b| b.step());
}
