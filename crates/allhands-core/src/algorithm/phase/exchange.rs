//! Exchange phases: rings, doublings and circulant graphs that gather blocks on every rank.
//!
//! The ranks that take part stand at positions 0..n of a [`Circle`], each with one block to start with; a phase ends when every
//! position has all of them. What a block is, and where it lies, the caller says.

use crate::algorithm::Claims;
use crate::pattern::circulant::halvings;
use crate::pattern::exchange::{ring_allgather, shifted};
use crate::pattern::multiplying::Multiplying;
use crate::schedule::{Blocks, Builder};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// The ranks of an exchange and where they keep their blocks.
pub struct Circle<'a> {
    /// The number of positions.
    pub size: u32,
    /// The position of this rank.
    pub position: u32,
    /// The rank at a position.
    pub rank_at: &'a dyn Fn(u32) -> u32,
    /// Where the blocks of consecutive positions lie (or come to lie).
    pub blocks: &'a dyn Fn(Range<u32>) -> Vec<Blocks>,
    /// Where the own block lies at the start, which may be elsewhere.
    pub own: &'a [Blocks],
}

impl Circle<'_> {
    /// What to send for a range of positions: the own block from where it is.
    fn source(&self, range: Range<u32>) -> Vec<Blocks> {
        if range == (self.position..self.position + 1) {
            self.own.to_vec()
        } else {
            (self.blocks)(range)
        }
    }

    /// Blocks of `count` positions from `first`, counted round.
    fn around(&self, first: u32, count: u32) -> Vec<Blocks> {
        let first = first % self.size;
        let until_end = count.min(self.size - first);
        let mut blocks = self.source(first..first + until_end);
        if count > until_end {
            blocks.extend(self.source(0..count - until_end));
        }
        blocks
    }
}

/// Runs a phase among all ranks in their order: the blocks of `vector` are theirs, the own one lies at `own` at first.
pub fn among_all(
    b: &mut Builder,
    own: Blocks,
    vector: Blocks,
    phase: impl FnOnce(&mut Builder, &Circle<'_>),
) {
    let circle = Circle {
        size: b.ranks(),
        position: b.rank(),
        rank_at: &|position| position,
        blocks: &|range| vec![vector.slice(range.start, range.end - range.start)],
        own: &[own],
    };
    phase(b, &circle);
}

/// Ring: each position passes on to the next what came last; size − 1 steps of one block (T 4.1).
pub fn ring(b: &mut Builder, circle: &Circle<'_>) {
    let (n, me) = (circle.size, circle.position);
    let peers = shifted(n, me, 1);
    for step in 0..n - 1 {
        let moves = ring_allgather(n, me, step);
        b.send(
            (circle.rank_at)(peers.to),
            circle.source(moves.send..moves.send + 1),
        );
        b.recv(
            (circle.rank_at)(peers.from),
            (circle.blocks)(moves.receive..moves.receive + 1),
        );
        b.step();
    }
}

/// Recursive multiplying with radix ports + 1, doubling for one port; with corrections where the size is no power (T 4.1.1, Q 5.1.2).
pub fn multiplying(b: &mut Builder, circle: &Circle<'_>, radix: u32) {
    let pattern = Multiplying::new(circle.size, radix);
    for step in pattern.steps() {
        for (port, transfer) in pattern
            .transfers(circle.position, step)
            .into_iter()
            .enumerate()
        {
            let peer = (circle.rank_at)(transfer.peer);
            b.port(port as u32);
            if let Some(range) = transfer.send {
                b.send(peer, circle.source(range));
            }
            if let Some(range) = transfer.receive {
                b.recv(peer, (circle.blocks)(range));
            }
        }
        b.step();
    }
}

/// Circulant graph: skips double, rounded so that the last round takes just what is missing; ⌈lg n⌉ steps, n − 1 blocks (Träff 2024).
pub fn circulant(b: &mut Builder, circle: &Circle<'_>) {
    let (n, me) = (circle.size, circle.position);
    for round in halvings(n).rev() {
        let peers = shifted(n, me, round.skip);
        b.send(
            (circle.rank_at)(peers.from),
            circle.around(me, round.blocks),
        );
        let arriving = blocks_around(circle, me + round.skip, round.blocks);
        b.recv((circle.rank_at)(peers.to), arriving);
        b.step();
    }
}

fn blocks_around(circle: &Circle<'_>, first: u32, count: u32) -> Vec<Blocks> {
    let first = first % circle.size;
    let until_end = count.min(circle.size - first);
    let mut blocks = (circle.blocks)(first..first + until_end);
    if count > until_end {
        blocks.extend((circle.blocks)(0..count - until_end));
    }
    blocks
}

/// What [`multiplying`] costs an allgather of one block a rank.
#[must_use]
pub fn multiplying_claims(ranks: u32, radix: u32) -> Claims {
    let (steps, sent) = multiplying_costs(ranks, radix, alloc::vec![0; ranks as usize]);
    // Every rank receives every other's block once; where there are corrections, some rank sends more.
    let volume = sent
        .into_iter()
        .max()
        .unwrap_or(0)
        .max(u64::from(ranks - 1));
    Claims {
        ports: radix - 1,
        steps,
        volume,
        work: 0,
    }
}

/// The steps of [`multiplying`] when position i starts after `clocks[i]` steps, and the blocks that each position sends.
///
/// Where a group is not full, ranks that have nothing to correct go on to the next level early, so the steps are
/// those of the slowest chain of ranks, not the number of steps in the list.
#[must_use]
pub fn multiplying_costs(ranks: u32, radix: u32, mut clocks: Vec<u32>) -> (u32, Vec<u64>) {
    let pattern = Multiplying::new(ranks, radix);
    let mut sent = alloc::vec![0u64; ranks as usize];
    for step in pattern.steps() {
        let before = clocks.clone();
        for rank in 0..ranks {
            for transfer in pattern.transfers(rank, step) {
                let meet = before[rank as usize].max(before[transfer.peer as usize]);
                let clock = &mut clocks[rank as usize];
                *clock = (*clock).max(meet + 1);
                sent[rank as usize] += transfer
                    .send
                    .map_or(0, |range| u64::from(range.end - range.start));
            }
        }
    }
    (clocks.into_iter().max().unwrap_or(0), sent)
}
