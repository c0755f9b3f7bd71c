//! Spanning trees of a mesh or torus, rooted at any node, of which no two use the same link.
//!
//! There is a tree for each [way](Torus::ways) to leave a node: one for each dimension, two where it is wrapped around. As
//! many links lead into a node of a mesh's corner, so there cannot be more (B 3.1). The trees follow long straight lines,
//! in the style of B's figure 1, after Watts and van de Geijn (1995); this construction is our own.
//!
//! Let S be the dimensions in which a node is away from the root. Each tree enters each node by a link of its own:
//!
//! - The tree of way p, whose dimension is not in S, enters along p itself: from the neighbour beyond, which is away from the
//!   root in that dimension also. (On a mesh, from either side.)
//! - If S is one dimension, its tree or trees go along it from the root.
//! - Otherwise put the ways whose dimension is in S in a circle, so that those of one dimension are no neighbours. The tree of p
//!   enters along the way before p: the tree has first gone along p, and goes along the way before p last.
//! - A plane through the root with one dimension wrapped around, d, and one that is not, f, has no such circle of its three
//!   ways. There +d goes along its line, then along f, then on to the last column; -d goes by one hop to the last column,
//!   along f there, then back along d; f goes along its line, then along +d, and by -d to the last column.
//!
//! In each case the ways by which the trees enter are all different, so no link is used twice. And the trees reach the root: going back,
//! a tree of p comes to a node away from the root in p's dimension, then leaves one other dimension after the other, never p's
//! own before the last.

use crate::machine::{Direction, Torus};
use alloc::vec::Vec;

/// The trees of one root.
#[derive(Clone, Debug)]
pub struct SpanningTrees {
    torus: Torus,
    root: u32,
    /// The ways, in the order of the circle.
    circle: Vec<Direction>,
}

impl SpanningTrees {
    /// The trees of `torus` with root `root`.
    #[must_use]
    pub fn new(torus: Torus, root: u32) -> SpanningTrees {
        let pick = |up: bool, wrapped: bool| {
            let fits = move |way: &Direction| way.up == up && torus.wraps(way.dimension) == wrapped;
            torus.ways().filter(fits).collect::<Vec<Direction>>()
        };
        let (mut circle, single) = (pick(true, true), pick(true, false));
        // Between the two ways of a single wrapped dimension stands another.
        let between = usize::from(circle.len() == 1 && !single.is_empty());
        circle.extend(&single[..between]);
        circle.extend(pick(false, true));
        circle.extend(&single[between..]);
        SpanningTrees {
            torus,
            root,
            circle,
        }
    }

    /// The way that tree `tree` goes first, if there are so many: one for each tree, in the order of the trees.
    #[must_use]
    pub fn way(&self, tree: usize) -> Option<Direction> {
        self.circle.get(tree).copied()
    }

    /// The number of trees.
    #[must_use]
    pub fn count(&self) -> usize {
        self.circle.len()
    }

    /// The direction of the link by which tree `tree` enters a node; `None` at the root.
    #[must_use]
    pub fn enters(&self, tree: usize, node: u32) -> Option<Direction> {
        let way = *self.circle.get(tree)?;
        if node == self.root {
            return None;
        }
        let away = self.away(node);
        if !away[way.dimension] {
            return Some(self.inward(way, node));
        }
        let dimensions: Vec<usize> = (0..3).filter(|d| away[*d]).collect();
        let before = match dimensions[..] {
            [_] => way,
            [a, b] if self.torus.wraps(a) != self.torus.wraps(b) => {
                let (wrapped, single) = if self.torus.wraps(a) { (a, b) } else { (b, a) };
                self.mixed(way, node, wrapped, single)
            }
            _ => {
                let n = self.circle.len();
                let back = (1..n).map(|back| self.circle[(tree + n - back) % n]);
                let mut back = back.filter(|other| away[other.dimension]);
                back.next().unwrap_or(way)
            }
        };
        Some(self.outward(before, node))
    }

    /// The node before `node` in tree `tree`; `None` at the root.
    #[must_use]
    pub fn parent(&self, tree: usize, node: u32) -> Option<u32> {
        let entering = self.enters(tree, node)?;
        self.torus.neighbour(node, entering.opposite())
    }

