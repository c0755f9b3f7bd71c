//! Turns: rank 0 sends to two peers at once, and the first sends its message back: by turns that takes two messages' time, and three if
//! the two share a port.
//!
//! ```text
//! 0 ◀─▶ peer    0 ──▶ peer+1
//! ```
//!
//! Source: after C 3.3, whose ports take turns.

use super::{BASE, PEER, peer};
use crate::algorithm::Algorithm;
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-turns",
    summary: "rank 0 sends to two peers, of which the first answers",
    keys: &[PEER],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (peer, rank) = (peer(b), b.rank());
    let other = (peer + 1) % b.ranks();
    let (input, output) = (b.input(), b.output());
    if rank == 0 {
        b.send(peer, input.at(peer));
        if other > 0 {
            b.send(other, input.at(other));
        }
        b.recv(peer, output.at(peer));
    } else if rank == peer {
        b.recv(0, output.at(0));
        b.step();
        b.send(0, input.at(0));
    } else if rank == other {
        b.recv(0, output.at(0));
    }
}
