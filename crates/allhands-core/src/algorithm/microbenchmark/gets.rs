//! Gets: rank 0 reads a peer's window, so often, one after another.
//!
//! ```text
//! 0 ◀── window of the peer
//! ```
//!
//! Source: C 3.3, figure 3 b, the transfer alone.

use super::{BASE, MANY, PEER, alone, peer, window};
use crate::algorithm::{Algorithm, Requirement};
use crate::schedule::Builder;

/// The microbenchmark.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "microbenchmark-gets",
    summary: "rank 0 reads a window",
    requires: &[Requirement::Window],
    keys: &[PEER, MANY],
    build,
    ..BASE
};

fn build(b: &mut Builder) {
    let (window, peer, output) = (window(b), peer(b), b.output());
    alone(b, |b| b.get_from(peer, window.at(0), output.at(peer)));
}
