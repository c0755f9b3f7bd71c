//! Torus-trees reduce: the broadcast along the spanning trees of a mesh or torus, backwards.
//!
//! Every rank combines what its children in a tree send with its own part and sends it on to its parent. What comes differs from what
//! goes on, so no packet can be left on the nodes that it passes; and a rank where lines meet has several to combine.
//!
//! ```text
//! 3x3 mesh, root 0      stream x: 6 ─▶ 7     3 ─▶ 4     8 ─▶ 5 ─▶ 2     7 ─▶ 4 ─▶ 1     2 ─▶ 1 ─▶ 0
//!                       stream y: 2 ─▶ 5     1 ─▶ 4     8 ─▶ 7 ─▶ 6     5 ─▶ 4 ─▶ 3     6 ─▶ 3 ─▶ 0
//! ```
//!
//! Source: B 3.1, figure 2(a).

use super::BASE;
use crate::algorithm::phase::torus::cost::{self, Carries};
use crate::algorithm::phase::torus::grid::torus;
use crate::algorithm::phase::torus::reduce::{Ends, reduce};
use crate::algorithm::phase::torus::{prefix, routes, streams};
use crate::algorithm::{Algorithm, Claims, Key, Layer, Requirement, any_order};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "torus-trees",
    citation: "B 3.1",
    summary: "parts of the vector up spanning trees of the torus that share no link",
    requires: &[Requirement::Torus, Requirement::DisjointStreams],
    keys: &[Key::SEGMENTS, prefix::PREFIX],
    settings: &["", "segments=1", "segments=5", "prefix=barrier"],
    ordered: any_order,
    parts: |shape| streams::parts(shape, torus(shape).ways().count()),
    layer: Layer::Packets,
    stream_way: routes::way_of_tree,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    if b.ranks() == 1 {
        b.copy(b.input(), b.output());
        return;
    }
    let places = routes::trees(b.shape(), b.root(), b.rank(), false);
    reduce(b, &places, Ends::AtRoot);
}

fn claims(shape: &Shape) -> Claims {
    let trees = |rank| routes::trees(shape, shape.call.root, rank, false);
    cost::claims(shape, Carries::Up, Ends::AtRoot, trees)
}
