//! k-nomial reduce: a child sends its parent the reduction of its subtree; with k ports k children send at once.
//!
//! ⌈log_(k+1) p⌉ steps with radix k + 1, each with up to k reductions of the whole vector. An operator that does not commute gets the
//! tree of rank 0, whose result then goes to the root.
//!
//! ```text
//! 4 ranks, root 0      1 ─▶ 0: 0+1   3 ─▶ 2: 2+3      2 ─▶ 0: (0+1)+(2+3)
//! ```
//!
//! Source: C 5.4, table 4; Q 5.1.1.

use crate::algorithm::phase::tree::{self, Group};
use crate::algorithm::{Algorithm, Claims, InPlace, Key, keeps_order, uncut};
use crate::call::Collective;
use crate::pattern::knomial::KnomialTree;
use crate::pattern::math::{absolute, relative};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    name: "k-nomial",
    citation: "C table 4 with the radix of Q 5.1.1",
    summary: "k-nomial tree: a parent combines several children a step",
    requires: &[],
    keys: &[Key::PORTS, Key::RADIX],
    settings: &["", "ports=2", "ports=3", "ports=4", "radix=4"],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: uncut,
    build,
    claims,
};

fn build(b: &mut Builder) {
    let (p, root, rank, ports) = (b.ranks(), b.root(), b.rank(), b.shape().ports());
    // Rank order needs the tree over absolute ranks.
    let top = if b.call().commutative { root } else { 0 };
    let tree = KnomialTree::new(p, b.shape().radix());
    let rank_at = |position| absolute(position, top, p);
    let group = Group {
        tree,
        position: relative(rank, top, p),
        rank_at: &rank_at,
        ports,
    };
    let (input, output) = (b.input(), b.output());
    let sum = tree::reduce_up(b, &group, input, &mut |b| {
        if rank == root { output } else { b.vector() }
    });
    if top == root && rank == root {
        b.copy(sum, output);
    } else if rank == top {
        b.send(root, sum);
    } else if rank == root {
        b.recv(top, output);
    }
}

fn claims(shape: &Shape) -> Claims {
    let (p, ports, call) = (shape.ranks(), shape.ports(), shape.call);
    let tree = KnomialTree::new(p, shape.radix());
    let moves_on = !call.commutative && call.root != 0;
    let children = tree.children(0).count() as u64;
    let steps = tree::steps_up(tree, ports) + u32::from(moves_on);
    // The root of the result has received it, and perhaps children of its own.
    let root_also = if moves_on {
        tree.children(call.root).count() as u64 + 1
    } else {
        0
    };
    Claims {
        ports,
        steps,
        volume: children.max(root_also),
        work: children,
    }
}
