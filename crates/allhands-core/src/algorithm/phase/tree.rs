//! Tree phases: vectors and blocks travel up and down k-nomial trees.
//!
//! The ranks that take part stand at positions 0..n of a tree whose root is position 0; a [`Group`] says which rank
//! stands where. One digit position of the tree is one step, or several if its edges are more than the ports.

use crate::pattern::knomial::{Edge, KnomialTree};
use crate::schedule::{Blocks, Builder, Side};
use alloc::vec::Vec;

/// The ranks of a tree: position 0 is the root.
pub struct Group<'a> {
    /// The tree over the positions.
    pub tree: KnomialTree,
    /// The position of this rank.
    pub position: u32,
    /// The rank at a position.
    pub rank_at: &'a dyn Fn(u32) -> u32,
    /// Messages at once.
    pub ports: u32,
}

impl Group<'_> {
    fn children(&self) -> Vec<Edge> {
        self.tree.children(self.position).collect()
    }

    /// Children that are served at once: those of a step, at most as many as there are ports.
    fn rounds(&self) -> Vec<Vec<Edge>> {
        let mut rounds: Vec<Vec<Edge>> = Vec::new();
        for edge in self.children() {
            let room = |round: &&mut Vec<Edge>| {
                round[0].step == edge.step && (round.len() as u32) < self.ports
            };
            match rounds.last_mut().filter(|round| room(&round)) {
                Some(round) => round.push(edge),
                None => rounds.push(alloc::vec![edge]),
            }
        }
        rounds
    }
}

/// Down the tree: receives `own` from the parent, then sends each child what `for_child` names.
pub fn down(
    b: &mut Builder,
    group: &Group<'_>,
    own: &[Blocks],
    for_child: &dyn Fn(&Edge) -> Vec<Blocks>,
) {
    if let Some(edge) = group.tree.parent(group.position) {
        b.recv((group.rank_at)(edge.parent), own);
        b.step();
    }
    for round in group.rounds() {
        for (port, edge) in round.iter().enumerate() {
            b.port(port as u32);
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
    for round in group.rounds().iter().rev() {
        for (port, edge) in round.iter().enumerate() {
            b.port(port as u32);
            b.recv((group.rank_at)(edge.child), from_child(edge));
        }
        b.step();
    }
    if let Some(edge) = group.tree.parent(group.position) {
        b.send((group.rank_at)(edge.parent), own);
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
    for round in group.rounds().iter().rev() {
        let target = if sum == own { into(b) } else { sum };
        if let [edge] = round[..] {
            b.recv_reduce((group.rank_at)(edge.child), Side::Right, sum, target);
            b.step();
            sum = target;
            continue;
        }
        // Several at once cannot combine into one vector at once.
        let arrived: Vec<Blocks> = round.iter().map(|_| b.vector()).collect();
        for (port, (edge, place)) in round.iter().zip(&arrived).enumerate() {
            b.port(port as u32);
            b.recv((group.rank_at)(edge.child), *place);
        }
        b.step();
        for place in arrived {
            b.reduce(sum, place, target);
            b.step();
            sum = target;
        }
    }
    if let Some(edge) = group.tree.parent(group.position) {
        b.send((group.rank_at)(edge.parent), sum);
        b.step();
    }
    sum
}

/// The steps of the whole tree, when a position of the tree with more edges than ports takes several.
#[must_use]
pub fn depth(tree: KnomialTree, ports: u32) -> u32 {
    // A subtree is as deep as its child's, after the rounds up to the one that serves that child. Subtrees of one
    // position are alike but for the clipped last, so the first edge of each round, and the last edge, decide.
    fn below(tree: KnomialTree, ports: u32, position: u32) -> u32 {
        let group = Group {
            tree,
            position,
            rank_at: &|p| p,
            ports,
        };
        let served = |(round, edges): (usize, &Vec<Edge>)| {
            let deepest = [edges[0], edges[edges.len() - 1]].map(|e| {
                if e.size > 1 {
                    below(tree, ports, e.child)
                } else {
                    0
                }
            });
            round as u32 + 1 + deepest[0].max(deepest[1])
        };
        group
            .rounds()
            .iter()
            .enumerate()
            .map(served)
            .max()
            .unwrap_or(0)
    }
    below(tree, ports, 0)
}
