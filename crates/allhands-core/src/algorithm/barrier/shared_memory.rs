//! Shared-memory barrier: every rank raises one counter of rank 0 and watches it until all have.
//!
//! The counter lies in the window, so there are no messages at all, and one phase is enough: nobody has to tell the others. It
//! only grows: who is fast may raise it for the next barrier while others still look, for they wait for p more than last time.
//!
//! ```text
//! 3 ranks      0 ↑ arrived@0   1 ↑ arrived@0   2 ↑ arrived@0      0, 1 and 2 watch arrived@0 for 3
//! ```
//!
//! Source: Q 4.2.

use crate::algorithm::{Algorithm, Claims, InPlace, Requirement, keeps_order, uncut};
use crate::call::Collective;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Barrier,
    name: "shared-memory",
    citation: "Q 4.2",
    summary: "one counter in the window of rank 0",
    requires: &[Requirement::Window],
    keys: &[],
    settings: &[""],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: uncut,
    build,
    claims,
};

fn build(b: &mut Builder) {
    let arrived = b.flag(0);
    b.notify(0, arrived);
    b.watch(0, arrived, b.ranks());
}

fn claims(shape: &Shape) -> Claims {
    // All others look at one flag at once, as if its rank told each.
    let others = shape.ranks() - 1;
    Claims {
        ports: others,
        steps: others.min(1),
        volume: 0,
        work: 0,
    }
}
