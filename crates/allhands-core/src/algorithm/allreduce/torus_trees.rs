//! Torus-trees allreduce: sums go up a spanning tree of a mesh or torus, and results come down it, pipelined into one another.
//!
//! Two streams that share no link are needed, one to the root and one from it: the second is the first backwards, as links go both
//! ways. It is the first of the broadcast's trees; with two of them up and down at once, some link would carry two streams.
//! The root is rank 0, in a corner, so that no rank has children on both sides.
//!
//! ```text
//! 3x3 mesh      sums: 6 ─▶ 7     3 ─▶ 4     8 ─▶ 5 ─▶ 2     7 ─▶ 4 ─▶ 1     2 ─▶ 1 ─▶ 0     results: each the way back
//! ```
//!
//! Source: B 3.1, figure 2(a).

use super::BASE;
use crate::algorithm::phase::torus::allreduce::allreduce;
use crate::algorithm::phase::torus::cost::{self, Carries};
use crate::algorithm::phase::torus::streams::{self, Place};
use crate::algorithm::phase::torus::{prefix, reduce::Ends, routes};
use crate::algorithm::{Algorithm, Claims, Key, Layer, Requirement, any_order};
use crate::schedule::{Builder, Shape};
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "torus-trees",
    citation: "B 3.1",
    summary: "sums go up a spanning tree of the torus, results come down it at the same time",
    requires: &[Requirement::Torus, Requirement::DisjointStreams],
    keys: &[Key::SEGMENTS, prefix::PREFIX],
    settings: &["", "segments=1", "segments=5", "prefix=barrier"],
    ordered: any_order,
    parts: |shape| streams::parts(shape, 1),
    layer: Layer::Packets,
    stream_way: routes::way_of_tree,
    build,
    claims,
    ..BASE
};

fn places(shape: &Shape, rank: u32) -> Vec<Place> {
    let mut trees = routes::trees(shape, 0, rank, false);
    trees.truncate(1);
    trees
}

fn build(b: &mut Builder) {
    if b.ranks() == 1 {
        b.copy(b.input(), b.output());
        return;
    }
    let places = places(b.shape(), b.rank());
    allreduce(b, &places);
}

fn claims(shape: &Shape) -> Claims {
    cost::claims(shape, Carries::UpAndDown, Ends::AtRoot, |rank| {
        places(shape, rank)
    })
}
