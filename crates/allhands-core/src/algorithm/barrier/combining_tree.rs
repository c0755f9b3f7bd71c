//! Combining-tree barrier: every rank injects a packet into the tree and waits for the one that comes down.
//!
//! What the packets hold and how they are combined does not matter: that one comes down says that all went up.
//!
//! ```text
//!  all ranks ──▶ tree ──▶ all ranks
//! ```
//!
//! Source: B 4.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::machine::Fabric;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "combining-tree",
    citation: "B 4",
    summary: "a packet of each rank, combined in the machine's tree",
    requires: &[Requirement::Fabric(Fabric::Tree)],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    b.meet(Fabric::Tree);
}

fn claims(_: &Shape) -> Claims {
    Claims {
        ports: 1,
        steps: 1,
        volume: 0,
        work: 0,
    }
}
