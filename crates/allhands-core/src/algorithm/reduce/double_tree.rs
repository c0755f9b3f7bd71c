//! Double-tree reduce: half of the segments run up each of two binary trees in which no rank has children twice.
//!
//! The double-tree broadcast backwards: a rank that combines what two children send in one tree is a leaf of the other, so the
//! vector passes once through every rank, at logarithmic depth. Each tree combines in the order of its own labels: rank order
//! from root 0 where p is odd; elsewhere the operator must commute.
//!
//! ```text
//! 7 ranks, root 0      segments 0…: 1, 3, 5 ─▶ 2, 6 ─▶ 4 ─▶ 0      segments n…: 6, 4, 2 ─▶ 5, 1 ─▶ 3 ─▶ 0
//! ```
//!
//! Source: Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::double_tree::{Tree, place, rounds_up};
use crate::pattern::math::{absolute, relative};
use crate::schedule::{Blocks, Builder, Shape, Side};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "double-tree",
    citation: "Sanders, Speck, Träff 2009",
    summary: "half of the segments up each of two binary trees that share no inner rank",
    keys: &[Key::SEGMENTS],
    settings: &["", "segments=1", "segments=13"],
    ordered: |shape| shape.call.root == 0 && (shape.ranks() % 2 == 1 || shape.ranks() == 2),
    parts: |shape| 2 * shape.get("segments"),
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    if b.ranks() == 1 {
        b.copy(b.input(), b.output());
        return;
    }
    let result = match b.rank() == b.root() {
        true => b.output(),
        false => b.vector(),
    };
    // Of two ranks both trees are the same.
    let trees = match b.ranks() {
        2 => &Tree::BOTH[..1],
        _ => &Tree::BOTH[..],
    };
    let segments = b.parts() / trees.len() as u32;
    // A rank is ahead in one tree, where it is a leaf, of what it combines in the other by no more than that takes to come: what it
    // sent at once would have the way out to itself.
    let window = rounds_up(b.ranks()) + 1;
    b.repeat(segments, window, |b| {
        for (first, tree) in (0..).step_by(segments as usize).zip(trees) {
            up(
                b,
                *tree,
                [b.input(), result].map(|v| v.at(first).advancing(1)),
            );
        }
    });
}

/// A segment of one tree.
fn up(b: &mut Builder, tree: Tree, [own, result]: [Blocks; 2]) {
    let (p, root) = (b.ranks(), b.root());
    let me = relative(b.rank(), root, p);
    let here = place(p, tree, me);
    let mut sum = own;
    // The second child's subtree is the smaller one, so it is ready first.
    for (port, child) in [(1, here.children[1]), (0, here.children[0])] {
        let Some(child) = child else { continue };
        let (from, side) = (absolute(child, root, p), Side::of(child, me));
        b.port(port).recv_reduce(from, side, sum, result);
        sum = result;
    }
    if let Some(parent) = here.parent {
        b.send(absolute(parent, root, p), sum);
    }
}

fn claims(shape: &Shape) -> Claims {
    let (p, segments) = (shape.ranks(), shape.get("segments"));
    let busy = u32::from(p > 1);
    Claims {
        ports: 2,
        steps: match p {
            2 => 2 * segments,
            _ => busy * (rounds_up(p) + segments),
        },
        volume: u64::from(busy * 2 * segments),
        work: u64::from(busy * 2 * segments),
    }
}
