//! Turns: two peers send to rank 0 at once, which answers each of them as soon as its message is there. By turns the first answer goes while
//! the second message comes; messages that are interleaved have both come when the second has.
//!
//! ```text
//! peer ◀─▶ 0 ◀─▶ peer+1
//! ```
//!
//! Source: after C 3.3, whose ports take turns.

use super::{BASE, PEER, peer};
use crate::algorithm::Algorithm;
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-turns",
    summary: "two peers send to rank 0, which answers each at once",
    keys: &[PEER],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (first, rank) = (peer(b), b.rank());
    let (input, output) = (b.input(), b.output());
    for peer in [first, (first + 1) % b.ranks()] {
        b.strand(|b| match rank {
            _ if peer == 0 => (),
            0 => {
                b.recv(peer, output.at(peer));
                b.step();
                b.send(peer, input.at(peer));
            }
            _ if rank == peer => {
                b.send(0, input.at(0));
                b.recv(0, output.at(0));
            }
            _ => (),
        });
    }
}