    /// The nodes after `node` in tree `tree`, with the directions of their links.
    pub fn children(&self, tree: usize, node: u32) -> impl Iterator<Item = (Direction, u32)> + '_ {
        let next = move |direction| Some((direction, self.torus.neighbour(node, direction)?));
        Direction::all()
            .into_iter()
            .filter_map(next)
            .filter(move |(direction, child)| self.enters(tree, *child) == Some(*direction))
    }

    /// The straight lines on which `node` sends a tree's packets on, each the nodes behind one another, where packets
    /// leave copies at the nodes that they pass: all lines that turn here. A line that goes round is cut where going the other way round
    /// would be as short, and goes on from there.
    pub fn lines(&self, tree: usize, node: u32) -> impl Iterator<Item = Vec<u32>> + '_ {
        let starts = move |&(direction, _): &(Direction, u32)| {
            let before = self.straight(tree, node, direction);
            before.is_multiple_of(self.most(direction))
        };
        let line = move |(direction, child)| {
            let next = move |at: &u32| {
                let next = self.torus.neighbour(*at, direction)?;
                (self.enters(tree, next) == Some(direction)).then_some(next)
            };
            let line = core::iter::successors(Some(child), next);
            line.take(self.most(direction) as usize).collect()
        };
        self.children(tree, node).filter(starts).map(line)
    }

    /// The node whose packets leave a copy at `node`, in the style of [`SpanningTrees::lines`]; `None` at the root.
    #[must_use]
    pub fn source(&self, tree: usize, node: u32) -> Option<u32> {
        let direction = self.enters(tree, node)?;
        let most = self.most(direction);
        let before = self.straight(tree, node, direction);
        let (mut at, back) = (node, (before - 1) % most + 1);
        for _ in 0..back {
            at = self.torus.neighbour(at, direction.opposite())?;
        }
        Some(at)
    }

    /// The hops from where the tree turned in `direction` last before it came to a node.
    fn straight(&self, tree: usize, node: u32, direction: Direction) -> u32 {
        let (mut at, mut hops) = (node, 0);
        while self.enters(tree, at) == Some(direction) {
            let Some(before) = self.torus.neighbour(at, direction.opposite()) else {
                break;
            };
            (at, hops) = (before, hops + 1);
        }
        hops
    }

    /// How many hops a packet goes in a direction before the other way round is as short.
    fn most(&self, direction: Direction) -> u32 {
        let d = direction.dimension;
        match self.torus.wraps(d) {
            true => (self.torus.extents()[d] - 1) / 2,
            false => u32::MAX,
        }
    }

    /// In which dimensions a node is away from the root.
    fn away(&self, node: u32) -> [bool; 3] {
        let [at, root] = [node, self.root].map(|rank| self.torus.coordinates(rank));
        [0, 1, 2].map(|d| at[d] != root[d])
    }

    /// Along `way`, away from the root: on a mesh there are two sides to go to.
    fn outward(&self, way: Direction, node: u32) -> Direction {
        let d = way.dimension;
        let [at, root] = [node, self.root].map(|rank| self.torus.coordinates(rank)[d]);
        Direction {
            dimension: d,
            up: if self.torus.wraps(d) {
                way.up
            } else {
                at > root
            },
        }
    }

    /// Along `way` into the root's plane: on a mesh, from the side where there is a node.
    fn inward(&self, way: Direction, node: u32) -> Direction {
        match self.torus.neighbour(node, way.opposite()) {
            Some(_) => way,
            None => way.opposite(),
        }
    }

    /// By what way the tree of `way` enters a node of a plane through the root with one dimension wrapped around and one not.
    fn mixed(&self, way: Direction, node: u32, wrapped: usize, single: usize) -> Direction {
        let [up, down] = [true, false].map(|up| Direction {
            dimension: wrapped,
            up,
        });
        let along = Direction {
            dimension: single,
            up: true,
        };
        let before_root = self.torus.neighbour(self.root, down);
        let root_at = |rank| self.torus.coordinates(rank)[wrapped];
        let last_column = before_root.map(root_at) == Some(root_at(node));
        match (last_column, way == up, way == down) {
            (false, true, _) | (true, _, true) => along,
            (false, _, true) => down,
            (false, _, _) | (true, true, _) => up,
            (true, _, _) => down,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use std::string::ToString;

    /// Every shape inside those of the paper's smaller machines, as a mesh and wrapped around in every way.
    fn shapes() -> BTreeSet<Torus> {
        let mut all = BTreeSet::new();
        for [x, y, z] in [[4, 4, 4], [8, 4, 2], [5, 3, 2]] {
            for shape in 0..x * y * z {
                let extents = [shape % x + 1, shape / x % y + 1, shape / x / y + 1];
                let wraps = (0..8u32).map(|bits| [0, 1, 2].map(|d| bits >> d & 1 == 1));
                all.extend(wraps.filter_map(|wraps| Torus::new(extents, wraps)));
            }
        }
        all
    }

    #[test]
    fn trees_span_all_nodes_and_share_no_link() {
        assert!(shapes().len() > 100);
        for torus in shapes() {
            for root in 0..torus.ranks() {
                let trees = SpanningTrees::new(torus, root);
                assert_eq!(trees.count(), torus.ways().count());
                let mut used = BTreeSet::new();
                for tree in 0..trees.count() {
                    let mut reached = [0; 64];
                    let lines = |from| trees.lines(tree, from).flatten();
                    for to in (0..torus.ranks()).flat_map(lines) {
                        reached[to as usize] += 1;
                    }
                    for node in (0..torus.ranks()).filter(|node| *node != root) {
                        let what = || std::format!("{torus} root {root} tree {tree} node {node}");
                        let link = (node, trees.enters(tree, node));
                        assert!(used.insert(link), "{}: link used twice", what());
                        let up = |at: &u32| trees.parent(tree, *at);
                        let path = core::iter::successors(Some(node), up);
                        let end = path.take(torus.ranks() as usize).last();
                        assert_eq!(end, Some(root), "{}: comes not from the root", what());
                        let parent = trees.parent(tree, node).unwrap();
                        let child = |(_, child)| child == node;
                        assert!(trees.children(tree, parent).any(child), "{}", what());
                        let source = trees.source(tree, node).unwrap();
                        let mut lines = trees.lines(tree, source);
                        assert!(lines.any(|line| line.contains(&node)), "{}", what());
                        assert_eq!(reached[node as usize], 1, "{}", what());
                    }
                }
            }
        }
    }

    #[test]
    fn a_cube_has_three_streams_and_a_torus_six() {
        let count = |text: &str| SpanningTrees::new(text.parse().unwrap(), 0).count();
        assert_eq!(count("4x4x4:mesh"), 3);
        assert_eq!(count("4x4x4:torus"), 6);
        assert_eq!(count("8x4x2:torus"), 5);
        assert_eq!(count("4x1x1:mesh"), 1);
        assert_eq!(
            "1x1x1"
                .to_string()
                .parse::<Torus>()
                .map(|t| SpanningTrees::new(t, 0).count()),
            Ok(0)
        );
    }
}
