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
use crate::schedule::{Builder, Shape};
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

/// The blocks of the ranks `ranks` of the even number that exchange; the last of these has that of a rank beyond them, too.
fn blocks(p: u32, ranks: Range<u32>) -> Range<u32> {
    let even = p - p % 2;
    let end = if ranks.end == even { p } else { ranks.end };
    ranks.start..end
}

/// The pair that comes to a rank in a step, of so many pairs; in step 0 it is the rank's own.
fn coming(pairs: u32, rank: u32, step: u32) -> u32 {
    let far = step.div_ceil(2);
    // Even ranks get from below in odd steps.
    let back = (step % 2 == 1) == rank.is_multiple_of(2);
    let turned = if back { pairs - far } else { far };
    (rank / 2 + turned) % pairs
}

fn build(b: &mut Builder) {
    let (p, rank, input, output) = (b.ranks(), b.rank(), b.input(), b.output());
    b.copy(input, output.at(rank));
    let (even, pairs) = (p - p % 2, p / 2);
    if rank == even {
        if pairs > 0 {
            b.send(rank - 1, input);
            b.step();
            b.recv(rank - 1, output.slice(0, rank));
        }
        return;
    }
    let slice = |ranks: Range<u32>| {
        let blocks = blocks(p, ranks);
        output.slice(blocks.start, blocks.end - blocks.start)
    };
    let pair = |pair: u32| slice(2 * pair..2 * pair + 2);
    let has_odd = even < p && rank + 1 == even;
    if has_odd {
        b.recv(even, output.at(even));
        b.step();
    }
    let mate = rank ^ 1;
    let own = if has_odd { slice(rank..even) } else { input };
    b.send(mate, own);
    b.recv(mate, slice(mate..mate + 1));
    b.step();
    let other = if rank.is_multiple_of(2) {
        rank + even - 1
    } else {
        rank + 1
    } % even;
    for step in 1..pairs {
        let peer = if step % 2 == 1 { other } else { mate };
        b.send(peer, pair(coming(pairs, rank, step - 1)));
        b.recv(peer, pair(coming(pairs, rank, step)));
        b.step();
    }
    if has_odd {
        b.send(even, output.slice(0, even));
    }
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
