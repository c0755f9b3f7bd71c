//! Gather by allgather: everybody gets all blocks, of which all but the root make nothing.
//!
//! Where two ranks share memory, a buffer that goes to and fro costs less than one that goes one way and is handed back; so an exchange may
//! take less than a message. That a gather takes no longer than an allgather is a performance guideline, which this keeps.
//!
//! ```text
//! 2 ranks, root 0      0 ⇄ 1      1: into scratch
//! ```
//!
//! Source: Träff, Gropp, Thakur 2010 (the guideline MPI_Gather ≤ MPI_Allgather).

use super::BASE;
use crate::algorithm::allgather::{bruck, circulant, ring};
use crate::algorithm::compose::StandIn;
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::schedule::{Builder, Shape, Units};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "allgather",
    citation: "Träff, Gropp, Thakur 2010",
    summary: "an allgather, of which only the root keeps the result",
    requires: &[Requirement::AllCounts],
    keys: &[StandIn::key(&BY.names())],
    settings: &["", "by=circulant", "by=ring"],
    build,
    claims,
    ..BASE
};

const BY: StandIn<3> = StandIn(&[&bruck::ALGORITHM, &circulant::ALGORITHM, &ring::ALGORITHM]);

fn build(b: &mut Builder) {
    let is_root = b.rank() == b.root();
    let run = Units::Run {
        first: 0,
        modulo: b.ranks(),
    };
    let all = match is_root {
        true => b.output(),
        false => b.scratch(run, b.ranks()),
    };
    let blocks = [b.input(), all];
    BY.build(b, blocks, is_root && b.call().in_place);
}

fn claims(shape: &Shape) -> Claims {
    let (found, inner) = BY.of(shape);
    (found.claims)(&inner)
}
