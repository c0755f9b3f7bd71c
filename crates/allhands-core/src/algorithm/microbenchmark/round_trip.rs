//! Round trips: rank 0 sends a message and gets one back, so often: twice os(m) + L(m) + or(m).
//!
//! ```text
//! 0 ──▶ peer ──▶ 0 ──▶ peer ──▶ 0
//! ```
//!
//! Source: C 3.3, figure 3 b, with messages in place of addresses and gets.

use super::{BASE, MANY, PEER, many, peer};
use crate::algorithm::Algorithm;
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-round-trip",
    summary: "rank 0 sends to a peer and gets as much back",
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (input, output) = (b.input(), b.output());
    trips(
        b,
        |b, other| b.send(other, input.at(other)),
        |b, other| b.recv(other, output.at(other)),
    );
}

/// Trips of rank 0 and a peer, each of which sends and receives as it is told, with the other one's number.
pub(super) fn trips(
    b: &mut Builder,
    send: impl Fn(&mut Builder, u32),
    receive: impl Fn(&mut Builder, u32),
) {
    let (peer, rank) = (peer(b), b.rank());
    let other = match rank {
        0 => peer,
        _ if rank == peer => 0,
        _ => return,
    };
    for _ in 0..many(b) {
        if rank == 0 {
            send(b, other);
            b.step();
        }
        receive(b, other);
        b.step();
        if rank != 0 {
            send(b, other);
            b.step();
        }
    }
}
