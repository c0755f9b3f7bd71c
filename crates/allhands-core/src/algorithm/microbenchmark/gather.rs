//! Gather: so many peers send to rank 0 at once: a further one takes what they wait for one another there, g(m) as C measures it.
//!
//! ```text
//! peer ─┐
//! +1   ─┼▶ 0
//! +2   ─┘
//! ```
//!
//! Source: C 3.3, "the gap": gets of all from one root there.

use super::{BASE, MANY, PEER, many, peer};
use crate::algorithm::Algorithm;
use crate::schedule::Builder;
use core::ops::Range;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-gather",
    summary: "many ranks send to rank 0 at once",
    keys: &[PEER, MANY],
    build,
    ..BASE
};

/// The peers.
pub(super) fn peers(b: &Builder) -> Range<u32> {
    let first = peer(b);
    first..(first + many(b)).min(b.ranks())
}

fn build(b: &mut Builder) {
    let (peers, rank) = (peers(b), b.rank());
    let (input, output) = (b.input(), b.output());
    if rank == 0 {
        peers.for_each(|peer| b.recv(peer, output.at(peer)));
    } else if peers.contains(&rank) {
        b.send(0, input.at(0));
    }
}
