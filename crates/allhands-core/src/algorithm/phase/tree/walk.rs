//! Walks: messages along a tree, from the root down, from the leaves up, or up and combined on the way.

use super::Group;
use crate::pattern::knomial::Edge;
use crate::schedule::{Blocks, Builder, Side};
use alloc::vec::Vec;

/// A way along the tree: [`up`], [`down`] or [`down_at_once`].
pub type Walk = fn(&mut Builder, &Group<'_>, &[Blocks], &dyn Fn(&Edge) -> Vec<Blocks>);

/// Down the tree: receives `own` from the parent, then sends each child what `for_child` names.
pub fn down(
    b: &mut Builder,
    group: &Group<'_>,
    own: &[Blocks],
    for_child: &dyn Fn(&Edge) -> Vec<Blocks>,
) {
    serve(b, group, &group.rounds(), own, for_child);
}

/// As [`down`], with the messages to all children in one step.
pub fn down_at_once(
    b: &mut Builder,
    group: &Group<'_>,
    own: &[Blocks],
    for_child: &dyn Fn(&Edge) -> Vec<Blocks>,
) {
    serve(b, group, &[group.children()], own, for_child);
}

fn serve(
    b: &mut Builder,
    group: &Group<'_>,
    rounds: &[Vec<Edge>],
    own: &[Blocks],
    for_child: &dyn Fn(&Edge) -> Vec<Blocks>,
) {
    if let Some(parent) = group.parent() {
        b.recv(parent, own);
        b.step();
    }
    for round in rounds {
        for (port, edge) in (0..).zip(round) {
            b.port(port);
            b.send((group.rank_at)(edge.child), for_child(edge));
        }
        b.step();
    }
}

/// Up the tree: receives from each child what `from_child` names, then sends `own` to the parent.
pub fn up(
    b: &mut Builder,
    group: &Group<'_>,
    own: &[Blocks],
    from_child: &dyn Fn(&Edge) -> Vec<Blocks>,
) {
    for round in &group.rounds_up() {
        for (port, edge) in (0..).zip(round) {
            b.port(port);
            b.recv((group.rank_at)(edge.child), from_child(edge));
        }
        b.step();
    }
    if let Some(parent) = group.parent() {
        b.send(parent, own);
        b.step();
    }
}

/// Up the tree, combining: every rank has `own`; what the root gets lands in `into`, which on other ranks is scratch.
///
/// A child's subtree stands right of its parent's earlier ones, so vectors are combined in the order of positions.
/// Returns where the result of this rank's subtree lies: `own`, if it has no children.
pub fn reduce_up(
    b: &mut Builder,
    group: &Group<'_>,
    own: Blocks,
    into: &mut dyn FnMut(&mut Builder) -> Blocks,
) -> Blocks {
    let mut sum = own;
    for round in &group.rounds_up() {
        let target = if sum == own { into(b) } else { sum };
        match round[..] {
            [edge] => {
                b.recv_reduce((group.rank_at)(edge.child), Side::Right, sum, target);
                b.step();
            }
            _ => combine_after(b, group, round, [sum, target]),
        }
        sum = target;
    }
    if let Some(parent) = group.parent() {
        b.send(parent, sum);
        b.step();
    }
    sum
}

/// Several children at once cannot combine into one vector at once: theirs arrive side by side, and are combined after that.
fn combine_after(
    b: &mut Builder,
    group: &Group<'_>,
    round: &[Edge],
    [mut sum, target]: [Blocks; 2],
) {
    let arrived: Vec<Blocks> = round.iter().map(|_| b.vector()).collect();
    for ((port, edge), place) in (0..).zip(round).zip(&arrived) {
        b.port(port);
        b.recv((group.rank_at)(edge.child), *place);
    }
    b.step();
    for place in arrived {
        b.reduce(sum, place, target);
        b.step();
        sum = target;
    }
}
