//! Tokens along a tree: up, when all below a rank have entered, and down, when all may leave.

use crate::algorithm::phase::tree::Group;
use crate::schedule::Builder;

/// Hears from all children, the nearest first, and then tells the parent.
pub fn up(b: &mut Builder, group: &Group<'_>) {
    for edge in group.tree.children(group.position).rev() {
        b.recv_token((group.rank_at)(edge.child));
        b.step();
    }
    if let Some(parent) = group.parent() {
        b.send_token(parent);
        b.step();
    }
}

/// Hears from the parent and then tells all children, the farthest first.
pub fn down(b: &mut Builder, group: &Group<'_>) {
    if let Some(parent) = group.parent() {
        b.recv_token(parent);
        b.step();
    }
    for edge in group.tree.children(group.position) {
        b.send_token((group.rank_at)(edge.child));
        b.step();
    }
}
