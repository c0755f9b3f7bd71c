//! Torus-trees broadcast: a part of the vector goes along each of several spanning trees of a mesh or torus, of which no two use
//! the same link.
//!
//! There is a tree for each dimension, and two where it is wrapped around, so up to six links' worth of bandwidth reach every
//! rank. Trees follow straight lines: along one dimension first, then from all nodes of that line along the next. With
//! `deposit=on` a message goes to the last rank of a line and leaves copies on the way; only where it turns, a rank sends.
//!
//! ```text
//! 3x3 mesh, root 0      stream x: 0 ─▶ 1 ─▶ 2     1 ─▶ 4 ─▶ 7     2 ─▶ 5 ─▶ 8     4 ─▶ 3     7 ─▶ 6
//!                       stream y: 0 ─▶ 3 ─▶ 6     3 ─▶ 4 ─▶ 5     6 ─▶ 7 ─▶ 8     4 ─▶ 1     5 ─▶ 2
//! ```
//!
//! Source: B 3.1, figure 1, after Watts and van de Geijn 1995.

use super::BASE;
use crate::algorithm::phase::torus;
use crate::algorithm::phase::torus::prefix;
use crate::algorithm::phase::torus::streams::{self, Carries, Ends, Place};
use crate::algorithm::{Algorithm, Claims, Key, Layer, Requirement};
use crate::schedule::{Builder, Shape};
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "torus-trees",
    citation: "B 3.1",
    summary: "parts of the vector along spanning trees of the torus that share no link",
    requires: &[Requirement::Torus, Requirement::DisjointStreams],
    keys: &[Key::SEGMENTS, torus::DEPOSIT, prefix::PREFIX],
    settings: &[
        "",
        "segments=1",
        "deposit=off",
        "segments=5,deposit=off",
        "prefix=agreement-barrier",
    ],
    parts: |shape| streams::parts(shape, torus::torus(shape).ways().count()),
    layer: Layer::Packets,
    stream_way: torus::way_of_tree,
    build,
    claims,
    ..BASE
};

fn places(shape: &Shape, rank: u32) -> Vec<Place> {
    let deposit = shape.get("deposit") == 1;
    torus::trees(shape, shape.call.root, rank, deposit)
}

fn build(b: &mut Builder) {
    let places = places(b.shape(), b.rank());
    streams::down(b, &places);
}

fn claims(shape: &Shape) -> Claims {
    let places = torus::of_all(shape, |rank| places(shape, rank));
    prefix::claims(
        shape,
        streams::claims(shape.get("segments"), &places, Carries::Down, Ends::AtRoot),
    )
}
