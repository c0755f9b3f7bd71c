//! Reduce by allreduce: everybody gets the sum, of which all but the root make nothing.
//!
//! Where two ranks share memory, a buffer that goes to and fro costs less than one that goes one way and is handed back; so an exchange may
//! take less than a message. That a reduce takes no longer than an allreduce is a performance guideline, for whose sake this is here.
//!
//! ```text
//! 2 ranks, root 0      0 ⇄ 1      1: into scratch
//! ```
//!
//! Source: Träff, Gropp, Thakur 2010 (the guideline MPI_Reduce ≤ MPI_Allreduce).

use super::BASE;
use crate::algorithm::phase::allreduce::recursive_doubling;
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::fold::{Fold, Keeper};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "allreduce",
    citation: "Träff, Gropp, Thakur 2010",
    summary: "a recursive-doubling allreduce, of which only the root keeps the result",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let is_root = b.rank() == b.root();
    let sum = if is_root { b.output() } else { b.vector() };
    recursive_doubling::among_all(b, Fold::Neighbour(Keeper::First), sum);
}

fn claims(shape: &Shape) -> Claims {
    recursive_doubling::claims(shape.ranks())
}
