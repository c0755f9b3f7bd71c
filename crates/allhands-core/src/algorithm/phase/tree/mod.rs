//! Tree phases: who stands where in a k-nomial tree, and whom a rank serves together.
//!
//! The ranks that take part stand at positions 0..n of a tree whose root is position 0; a [`Group`] says which rank
//! stands where. One digit position of the tree is one step, or several if its edges are more than the ports.
//!
//! ```text
//! 9 positions, radix 3      down, 2 ports: 0 ─▶ 3, 6      0 ─▶ 1, 2   3 ─▶ 4, 5   6 ─▶ 7, 8      up: the same backwards
//!                           down, 1 port:  0 ─▶ 3         0 ─▶ 6   3 ─▶ 4   …
//! ```
//!
//! What goes along the tree is said in [`walk`], and where a collective makes a phase of it, in that one's room.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, T 4.2, 4.5; Qian, Afsahi 2008, Q 5.1.1.

pub mod steps;
pub mod walk;

use crate::pattern::knomial::{Edge, KnomialTree};
use crate::pattern::math::relative;
use crate::schedule::Builder;
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

impl<'a> Group<'a> {
    /// So many positions in a binomial tree, of which this rank has one.
    pub fn binomial(size: u32, position: u32, rank_at: &'a dyn Fn(u32) -> u32) -> Group<'a> {
        Group {
            tree: KnomialTree::new(size, 2),
            position,
            rank_at,
            ports: 1,
        }
    }

    /// All ranks of a call, counted from `root`, in the tree of the call's radix and ports.
    pub fn of_call(b: &Builder, root: u32, rank_at: &'a dyn Fn(u32) -> u32) -> Group<'a> {
        Group {
            tree: KnomialTree::new(b.ranks(), b.shape().radix()),
            position: relative(b.rank(), root, b.ranks()),
            rank_at,
            ports: b.shape().ports(),
        }
    }

    fn children(&self) -> Vec<Edge> {
        self.tree.children(self.position).collect()
    }

    /// The rank above, if this one is not the root.
    #[must_use]
    pub fn parent(&self) -> Option<u32> {
        let edge = self.tree.parent(self.position)?;
        Some((self.rank_at)(edge.parent))
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
                None => rounds.push(vec![edge]),
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
