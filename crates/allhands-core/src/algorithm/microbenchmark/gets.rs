//! Gets: a peer writes into its window, so often, and raises a flag; rank 0 reads all of it.
//!
//! ```text
//! peer: input ──▶ window ┄┄▶ 0: output ◀── window of the peer
//! ```
//!
//! Source: C 3.3, figure 3 b; what is read was just written, as in every algorithm that reads windows.

use super::{BASE, MANY, PEER, many, peer, window};
use crate::algorithm::{Algorithm, Requirement};
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-gets",
    summary: "rank 0 reads a window that was just written",
    requires: &[Requirement::Window],
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (peer, rank, many) = (peer(b), b.rank(), many(b));
    let (window, flag, input, output) = (window(b, many), b.flag(0), b.input(), b.output());
    if rank == peer {
        (0..many).for_each(|block| b.copy(input.at(0), window.at(block)));
        b.step();
        b.notify(0, flag);
    } else if rank == 0 {
        b.wait(flag, 1);
        b.step();
        for block in 0..many {
            b.get_from(peer, window.at(block), output.at(peer));
            b.step();
        }
    }
}
