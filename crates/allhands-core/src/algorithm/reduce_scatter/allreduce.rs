//! Reduce-scatter by allreduce: everybody gets the sum, and keeps its own block.
//!
//! For the shortest vectors, of which some ranks have no element: an exchange may take less than a message one way. That a reduce-scatter
//! takes no longer than an allreduce is a performance guideline, for whose sake this is here.
//!
//! ```text
//! 2 ranks      0 ⇄ 1      0: block 0 ◀─ sum      1: block 1 ◀─ sum
//! ```
//!
//! Source: Träff, Gropp, Thakur 2010 (the guideline MPI_Reduce_scatter ≤ MPI_Allreduce).

use super::BASE;
use crate::algorithm::phase::allreduce::recursive_doubling;
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::fold::{Fold, Keeper};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "allreduce",
    citation: "Träff, Gropp, Thakur 2010",
    summary: "a recursive-doubling allreduce, of which each rank keeps its block",
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (rank, output, sum) = (b.rank(), b.output(), b.vector());
    recursive_doubling::among_all(b, Fold::Neighbour(Keeper::First), sum);
    b.copy(sum.at(rank), output);
    b.step();
}

/// Of vectors that are whole, in as many parts as there are ranks.
fn claims(shape: &Shape) -> Claims {
    let (whole, parts) = (
        recursive_doubling::claims(shape.ranks()),
        u64::from(shape.ranks()),
    );
    Claims {
        volume: whole.volume * parts,
        work: whole.work * parts,
        ..whole
    }
}
