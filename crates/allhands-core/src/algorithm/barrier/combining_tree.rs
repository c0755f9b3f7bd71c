//! Combining-tree barrier: every rank injects a packet into the tree and waits for the one that comes down.
//!
//! What the packets hold and how they are combined does not matter: that one comes down says that all went up.
//!
//! ```text
//!  all ranks ──▶ tree ──▶ all ranks
//! ```
//!
//! Source: B 4.

use crate::algorithm::{Algorithm, Claims, InPlace, Requirement, keeps_order, uncut};
use crate::call::Collective;
use crate::machine::Fabric;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Barrier,
    name: "combining-tree",
    citation: "B 4",
    summary: "a packet of each rank, combined in the machine's tree",
    requires: &[Requirement::Fabric(Fabric::Tree)],
    keys: &[],
    settings: &[""],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: uncut,
    build,
    claims,
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
