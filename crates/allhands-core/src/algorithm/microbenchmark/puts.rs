//! Puts: rank 0 writes into a peer's window, so often, one after another.
//!
//! ```text
//! 0 ──▶ window of the peer
//! ```
//!
//! Source: C 3.3, figure 3 b, the transfer alone, as a put.

use super::{BASE, MANY, PEER, alone, peer, window};
use crate::algorithm::{Algorithm, Requirement};
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-puts",
    summary: "rank 0 writes into a window",
    requires: &[Requirement::Window],
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (window, peer, input) = (window(b), peer(b), b.input());
    alone(b, |b| b.put(peer, input.at(peer), window.at(0)));
}
