//! Steps of walks: how long a tree takes, where a rank goes on as soon as it has what it waits for.

use super::Group;
use crate::pattern::knomial::{Edge, KnomialTree};
use crate::pattern::math::power;
use alloc::vec;
use alloc::vec::Vec;

/// The steps of [`down`](super::walk::down) over the whole tree, where edges beyond the ports take further steps.
#[must_use]
pub fn down(tree: KnomialTree, ports: u32) -> u32 {
    below(tree, ports, false, 0)
}

/// The steps of [`up`](super::walk::up) over the whole tree: a parent takes a round when its children there are ready.
#[must_use]
pub fn up(tree: KnomialTree, ports: u32) -> u32 {
    below(tree, ports, true, 0)
}

/// The steps below a position.
///
/// All subtrees of a step are alike but for one that is clipped, so the recursion has one branch.
fn below(tree: KnomialTree, ports: u32, upward: bool, position: u32) -> u32 {
    let group = Group {
        tree,
        position,
        rank_at: &|p| p,
        ports,
    };
    let deepest = |round: &Vec<Edge>| {
        let steps = |edge: &Edge| {
            let levels = tree.steps() - 1 - edge.step;
            if u64::from(edge.size) == power(tree.radix(), levels) {
                levels * (tree.radix() - 1).div_ceil(ports)
            } else {
                below(tree, ports, upward, edge.child)
            }
        };
        round.iter().map(steps).max().unwrap_or(0)
    };
    if upward {
        let rounds = group.rounds_up();
        let ready = rounds.iter().map(deepest);
        return ready.fold(0, |done, ready| done.max(ready) + 1);
    }
    let rounds = group.rounds();
    let ends = (1..).zip(rounds.iter().map(deepest));
    ends.map(|(round, rest)| round + rest).max().unwrap_or(0)
}

/// For each position, the step after which it has nothing more to do in [`down`](super::walk::down) with one port.
#[must_use]
pub fn finish_down(tree: KnomialTree) -> Vec<u32> {
    let mut arrived = vec![0u32];
    let mut finished = Vec::new();
    for position in 0..tree.subtree(0).end {
        let mut clock = arrived[position as usize];
        for edge in tree.children(position) {
            clock += 1;
            if arrived.len() <= edge.child as usize {
                arrived.resize(edge.child as usize + 1, 0);
            }
            arrived[edge.child as usize] = clock;
        }
        finished.push(clock);
    }
    finished
}
