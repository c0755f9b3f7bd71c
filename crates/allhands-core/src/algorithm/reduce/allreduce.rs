//! Reduce by allreduce: everybody gets the sum, of which all but the root make nothing.
//!
//! Where two ranks share memory, a buffer that goes to and fro costs less than one that goes one way and is handed back; so an exchange may
//! take less than a message. That a reduce takes no longer than an allreduce is a performance guideline, which this keeps.
//!
//! ```text
//! 2 ranks, root 0      0 ⇄ 1      1: into scratch
//! ```
//!
//! Source: Träff, Gropp, Thakur 2010 (the guideline MPI_Reduce ≤ MPI_Allreduce).

use super::BASE;
use crate::algorithm::allreduce::{rabenseifner, recursive_doubling, ring};
use crate::algorithm::compose::StandIn;
use crate::algorithm::{Algorithm, Claims};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "allreduce",
    citation: "Träff, Gropp, Thakur 2010",
    summary: "an allreduce, of which only the root keeps the result",
    keys: &[StandIn::key(&BY.names())],
    settings: &["", "by=rabenseifner", "by=ring"],
    ordered: |shape| {
        let (found, inner) = BY.of(shape);
        (found.ordered)(&inner)
    },
    parts: |shape| {
        let (found, inner) = BY.of(shape);
        (found.parts)(&inner)
    },
    build,
    claims,
    ..BASE
};

const BY: StandIn<3> = StandIn(&[
    &recursive_doubling::ALGORITHM,
    &rabenseifner::ALGORITHM,
    &ring::ALGORITHM,
]);

fn build(b: &mut Builder) {
    let is_root = b.rank() == b.root();
    let sum = if is_root { b.output() } else { b.vector() };
    let blocks = [b.input(), sum];
    BY.build(b, blocks, is_root && b.call().in_place);
}

fn claims(shape: &Shape) -> Claims {
    let (found, inner) = BY.of(shape);
    (found.claims)(&inner)
}
