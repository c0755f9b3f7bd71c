//! A train: rank 0 copies its message so often, and sends all of them to one peer: a further one takes what saturates, the naive g(m), and of rank 0 itself os(m).
//!
//! ```text
//! 0 ══▶ peer
//! ```
//!
//! Source: the way of Kielmann et al., with which C 7.2 compares; what several peers wait for at once it does not see.

use super::{BASE, MANY, PEER, many, peer, room};
use crate::algorithm::Algorithm;
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-train",
    summary: "rank 0 sends many messages to one peer",
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (peer, rank, many) = (peer(b), b.rank(), many(b));
    if rank == 0 {
        // What was sent before would be in the receiver's cache, and a message less than those of collectives.
        let (input, room) = (b.input(), room(b, many));
        (0..many).for_each(|message| b.copy(input.at(peer), room.at(message)));
        b.step();
        (0..many).for_each(|message| b.send(peer, room.at(message)));
    } else if rank == peer {
        let room = room(b, many);
        (0..many).for_each(|message| b.recv(0, room.at(message)));
    }
}
