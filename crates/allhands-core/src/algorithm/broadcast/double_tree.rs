//! Double-tree broadcast: half of the segments run down each of two binary trees in which no rank has children twice.
//!
//! A rank that serves two children in one tree is a leaf of the other, so it sends no more than the root: with two ports
//! the vector passes once through every rank, at logarithmic depth. Each tree is a strand: a segment goes on when it is there.
//!
//! ```text
//! 7 ranks, root 0      segments 0…: 0 ─▶ 4 ─▶ 2, 6 ─▶ 1, 3, 5      segments n…: 0 ─▶ 3 ─▶ 5, 1 ─▶ 6, 4, 2
//! ```
//!
//! Source: Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::double_tree::{Tree, depth, place};
use crate::pattern::math::{absolute, relative};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "double-tree",
    citation: "Sanders, Speck, Träff 2009",
    summary: "half of the segments down each of two binary trees that share no inner rank",
    keys: &[Key::SEGMENTS],
    settings: &["", "segments=1", "segments=13"],
    parts: |shape| 2 * shape.get("segments"),
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (input, output) = (b.input(), b.output());
    if b.rank() == b.root() {
        b.copy(input, output);
        b.step();
    }
    down(b, Tree::Even);
    b.strand(|b| down(b, Tree::Odd));
}

/// One tree's segments: the first or the second half of the parts.
fn down(b: &mut Builder, tree: Tree) {
    let (p, root, segments) = (b.ranks(), b.root(), b.parts() / 2);
    let here = place(p, tree, relative(b.rank(), root, p));
    let first = match tree {
        Tree::Even => 0,
        Tree::Odd => segments,
    };
    let output = b.output().at(first).advancing(1);
    let source = match here.parent {
        Some(_) => output,
        None => b.input().at(first).advancing(1),
    };
    b.repeat(segments, 0, |b| {
        if let Some(parent) = here.parent {
            b.recv(absolute(parent, root, p), output);
        }
        for (port, child) in here.children.into_iter().flatten().enumerate() {
            b.port(port as u32).send(absolute(child, root, p), source);
        }
    });
}

fn claims(shape: &Shape) -> Claims {
    let (p, segments) = (shape.ranks(), shape.get("segments"));
    let busy = u32::from(p > 1);
    Claims {
        ports: 2,
        steps: busy * (depth(p) + segments - 1),
        volume: u64::from(busy * 2 * segments),
        work: 0,
    }
}
