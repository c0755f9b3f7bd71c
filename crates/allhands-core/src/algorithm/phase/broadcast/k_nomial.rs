//! K-nomial broadcast: the root's vector goes down the tree, and every rank that has it serves its children.

use crate::algorithm::phase::tree::{Group, walk::Walk};
use crate::pattern::math::absolute;
use crate::schedule::Builder;
use alloc::vec;

/// The root's vector to every rank down the tree of the call's radix and ports; `serve` is the walk
/// [`down`](crate::algorithm::phase::tree::walk::down) or [`down_at_once`](crate::algorithm::phase::tree::walk::down_at_once).
pub fn broadcast(b: &mut Builder, serve: Walk) {
    let (p, root) = (b.ranks(), b.root());
    let rank_at = |position| absolute(position, root, p);
    let group = Group::of_call(b, root, &rank_at);
    let (input, output) = (b.input(), b.output());
    let source = if b.rank() == root { input } else { output };
    b.copy(source, output);
    serve(b, &group, &[output], &|_| vec![source]);
}
