//! The k-nomial tree: the spanning tree that serves the most ranks in ⌈log_r p⌉ steps with r − 1 ports.
//!
//! Write relative ranks in base r (the radix). A rank's parent is the rank with the lowest nonzero digit cleared, so
//! the children of `v` are `v` + d·r^i for 1 ≤ d < r and every digit position i below the lowest nonzero one of `v`
//! (all positions for the root 0). One digit position is one step: its r − 1 edges use r − 1 ports at once. A
//! broadcast or scatter goes down from the highest position, so the binomial tree (radix 2) starts with
//! 0 → p/2 for a power of two (T 4.2); a gather or reduction runs the same steps backwards (Q 5.1.1).
//!
//! ```text
//! radix 2, p = 8             radix 3, p = 9
//!        0                        0
//!     4  2  1                3  6   1 2
//!   6 5  3                  4 5 7 8
//!   7
//! ```

use super::math::{ceil_log, power, power_at_most};
use core::ops::Range;

/// A k-nomial tree over the relative ranks 0..p, with root 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnomialTree {
    p: u32,
    radix: u32,
}

/// One edge of a [`KnomialTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The relative rank nearer to the root.
    pub parent: u32,
    /// The relative rank farther from the root.
    pub child: u32,
    /// The number of ranks in the child's subtree, itself included: relative ranks `child..child + size`.
    pub size: u32,
    /// The step of a broadcast in which the edge is used, 0..[`KnomialTree::steps`]; a gather counts backwards.
    pub step: u32,
    /// Which of the parent's radix − 1 edges of this step it is, 0..radix − 1: the port it may use.
    pub port: u32,
}

impl Edge {
    /// The child's subtree as a range of relative ranks.
    pub fn subtree(&self) -> Range<u32> {
        self.child..self.child + self.size
    }
}

impl KnomialTree {
    /// The tree over `p` ranks with the given radix; radix 2 is the binomial tree.
    ///
    /// # Panics
    /// If `p` is 0 or `radix` is below 2.
    pub fn new(p: u32, radix: u32) -> Self {
        assert!(p >= 1, "a tree has at least its root");
        assert!(radix >= 2, "a k-nomial tree has radix 2 at least");
        Self { p, radix }
    }

    /// The radix.
    pub fn radix(&self) -> u32 {
        self.radix
    }

    /// The number of steps in which the tree is served: ⌈log_radix p⌉.
    pub fn steps(&self) -> u32 {
        ceil_log(self.radix, self.p)
    }

    /// The edge to the parent of `relative`, none for the root.
    pub fn parent(&self, relative: u32) -> Option<Edge> {
        assert!(relative < self.p, "relative rank {relative} of {}", self.p);
        if relative == 0 {
            return None;
        }
        let position = self.open_positions(relative);
        // The lowest nonzero digit stands here, so the power is at most `relative` and fits.
        let width = power(self.radix, position) as u32;
        let digit = relative / width % self.radix;
        Some(self.edge(relative - digit * width, position, digit))
    }

    /// The edges to the children of `relative` in the order they are served: step by step, so by falling size of
    /// the unclipped subtree, and within a step by rising rank.
    pub fn children(&self, relative: u32) -> impl DoubleEndedIterator<Item = Edge> {
        assert!(relative < self.p, "relative rank {relative} of {}", self.p);
        let tree = *self;
        (0..tree.open_positions(relative))
            .rev()
            .flat_map(move |position| {
                let width = power_at_most(tree.radix, position, tree.p);
                // Digits whose child would be p or higher do not exist.
                let digits = (tree.p - 1 - relative) / width;
                (1..=digits.min(tree.radix - 1))
                    .map(move |digit| tree.edge(relative, position, digit))
            })
    }

    /// The subtree of `relative`, itself included, as a range of relative ranks: it is contiguous.
    pub fn subtree(&self, relative: u32) -> Range<u32> {
        assert!(relative < self.p, "relative rank {relative} of {}", self.p);
        let room = self.p - relative;
        relative..relative + power_at_most(self.radix, self.open_positions(relative), room)
    }

    /// The number of trailing zero digits, which is the number of digit positions in which `relative` has children;
    /// for the root, all positions.
    fn open_positions(&self, relative: u32) -> u32 {
        if relative == 0 {
            return self.steps();
        }
        let (mut rest, mut zeros) = (relative, 0);
        while rest % self.radix == 0 {
            rest /= self.radix;
            zeros += 1;
        }
        zeros
    }

