//! Recursive multiplying: in each step groups of radix positions exchange all that they have.

use crate::algorithm::Claims;
use crate::algorithm::phase::allgather::circle::Circle;
use crate::pattern::multiplying::Multiplying;
use crate::schedule::Builder;
use alloc::vec::Vec;

/// Recursive multiplying with radix ports + 1, doubling for one port; with corrections where the size is no power (T 4.1.1, Q 5.1.2).
pub fn allgather(b: &mut Builder, circle: &Circle<'_>, radix: u32) {
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

/// What [`allgather`] costs an allgather of one block a rank.
#[must_use]
pub fn claims(ranks: u32, radix: u32) -> Claims {
    let (steps, sent) = costs(ranks, radix, alloc::vec![0; ranks as usize]);
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

/// The steps of [`allgather`] when position i starts after `clocks[i]` steps, and the blocks that each position sends.
///
/// Where a group is not full, ranks that have nothing to correct go on to the next level early, so the steps are
/// those of the slowest chain of ranks, not the number of steps in the list.
#[must_use]
pub fn costs(ranks: u32, radix: u32, mut clocks: Vec<u32>) -> (u32, Vec<u64>) {
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
