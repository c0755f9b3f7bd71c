//! Global-interrupt barrier: every rank raises its wire, and all see when all wires are raised.
//!
//! ```text
//!  all ranks ──▶ wires ──▶ all ranks
//! ```
//!
//! On BlueGene/L for 32, 128, 512 and multiples of 512 nodes, which is the machine's to say.
//!
//! Source: B 4.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::machine::Fabric;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "global-interrupt",
    citation: "B 4",
    summary: "a wire of each rank, and one that says that all are raised",
    requires: &[Requirement::Fabric(Fabric::Interrupt)],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    b.meet(Fabric::Interrupt);
}

fn claims(_: &Shape) -> Claims {
    Claims {
        ports: 1,
        steps: 1,
        volume: 0,
        work: 0,
    }
}
