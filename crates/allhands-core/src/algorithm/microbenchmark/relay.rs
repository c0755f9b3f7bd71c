//! A relay: rank 0 sends many messages to a peer, which passes each on to the next rank while another one comes: a further one takes what its
//! processor does of both, os(m) + or(m), or, where its ports take longer, g(m), as these go both ways at once.
//!
//! ```text
//! 0 ══▶ peer ══▶ +1
//! ```
//!
//! Source: after C 3.3, whose overheads are known apart from the gap.

use super::{BASE, MANY, PEER, many, peer, room};
use crate::algorithm::Algorithm;
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-relay",
    summary: "a peer passes on what rank 0 sends, while more comes",
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (first, rank, many) = (peer(b), b.rank(), many(b));
    let last = (first + 1) % b.ranks();
    let room = room(b, many);
    for message in 0..many {
        let block = room.at(message);
        // Each is passed on as soon as it is there, whatever has become of those before.
        b.strand(|b| match rank {
            0 => b.send(first, block),
            _ if rank == first && last == 0 => b.recv(0, block),
            _ if rank == first => {
                b.recv(0, block);
                b.step();
                b.send(last, block);
            }
            _ if rank == last => b.recv(first, block),
            _ => (),
        });
    }
}
