//! Neighbor-exchange allgather: neighbours exchange in pairs, and each passes on to the other one what it got last.
//!
//! After the own block it is two blocks at a time, so half as many steps as in the ring, and each with a neighbour. For an even number
//! of ranks; of an odd number the last one gives its block to its neighbour first, and gets all others in the end.
//!
//! ```text
//! 6 ranks      0⇄1 2⇄3 4⇄5: 1 block      1⇄2 3⇄4 5⇄0: 2 blocks      0⇄1 2⇄3 4⇄5: 2 blocks
//! ```
//!
//! Source: Chen, Zhang, Zhang and Yuan 2005, Performance evaluation of allgather algorithms on terascale Linux cluster.

use super::BASE;
use crate::algorithm::{Algorithm, Claims};
use crate::schedule::{Blocks, Builder, Shape};
use core::ops::Range;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "neighbor-exchange",
    citation: "Chen and others 2005",
    summary: "neighbours in pairs pass on two blocks at a time: p/2 steps",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank, input, output) = (b.ranks(), b.rank(), b.input(), b.output());
    let even = p - p % 2;
    b.copy(input, output.at(rank));
    if rank == even {
        return be_served(b);
    }
    let serves = even < p && rank + 1 == even;
    if serves {
        b.recv(even, output.at(even));
        b.step();
    }
    let own = blocks(b, rank..rank + 1);
    exchange(b, even, if serves { own } else { input });
    if serves {
        b.send(even, output.slice(0, even));
    }
}

/// The last of an odd number of ranks gives its block to its neighbour and gets all others in the end.
fn be_served(b: &mut Builder) {
    let rank = b.rank();
    if rank > 0 {
        b.send(rank - 1, b.input());
        b.step();
        b.recv(rank - 1, b.output().slice(0, rank));
    }
}

/// The first `even` ranks in pairs: first the `own` block to the mate, then what came last to the neighbours in turn.
fn exchange(b: &mut Builder, even: u32, own: Blocks) {
    let (rank, pairs, mate) = (b.rank(), even / 2, b.rank() ^ 1);
    b.send(mate, own);
    b.recv(mate, blocks(b, mate..mate + 1));
    b.step();
    let behind = if rank.is_multiple_of(2) { even - 1 } else { 1 };
    let neighbours = [mate, (rank + behind) % even];
    for step in 1..pairs {
        let peer = neighbours[step as usize % 2];
        let pair = |step| coming(pairs, rank, step);
        b.send(peer, blocks(b, pair(step - 1)));
        b.recv(peer, blocks(b, pair(step)));
        b.step();
    }
}

/// The pair of ranks whose blocks come to a rank in a step, of so many pairs; in step 0 it is the rank's own.
fn coming(pairs: u32, rank: u32, step: u32) -> Range<u32> {
    let far = step.div_ceil(2);
    // Even ranks get from below in odd steps.
    let back = (step % 2 == 1) == rank.is_multiple_of(2);
    let turned = if back { pairs - far } else { far };
    let pair = (rank / 2 + turned) % pairs;
    2 * pair..2 * pair + 2
}

/// The blocks of some of the even number of ranks that exchange; the last of these has that of a rank beyond them, too.
fn blocks(b: &Builder, ranks: Range<u32>) -> Blocks {
    let p = b.ranks();
    let end = if ranks.end == p - p % 2 { p } else { ranks.end };
    b.output().slice(ranks.start, end - ranks.start)
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let (pairs, is_odd) = (p / 2, p % 2 == 1);
    // Most of all sends the one that has two blocks: these, its pair's three, two a step, and all at the end.
    let sent = match pairs {
        _ if !is_odd => p - 1,
        0 => 0,
        1 => 2 + p - 1,
        _ => 2 + 3 + 2 * (pairs - 2) + p - 1,
    };
    Claims {
        ports: 1,
        steps: pairs + if is_odd && pairs > 0 { 2 } else { 0 },
        volume: sent.into(),
        work: 0,
    }
}
