//! Hamiltonian allreduce: sums go along a path through all nodes of a mesh or torus, and come back along it, pipelined.
//!
//! The way back is the same path backwards, on the links' other directions, so a segment that has come to the end goes back while
//! later ones still come. The path ends at rank 0, where there always is one that does.
//!
//! ```text
//! 3x3 mesh      sums: 2 ─▶ 1 ─▶ 4 ─▶ 5 ─▶ 8 ─▶ 7 ─▶ 6 ─▶ 3 ─▶ 0      results: the way back
//! ```
//!
//! Source: B 3.1.

use super::BASE;
use crate::algorithm::phase::torus::allreduce::allreduce;
use crate::algorithm::phase::torus::cost::{self, Carries};
use crate::algorithm::phase::torus::{prefix, reduce::Ends, routes, streams};
use crate::algorithm::{Algorithm, Claims, Key, Layer, Requirement, any_order};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hamiltonian",
    citation: "B 3.1",
    summary: "sums go along a path through all nodes of the torus, results come back along it",
    requires: &[Requirement::Torus, Requirement::DisjointStreams],
    keys: &[Key::SEGMENTS, prefix::PREFIX],
    settings: &["", "segments=1", "segments=5", "prefix=barrier"],
    ordered: any_order,
    parts: |shape| streams::parts(shape, 1),
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
    let (places, _) = routes::paths(b.shape(), 0, b.rank(), false);
    allreduce(b, &places);
}

fn claims(shape: &Shape) -> Claims {
    cost::claims(shape, Carries::UpAndDown, Ends::AtRoot, |rank| {
        routes::paths(shape, 0, rank, false).0
    })
}
