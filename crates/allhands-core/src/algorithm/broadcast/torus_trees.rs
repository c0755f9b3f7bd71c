//! Torus-trees broadcast: a part of the vector goes along each of several spanning trees of a mesh or torus, of which no two use
//! the same link.
//!
//! There is a tree for each dimension, and two where it is wrapped around, so up to six links' worth of bandwidth reach every
//! rank. Trees follow straight lines: along one dimension first, then from all nodes of that line along the next.
//!
//! ```text
//! 3x3 mesh, root 0     stream x: 0 ─▶ 1 ─▶ 2          stream y: 0 ─▶ 3 ─▶ 6
//!                                    ▼    ▼                       ▼    ▼
//!                                3 ◀ 4    5                       4    7   ─▶ 8, and from 4 up to 1, from 5 to 2
//! ```
//!
//! Source: B 3.1, figure 1, after Watts and van de Geijn 1995.

use crate::algorithm::phase::streams::{self, Carries, Ends};
use crate::algorithm::phase::torus;
use crate::algorithm::{Algorithm, Claims, InPlace, Key, Requirement, keeps_order};
use crate::call::Collective;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Broadcast,
    name: "torus-trees",
    citation: "B 3.1",
    summary: "parts of the vector along spanning trees of the torus that share no link",
    requires: &[Requirement::Torus, Requirement::DisjointStreams],
    keys: &[Key::SEGMENTS],
    settings: &["", "segments=1", "segments=5"],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: |shape| streams::parts(shape, torus::torus(shape).ways().count()),
    build,
    claims,
};

fn build(b: &mut Builder) {
    let places = torus::trees(b.shape(), b.root(), b.rank());
    streams::down(b, &places);
}

fn claims(shape: &Shape) -> Claims {
    let places = torus::of_all(shape, |rank| torus::trees(shape, shape.call.root, rank));
    streams::claims(shape.get("segments"), &places, Carries::Down, Ends::AtRoot)
}
