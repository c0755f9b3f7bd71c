//! Shared-memory barrier: every rank raises a flag of rank 0, rank 0 raises a flag of every rank.
//!
//! The flags lie in the window, so there are no messages at all. They only grow: the second flag cannot be raised again
//! before its rank has entered again, so calls in a row need no reset.
//!
//! ```text
//! 3 ranks      1 ↑ arrived@0   2 ↑ arrived@0      0 waits for 2      0 ↑ go@1   0 ↑ go@2
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
    summary: "flags in the window of rank 0",
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
    let (arrived, go) = (b.flag(0), b.flag(0));
    let others = b.ranks() - 1;
    if b.rank() > 0 {
        b.notify(0, arrived);
        b.step();
        b.wait(go, 1);
        return;
    }
    b.wait(arrived, others);
    b.step();
    for rank in 1..=others {
        b.notify(rank, go);
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: others,
        steps: if others > 0 { 2 } else { 0 },
        volume: 0,
        work: 0,
    }
}
