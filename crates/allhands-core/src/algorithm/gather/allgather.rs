//! Gather by allgather: everybody gets all blocks, of which all but the root make nothing.
//!
//! Where two ranks share memory, a buffer that goes to and fro costs less than one that goes one way and is handed back; so an exchange may
//! take less than a message. That a gather takes no longer than an allgather is a performance guideline, for whose sake this is here.
//!
//! ```text
//! 2 ranks, root 0      0 ⇄ 1      1: into scratch
//! ```
//!
//! Source: Träff, Gropp, Thakur 2010 (the guideline MPI_Gather ≤ MPI_Allgather).

use super::BASE;
use crate::algorithm::phase::allgather::circle::Circle;
use crate::algorithm::phase::allgather::circulant;
use crate::algorithm::{Algorithm, Claims, Requirement};
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape, Units};
use alloc::vec;
use core::ops::Range;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "allgather",
    citation: "Träff, Gropp, Thakur 2010",
    summary: "an allgather by the circulant graph, of which only the root keeps the result",
    requires: &[Requirement::AllCounts],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (input, p, rank) = (b.input(), b.ranks(), b.rank());
    let (first, modulo) = (0, p);
    let is_root = rank == b.root();
    let all = match is_root {
        true => b.output(),
        false => b.scratch(Units::Run { first, modulo }, p),
    };
    if is_root {
        b.copy(input, all.at(rank));
    }
    // Only the root needs its own block among the others: the rest send it from where it is.
    let blocks = |range: Range<u32>| {
        if is_root || !range.contains(&rank) {
            return vec![all.slice(range.start, range.len() as u32)];
        }
        let before = all.slice(range.start, rank - range.start);
        let behind = all.slice(rank + 1, range.end - rank - 1);
        let mut pieces = vec![before, input, behind];
        pieces.retain(|piece| piece.count() > 0);
        pieces
    };
    let circle = Circle {
        size: p,
        position: rank,
        rank_at: &|position| position,
        blocks: &blocks,
        own: &[input],
    };
    circulant::allgather(b, &circle);
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    Claims {
        ports: 1,
        steps: ceil_log2(p),
        volume: u64::from(p - 1),
        work: 0,
    }
}
