//! Double-tree allreduce: half of the segments are reduced up each of two binary trees and come down again, pipelined.
//!
//! No rank has children in both trees, so none does more than its share. A segment that has come to the root goes down at once,
//! while later ones still go up. Each tree combines in the order of its own labels: tree 0 in rank order, tree 1
//! in rank order backwards where p is odd; where p is even, tree 1's labels are rotated and the operator must commute.
//!
//! ```text
//! 7 ranks      segments 0…: 1, 3, 5 ─▶ 2, 6 ─▶ 4 ─▶ 0 and back      segments n…: 6, 4, 2 ─▶ 5, 1 ─▶ 3 ─▶ 0 and back
//! ```
//!
//! Source: Sanders, Speck, Träff: Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::double_tree::{Tree, depth, place, rounds_up};
use crate::schedule::{Builder, Shape, Side};
use alloc::vec::Vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "double-tree",
    citation: "Sanders, Speck, Träff 2009",
    summary: "half of the segments up and down each of two binary trees that share no inner rank",
    keys: &[Key::SEGMENTS],
    settings: &["", "segments=1", "segments=13"],
    ordered: |shape| shape.ranks() % 2 == 1 || shape.ranks() == 2,
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
    up_and_down(b, Tree::Even);
    b.strand(|b| up_and_down(b, Tree::Odd));
}

/// One tree's segments: the first or the second half of the parts.
fn up_and_down(b: &mut Builder, tree: Tree) {
    let (rank, segments) = (b.rank(), b.parts() / 2);
    let here = place(b.ranks(), tree, rank);
    let first = match tree {
        Tree::Even => 0,
        Tree::Odd => segments,
    };
    let input = b.input().at(first).advancing(1);
    let output = b.output().at(first).advancing(1);
    let children: Vec<(u32, u32)> = (0..).zip(here.children.into_iter().flatten()).collect();
    b.repeat(segments, 0, |b| {
        let mut sum = input;
        // The second child's subtree is the smaller one, so it is ready first.
        for &(port, child) in children.iter().rev() {
            let side = Side::of(child, rank);
            b.port(port).recv_reduce(child, side, sum, output);
            sum = output;
        }
        if let Some(parent) = here.parent {
            b.port(2).send(parent, sum);
            b.port(2).recv(parent, output);
        }
        for &(port, child) in &children {
            b.port(port).send(child, output);
        }
    });
}

fn claims(shape: &Shape) -> Claims {
    let (p, segments) = (shape.ranks(), shape.get("segments"));
    let busy = u32::from(p > 1);
    // An inner rank receives from and sends to two children and its parent, and is a leaf of the other tree.
    let neighbours = match p {
        1 => 0,
        2 => 2,
        3 => 3,
        _ => 4,
    };
    Claims {
        ports: 4,
        steps: busy * (rounds_up(p) + depth(p) + segments),
        volume: u64::from(neighbours * segments),
        work: u64::from(busy * 2 * segments),
    }
}
