//! Notices: rank 0 raises a flag of a peer, which raises one of rank 0, so often: twice what a notification takes.
//!
//! ```text
//! 0 ┄┄▶ peer ┄┄▶ 0 ┄┄▶ peer ┄┄▶ 0
//! ```
//!
//! Source: C 3.3, figure 3 a.

use super::{BASE, MANY, PEER, many, peer};
use crate::algorithm::{Algorithm, Requirement};
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-notices",
    summary: "rank 0 and a peer raise flags by turns",
    requires: &[Requirement::Window],
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (peer, rank, flag) = (peer(b), b.rank(), b.flag(0));
    for _ in 0..many(b) {
        if rank == 0 {
            b.notify(peer, flag);
            b.step();
        }
        if rank == 0 || rank == peer {
            b.wait(flag, 1);
            b.step();
        }
        if rank == peer {
            b.notify(0, flag);
            b.step();
        }
    }
}
