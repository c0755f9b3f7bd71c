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
use crate::algorithm::phase::torus::cost::{self, Carries};
use crate::algorithm::phase::torus::grid::{DEPOSIT, torus};
use crate::algorithm::phase::torus::streams::{self, Place, send_on, strands};
use crate::algorithm::phase::torus::{prefix, reduce::Ends, routes};
use crate::algorithm::{Algorithm, Claims, Key, Layer, Requirement};
use crate::schedule::{Blocks, Builder, Shape};
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "torus-trees",
    citation: "B 3.1",
    summary: "parts of the vector along spanning trees of the torus that share no link",
    requires: &[Requirement::Torus, Requirement::DisjointStreams],
    keys: &[Key::SEGMENTS, DEPOSIT, prefix::PREFIX],
    settings: &[
        "",
        "segments=1",
        "deposit=off",
        "segments=5,deposit=off",
        "prefix=agreement-barrier",
    ],
    parts: |shape| streams::parts(shape, torus(shape).ways().count()),
    layer: Layer::Packets,
    stream_way: routes::way_of_tree,
    build,
    claims,
    ..BASE
};

fn places(shape: &Shape, rank: u32) -> Vec<Place> {
    let deposit = shape.get("deposit") == 1;
    routes::trees(shape, shape.call.root, rank, deposit)
}

fn build(b: &mut Builder) {
    let places = places(b.shape(), b.rank());
    prefix::emit(b);
    let (input, output) = (b.input(), b.output());
    let root = b.rank() == b.root();
    if root {
        b.copy(input, output);
        b.step();
    }
    let segments = b.get("segments");
    strands(b, &places, &|b, place, first| {
        let output = output.at(first).advancing(1);
        let source = if root {
            input.at(first).advancing(1)
        } else {
            output
        };
        let deposits = place.lines.iter().any(|line| line.len() > 1);
        match place.parent {
            Some(parent) if deposits => pass_on(b, parent, &place.lines, output),
            parent => b.repeat(segments, 0, |b| {
                if let Some(parent) = parent {
                    b.recv(parent, output);
                }
                send_on(b, &place.lines, source);
                if deposits {
                    b.step();
                }
            }),
        }
    });
}

/// Receives segments from `parent` and sends each on along lines while the next comes. A segment's messages start together, because
/// copies belong to the message before them.
fn pass_on(b: &mut Builder, parent: u32, lines: &[Vec<u32>], segment: Blocks) {
    let segments = b.get("segments");
    let at = |number: u32| Blocks {
        first: segment.first + number,
        ..segment
    };
    b.recv(parent, at(0).advancing(0));
    b.repeat(segments - 1, 0, |b| {
        b.recv(parent, at(1));
        send_on(b, lines, at(0));
        b.step();
    });
    send_on(b, lines, at(segments - 1).advancing(0));
    b.step();
}

fn claims(shape: &Shape) -> Claims {
    cost::claims(shape, Carries::Down, Ends::AtRoot, |rank| {
        places(shape, rank)
    })
}
