//! A train: rank 0 sends so many messages to one peer, which says when it has all: a further one takes what saturates, the naive g(m).
//!
//! ```text
//! 0 ══▶ peer ┄┄▶ 0
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
        let input = b.input();
        (0..many).for_each(|_| b.send(peer, input.at(peer)));
        b.step();
        b.recv_token(peer);
    } else if rank == peer {
        let room = room(b, many);
        (0..many).for_each(|message| b.recv(0, room.at(message)));
        b.step();
        b.send_token(0);
    }
}