    fn edge(&self, parent: u32, position: u32, digit: u32) -> Edge {
        let width = power_at_most(self.radix, position, self.p);
        let child = parent + digit * width;
        Edge {
            parent,
            child,
            size: width.min(self.p - child),
            step: self.steps() - 1 - position,
            port: digit - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    fn children(p: u32, radix: u32, relative: u32) -> Vec<u32> {
        KnomialTree::new(p, radix)
            .children(relative)
            .map(|edge| edge.child)
            .collect()
    }

    #[test]
    fn binomial_starts_with_half() {
        assert_eq!(children(8, 2, 0), vec![4, 2, 1]);
        assert_eq!(children(8, 2, 4), vec![6, 5]);
        assert_eq!(children(6, 2, 4), vec![5]);
        assert_eq!(children(9, 3, 0), vec![3, 6, 1, 2]);
        assert_eq!(KnomialTree::new(16, 2).children(0).next().unwrap().child, 8);
    }

    #[test]
    fn every_tree_spans_and_is_told_alike_by_both_ends() {
        for p in 1..=130 {
            for radix in (2..=9).chain([p.max(2), p + 1]) {
                let tree = KnomialTree::new(p, radix);
                let mut found = 1;
                assert_eq!(tree.parent(0), None);
                assert_eq!(tree.subtree(0), 0..p);
                for v in 0..p {
                    let edges: Vec<Edge> = tree.children(v).collect();
                    for edge in &edges {
                        found += 1;
                        assert_eq!(edge.parent, v);
                        assert!(edge.child > v && edge.child < p);
                        assert_eq!(tree.parent(edge.child), Some(*edge));
                        assert_eq!(tree.subtree(edge.child), edge.subtree());
                    }
                    // The subtree is the rank itself and its children's subtrees, none overlapping.
                    let mut parts: Vec<Range<u32>> = edges.iter().map(Edge::subtree).collect();
                    parts.sort_by_key(|part| part.start);
                    let end = parts.iter().fold(v + 1, |at, part| {
                        assert_eq!(part.start, at);
                        part.end
                    });
                    assert_eq!(v..end, tree.subtree(v));
                }
                assert_eq!(found, p);
            }
        }
    }

    #[test]
    fn a_broadcast_reaches_all_in_the_claimed_steps_and_ports() {
        for p in 1..=130 {
            for radix in 2..=6 {
                let tree = KnomialTree::new(p, radix);
                for v in 0..p {
                    let served = tree.parent(v).map_or(0, |edge| edge.step + 1);
                    let edges: Vec<Edge> = tree.children(v).collect();
                    assert!(
                        edges
                            .iter()
                            .all(|edge| edge.step >= served && edge.step < tree.steps())
                    );
                    assert!(edges.iter().all(|edge| edge.port < radix - 1));
                    // No port is used twice in a step, and the order of service is the order of steps and ports.
                    assert!(edges.is_sorted_by(|a, b| (a.step, a.port) < (b.step, b.port)));
                }
                assert!(power(radix, tree.steps()) >= u64::from(p));
            }
        }
    }

    #[test]
    fn powers_of_the_radix_serve_the_largest_subtree_first() {
        for (radix, p) in [(2, 64), (3, 81), (4, 64), (5, 125)] {
            let tree = KnomialTree::new(p, radix);
            for v in 0..p {
                assert!(tree.children(v).is_sorted_by(|a, b| a.size >= b.size));
            }
        }
    }

    #[test]
    fn huge_trees_answer_for_one_rank() {
        let tree = KnomialTree::new(u32::MAX, 2);
        assert_eq!(tree.steps(), 32);
        assert_eq!(tree.children(0).count(), 32);
        assert_eq!(
            tree.children(0).next().unwrap().subtree(),
            1 << 31..u32::MAX
        );
        assert_eq!(
            KnomialTree::new(131_072, 2).parent(131_071).unwrap().parent,
            131_070
        );
        assert_eq!(
            KnomialTree::new(u32::MAX, 1 << 31)
                .children(0)
                .next()
                .unwrap()
                .child,
            1 << 31
        );
    }
}
