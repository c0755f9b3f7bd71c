//! The double tree: two binary trees over all ranks but the root, in which no rank has children in both.
//!
//! A pipelined broadcast sends every other segment down each tree, so a rank that forwards two copies of half of the
//! message does no more than the root: full bandwidth at logarithmic depth (Sanders, Speck, Träff: Two-tree
//! algorithms for full bandwidth broadcast, reduction and scan, Parallel Computing 35, 2009). The root stands apart
//! and feeds the tops of both trees.
//!
//! Tree 0 is the in-order binary tree on the relative ranks 1..p: the trailing zero bits of a rank tell its height,
//! so odd ranks are leaves. Tree 1 has the same shape with the ranks relabelled such that the inner ones are odd:
//! mirrored where p is odd, rotated by one where p is even.
//!
//! ```text
//! p = 7   tree 0      4            tree 1      3
//!                 2      6                 5      1
//!                1 3    5                 6 4    2
//! ```

/// Which of the two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tree {
    /// The tree whose inner ranks are even.
    Even,
    /// The tree whose inner ranks are odd.
    Odd,
}

impl Tree {
    /// Both trees.
    pub const BOTH: [Self; 2] = [Self::Even, Self::Odd];
}

/// The place of one relative rank in one of the two trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The rank above, 0 (the root) for the top of the tree; none for the root itself.
    pub parent: Option<u32>,
    /// The ranks below; where there is only one it is the first. The root has one, the top of the tree, if p > 1.
    pub children: [Option<u32>; 2],
    /// The number of edges from the root.
    pub depth: u32,
}

/// The place of relative rank `relative` among `p` in `tree`.
///
/// # Panics
/// If `relative` is not below `p`.
pub fn place(p: u32, tree: Tree, relative: u32) -> Place {
    assert!(relative < p, "relative rank {relative} of {p}");
    let n = p - 1;
    let label = |position| label_of(n, tree, position);
    if relative == 0 {
        let top = (n > 0).then(|| label(top_of(n)));
        return Place {
            parent: None,
            children: [top, None],
            depth: 0,
        };
    }
    let position = position_of(n, tree, relative);
    let (above, depth) = climb(n, position);
    let [left, right] = below(n, position);
    Place {
        parent: Some(above.map_or(0, label)),
        children: [left.map(label), right.map(label)],
        depth,
    }
}

/// The depth of `tree` over `p` ranks: the number of edges from the root to the farthest rank. Both trees have the
/// same shape, so it is one number: ⌊lg(p − 1)⌋ + 1, and 0 for p = 1.
pub fn depth(p: u32) -> u32 {
    (p - 1).checked_ilog2().map_or(0, |log| log + 1)
}

/// The rounds until the tops of the trees over `p` ranks have combined what all below them have: a rank takes one message after the
/// other.
pub fn rounds_up(p: u32) -> u32 {
    rounds_to_top(p - 1)
}

/// The rounds until the top of an in-order tree of `n` ranks has it.
fn rounds_to_top(n: u32) -> u32 {
    let Some(levels) = n.checked_ilog2() else {
        return 0;
    };
    // The left subtree is full: two messages a level, one after the other.
    let left = 2 * levels.saturating_sub(1);
    let right = n - (1 << levels);
    match (levels, right) {
        (0, _) => 0,
        (_, 0) => left + 1,
        _ => left.max(rounds_to_top(right) + 1) + 1,
    }
}

/// The rank at in-order position 1..=n.
fn label_of(n: u32, tree: Tree, position: u32) -> u32 {
    match tree {
        Tree::Even => position,
        Tree::Odd if n.is_multiple_of(2) => n + 1 - position,
        // Even positions have a successor, as n is odd, so inner ranks become odd; the leaf n becomes 1.
        Tree::Odd => position % n + 1,
    }
}

/// The in-order position 1..=n of a rank: the inverse of [`label_of`].
fn position_of(n: u32, tree: Tree, rank: u32) -> u32 {
    match tree {
        Tree::Even => rank,
        Tree::Odd if n.is_multiple_of(2) => n + 1 - rank,
        Tree::Odd if rank == 1 => n,
        Tree::Odd => rank - 1,
    }
}

/// The top of the in-order tree on the positions 1..=n.
fn top_of(n: u32) -> u32 {
    1 << n.ilog2()
}

/// The positions left and right below `position`.
fn below(n: u32, position: u32) -> [Option<u32>; 2] {
    let span = 1 << position.trailing_zeros();
    // Left of it stand span − 1 positions; right of it as many, as far as they exist.
    let right = (span - 1).min(n - position);
    [
        (span > 1).then(|| position - span / 2),
        right.checked_ilog2().map(|log| position + (1 << log)),
    ]
}

/// The position above `position`, none at the top, and its depth below the root.
fn climb(n: u32, position: u32) -> (Option<u32>, u32) {
    let (mut above, mut at, mut depth) = (None, top_of(n), 1);
    while at != position {
        let [left, right] = below(n, at);
        let next = if position < at { left } else { right };
        above = Some(at);
        at = next.expect("every position from 1 to n is in the tree");
        depth += 1;
    }
    (above, depth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    #[test]
    fn both_trees_span_all_ranks() {
        for p in 1..=300 {
            for tree in Tree::BOTH {
                let mut seen = vec![false; p as usize];
                let mut open = vec![0];
                let mut deepest = 0;
                while let Some(v) = open.pop() {
                    assert!(!core::mem::replace(&mut seen[v as usize], true));
                    let here = place(p, tree, v);
                    deepest = deepest.max(here.depth);
                    assert!(here.children[0].is_some() || here.children[1].is_none());
                    for child in here.children.into_iter().flatten() {
                        let there = place(p, tree, child);
                        assert_eq!((there.parent, there.depth), (Some(v), here.depth + 1));
                        open.push(child);
                    }
                }
                assert!(seen.into_iter().all(|once| once));
                assert_eq!(deepest, depth(p));
            }
            assert_eq!(place(p, Tree::Even, 0).parent, None);
        }
    }

    #[test]
    fn no_rank_is_inner_in_both() {
        for p in 1..=300 {
            for v in 1..p {
                let inner: Vec<Tree> = Tree::BOTH
                    .into_iter()
                    .filter(|&tree| place(p, tree, v).children[0].is_some())
                    .collect();
                assert!(inner.len() <= 1);
                assert!(
                    inner
                        .iter()
                        .all(|&tree| tree == if v % 2 == 0 { Tree::Even } else { Tree::Odd })
                );
            }
            assert_eq!(place(p, Tree::Even, 0).children[1], None);
        }
    }

    #[test]
    fn seven_ranks_as_drawn() {
        assert_eq!(place(7, Tree::Even, 4).children, [Some(2), Some(6)]);
        assert_eq!(place(7, Tree::Even, 6).children, [Some(5), None]);
        assert_eq!(place(7, Tree::Odd, 3).children, [Some(5), Some(1)]);
        assert_eq!(place(7, Tree::Odd, 1).children, [Some(2), None]);
        assert_eq!(place(7, Tree::Odd, 3).parent, Some(0));
    }

    #[test]
    fn huge_worlds_answer_for_one_rank() {
        for p in [131_072, u32::MAX, u32::MAX - 1] {
            for tree in Tree::BOTH {
                for v in [1, 2, p / 2, p - 2, p - 1] {
                    let here = place(p, tree, v);
                    assert!(here.depth <= depth(p));
                    for child in here.children.into_iter().flatten() {
                        assert_eq!(place(p, tree, child).parent, Some(v));
                    }
                }
            }
        }
    }
}
