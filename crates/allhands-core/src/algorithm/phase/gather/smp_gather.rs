//! A gather among nodes: each node in its leader's window, and from the windows up a tree of leaders to the root.
//!
//! What the ranks of a node have written leaves its leader's window as it lies there; only the root copies, out of its own.
//!
//! ```text
//! 3 nodes of 2, root 0, direct      1: put into 0's window   3: into 2's   5: into 4's      2 ─▶ 0, 4 ─▶ 0: 2 blocks each
//! ```
//!
//! Source: Q 3.1, 5.2.1, figure 7.

use super::leaders::{Leaders, parts};
use crate::algorithm::Claims;
use crate::algorithm::phase::shared_memory::window::{self, Turns};
use crate::algorithm::phase::tree::{steps, walk};
use crate::schedule::{Blocks, Builder, Shape};
use alloc::vec;
use alloc::vec::Vec;

impl Leaders {
    /// The whole gather. `places` says where the blocks of so many ranks, from one on, counted round, lie on a leader: of those
    /// [`Leaders::below`] it and, on the root, of its own node.
    pub fn gather(&self, b: &mut Builder, places: &dyn Fn(u32, u32) -> Vec<Blocks>) {
        let (gathered, turns) = self.gather_node(b, places);
        if !self.node.leads() {
            return;
        }
        let (first, count) = self.below();
        let own: Vec<Blocks> = match count {
            0 => gathered,
            _ => gathered.into_iter().chain(places(first, count)).collect(),
        };
        let leader_at = |position| self.leader_at(position);
        let group = self.group(&leader_at);
        walk::up(b, &group, &own, &|edge| {
            let (first, count) = self.ranks(edge.child, edge.size);
            places(first, count)
        });
        b.step();
        if self.node.size(self.node.own()) > 1 {
            turns.give_back(b);
        }
    }

    /// The node's blocks at its leader, in their places on the root and in the window elsewhere; and the turns of that window.
    fn gather_node(
        &self,
        b: &mut Builder,
        places: &dyn Fn(u32, u32) -> Vec<Blocks>,
    ) -> (Vec<Blocks>, Turns) {
        let (node, rank, input) = (&self.node, b.rank(), b.input());
        let own = node.own();
        let (leader, start, size) = (node.leader(own), node.start(own), node.size(own));
        let window = window::vector(b);
        let turns = Turns::new(b, [leader, leader], 1);
        let of_node = node.blocks(window, own);
        if rank != leader {
            turns.take(b);
            b.put(leader, input, window.at(rank));
            turns.filled(b);
            b.step();
            return (vec![], turns);
        }
        let is_root = self.position() == 0;
        match is_root {
            true => b.copy(input, places(rank, 1)),
            false if size == 1 => return (vec![input], turns),
            false => b.copy(input, window.at(rank)),
        }
        if size > 1 {
            turns.wait_full(b, size - 1);
        }
        b.step();
        if is_root {
            for (first, end) in [(start, rank), (rank + 1, start + size)] {
                let from = window.slice(first, end - first);
                b.copy(from, places(first, end - first));
            }
            b.step();
        }
        (vec![of_node], turns)
    }
}

/// What it costs: the root gets all blocks but its own. Ports and steps at most: a round on the nodes, and those of the tree.
#[must_use]
pub fn claims(shape: &Shape) -> Claims {
    let (sizes, tree, ports) = parts(shape);
    let largest = sizes.iter().copied().max().unwrap_or(1);
    Claims {
        ports: ports.max(largest - 1),
        steps: u32::from(largest > 1) + steps::up(tree, ports),
        volume: u64::from(shape.ranks() - 1),
        work: 0,
    }
    .with_steps_at_most()
}
