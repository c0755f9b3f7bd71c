//! Puts: rank 0 writes into a peer's window, so often, and raises a flag; the peer takes all of it out.
//!
//! ```text
//! 0: input ──▶ window of the peer ┄┄▶ peer: window ──▶ output
//! ```
//!
//! Source: C 3.3, figure 3 b, as puts; what is written was read before, as in every algorithm that writes into windows.

use super::{BASE, MANY, PEER, many, peer, window};
use crate::algorithm::{Algorithm, Requirement};
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-puts",
    summary: "rank 0 writes into a window that is then read",
    requires: &[Requirement::Window],
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (peer, rank, many) = (peer(b), b.rank(), many(b));
    let (window, flag, input, output) = (window(b, many), b.flag(0), b.input(), b.output());
    if rank == 0 {
        for block in 0..many {
            b.put(peer, input.at(peer), window.at(block));
            b.step();
        }
        b.notify(peer, flag);
    } else if rank == peer {
        b.wait(flag, 1);
        b.step();
        (0..many).for_each(|block| b.copy(window.at(block), output.at(0)));
    }
}
