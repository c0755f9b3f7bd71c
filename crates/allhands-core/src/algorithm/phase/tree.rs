//! Tree phases: vectors and blocks travel up and down k-nomial trees.
//!
//! The ranks that take part stand at positions 0..n of a tree whose root is position 0; a [`Group`] says which rank
//! stands where. One digit position of the tree is one step, or several if its edges are more than the ports.
//!
//! ```text
//! 9 positions, radix 3      down, 2 ports: 0 ─▶ 3, 6      0 ─▶ 1, 2   3 ─▶ 4, 5   6 ─▶ 7, 8      up: the same backwards
//!                           down, 1 port:  0 ─▶ 3         0 ─▶ 6   3 ─▶ 4   …
//! ```
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, T 4.2, 4.5; Qian, Afsahi 2008, Q 5.1.1.

use crate::algorithm::Claims;
use crate::pattern::knomial::{Edge, KnomialTree};
use crate::pattern::math::{absolute, power, relative};
use crate::schedule::{Blocks, Builder, Shape, Side, Units};
use alloc::vec;
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
            match rounds.last_mut().filter(room) {
                Some(round) => round.push(edge),
                None => rounds.push(alloc::vec![edge]),
            }
        }
        rounds
    }

    /// The rounds on the way up: the nearest children first, and those of a step in the order of their positions.
    fn rounds_up(&self) -> Vec<Vec<Edge>> {
        let mut rounds = self.rounds();
        rounds.sort_by_key(|round| core::cmp::Reverse(round[0].step));
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
    serve(b, group, &group.rounds(), own, for_child);
}

/// A way along the tree: [`up`], [`down`] or [`down_at_once`].
pub type Walk = fn(&mut Builder, &Group<'_>, &[Blocks], &dyn Fn(&Edge) -> Vec<Blocks>);

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
    if let Some(edge) = group.tree.parent(group.position) {
        b.recv((group.rank_at)(edge.parent), own);
        b.step();
    }
    for round in rounds {
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
    for round in &group.rounds_up() {
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
    for round in &group.rounds_up() {
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

/// Blocks between the root, which has `all` of them, and the other ranks, each with its `own`, along the tree of the call's
/// radix and ports: gathered by [`up`], scattered by [`down`]. The root's own block is not moved.
pub fn blocks(b: &mut Builder, own: Blocks, all: Blocks, walk: Walk) {
    let (p, root, rank) = (b.ranks(), b.root(), b.rank());
    let rank_at = |position| absolute(position, root, p);
    let group = Group {
        tree: KnomialTree::new(p, b.shape().radix()),
        position: relative(rank, root, p),
        rank_at: &rank_at,
        ports: b.shape().ports(),
    };
    if rank == root {
        let subtree = |edge: &Edge| wrapped(all, rank_at(edge.child), edge.size);
        return walk(b, &group, &[], &subtree);
    }
    let me = group.position;
    let run = Units::Run {
        first: (rank + 1) % p,
        modulo: p,
    };
    let below = b.scratch(run, group.tree.subtree(me).len() as u32 - 1);
    walk(b, &group, &[own, below], &|edge| {
        vec![below.slice(edge.child - me - 1, edge.size)]
    });
}

/// The root's vector to every rank down the tree of the call's radix and ports; `serve` is [`down`] or [`down_at_once`].
pub fn broadcast(b: &mut Builder, serve: Walk) {
    let (p, root) = (b.ranks(), b.root());
    let rank_at = |position| absolute(position, root, p);
    let group = Group {
        tree: KnomialTree::new(p, b.shape().radix()),
        position: relative(b.rank(), root, p),
        rank_at: &rank_at,
        ports: b.shape().ports(),
    };
    let (input, output) = (b.input(), b.output());
    let source = if b.rank() == root { input } else { output };
    b.copy(source, output);
    serve(b, &group, &[output], &|_| alloc::vec![source]);
}

/// The reduction of all vectors to the root, up the tree of the call's radix and ports.
///
/// A tree rooted at the root combines in another order than that of the ranks; an operator that does not commute gets the
/// tree of rank 0, whose result then goes to the root.
pub fn reduce(b: &mut Builder) {
    let (p, root, rank) = (b.ranks(), b.root(), b.rank());
    let top = if b.call().commutative { root } else { 0 };
    let rank_at = |position| absolute(position, top, p);
    let group = Group {
        tree: KnomialTree::new(p, b.shape().radix()),
        position: relative(rank, top, p),
        rank_at: &rank_at,
        ports: b.shape().ports(),
    };
    let (input, output) = (b.input(), b.output());
    let sum = reduce_up(b, &group, input, &mut |b| {
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
pub fn reduce_claims(shape: &Shape) -> Claims {
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
        steps: steps_up(tree, ports) + u32::from(moves_on),
        volume: children.max(root_also),
        work: children,
    }
}

/// The steps of [`down`] over the whole tree, where edges beyond the ports take further steps.
#[must_use]
pub fn steps_down(tree: KnomialTree, ports: u32) -> u32 {
    below(tree, ports, false, 0)
}

/// The steps of [`up`] over the whole tree: a parent takes a round when its children there are ready.
#[must_use]
pub fn steps_up(tree: KnomialTree, ports: u32) -> u32 {
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
        return group
            .rounds_up()
            .iter()
            .map(deepest)
            .fold(0, |done, ready| done.max(ready) + 1);
    }
    let rounds = group.rounds();
    let ends = rounds
        .iter()
        .map(deepest)
        .enumerate()
        .map(|(round, rest)| round as u32 + 1 + rest);
    ends.max().unwrap_or(0)
}

/// For each position, the step after which it has nothing more to do in [`down`] with one port.
#[must_use]
pub fn finish_down(tree: KnomialTree) -> Vec<u32> {
    let mut arrived = alloc::vec![0u32];
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

/// Blocks `first..first + count` of `all`, which hold the ranks in order, counted round from the last to the first.
#[must_use]
pub fn wrapped(all: Blocks, first: u32, count: u32) -> Vec<Blocks> {
    let until_end = count.min(all.count() - first);
    alloc::vec![all.slice(first, until_end), all.slice(0, count - until_end)]
}
