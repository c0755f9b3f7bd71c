//! K-nomial reduction: vectors go up the tree, and every rank combines what its children send before it sends the sum on.

use crate::algorithm::Claims;
use crate::algorithm::phase::tree::{Group, steps, walk};
use crate::pattern::knomial::KnomialTree;
use crate::pattern::math::absolute;
use crate::schedule::{Builder, Shape};

/// The reduction of all vectors to the root, up the tree of the call's radix and ports.
///
/// A tree rooted at the root combines in another order than that of the ranks; an operator that does not commute gets the
/// tree of rank 0, whose result then goes to the root.
pub fn reduce(b: &mut Builder) {
    let (p, root, rank) = (b.ranks(), b.root(), b.rank());
    let top = if b.call().commutative { root } else { 0 };
    let rank_at = |position| absolute(position, top, p);
    let group = Group::of_call(b, top, &rank_at);
    let (input, output) = (b.input(), b.output());
    let sum = walk::reduce_up(b, &group, input, &mut |b| {
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

/// What [`reduce`] costs.
#[must_use]
pub fn claims(shape: &Shape) -> Claims {
    let (p, ports, call) = (shape.ranks(), shape.ports(), shape.call);
    let tree = KnomialTree::new(p, shape.radix());
    let moves_on = !call.commutative && call.root != 0;
    let children = tree.children(0).count() as u64;
    // The root of the result has received it, and perhaps children of its own.
    let root_also = if moves_on {
        tree.children(call.root).count() as u64 + 1
    } else {
        0
    };
    Claims {
        ports,
        steps: steps::up(tree, ports) + u32::from(moves_on),
        volume: children.max(root_also),
        work: children,
    }
}
