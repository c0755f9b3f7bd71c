//! Scatter: rank 0 sends to so many peers at once: a further one takes what its processor and its port take for a message.
//!
//! ```text
//!    ┌▶ peer
//! 0 ─┼▶ +1
//!    └▶ +2
//! ```
//!
//! Source: C 4, the one-to-all pattern.

use super::{BASE, MANY, PEER, gather};
use crate::algorithm::Algorithm;
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-scatter",
    summary: "rank 0 sends to many ranks at once",
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    to_peers(b, |_| ());
}

/// Rank 0 sends to its peers, and does something after each.
pub(super) fn to_peers(b: &mut Builder, then: impl Fn(&mut Builder)) {
    let (peers, rank) = (gather::peers(b), b.rank());
    let (input, output) = (b.input(), b.output());
    if rank == 0 {
        for peer in peers {
            b.send(peer, input.at(peer));
            then(b);
        }
    } else if peers.contains(&rank) {
        b.recv(0, output.at(0));
    }
}
