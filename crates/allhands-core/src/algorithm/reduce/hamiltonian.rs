//! Hamiltonian reduce: sums go along a path through all nodes of a mesh or torus, each next to the one before.
//!
//! Every rank combines what one other sends, so none has more to do than the others: good for the longest vectors, at the price of a
//! path as long as there are ranks. Where a dimension is even there is a cycle: half of the vector goes round it each way. Where
//! no path ends at the root, it ends as near as can be, and the last rank sends the sums on to the root.
//!
//! ```text
//! 4x3 mesh, root 0      4 ─▶ 8 ─▶ 9 ─▶ 5 ─▶ 6 ─▶ 10 ─▶ 11 ─▶ 7 ─▶ 3 ─▶ 2 ─▶ 1 ─▶ 0      half of the vector
//!                       1 ─▶ 2 ─▶ 3 ─▶ 7 ─▶ 11 ─▶ 10 ─▶ 6 ─▶ 5 ─▶ 9 ─▶ 8 ─▶ 4 ─▶ 0      the other half
//! ```
//!
//! Source: B 3.1, figure 2(b).

use super::BASE;
use crate::algorithm::phase::torus::cost::{self, Carries};
use crate::algorithm::phase::torus::{prefix, reduce::reduce, routes, streams};
use crate::algorithm::{Algorithm, Claims, Key, Layer, Requirement, any_order};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hamiltonian",
    citation: "B 3.1",
    summary: "sums go along a path through all nodes of the torus, or both ways round a cycle",
    requires: &[Requirement::Torus, Requirement::DisjointStreams],
    keys: &[Key::SEGMENTS, prefix::PREFIX],
    settings: &["", "segments=1", "segments=5", "prefix=barrier"],
    ordered: any_order,
    parts: |shape| {
        streams::parts(
            shape,
            routes::paths(shape, shape.call.root, 0, true).0.len(),
        )
    },
    layer: Layer::Packets,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    if b.ranks() == 1 {
        b.copy(b.input(), b.output());
        return;
    }
    let (places, ends) = routes::paths(b.shape(), b.root(), b.rank(), true);
    reduce(b, &places, ends);
}

fn claims(shape: &Shape) -> Claims {
    let paths = |rank| routes::paths(shape, shape.call.root, rank, true);
    cost::claims(shape, Carries::Up, paths(0).1, |rank| paths(rank).0)
}
