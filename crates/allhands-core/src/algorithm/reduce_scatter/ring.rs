//! Ring reduce-scatter: each block goes once round the ring, combined with everybody's own, and ends where it belongs.
//!
//! p − 1 steps of one block to the next rank: minimal volume and work, all of it between neighbours. For operators that commute. The
//! steps are in `phase/reduce_scatter/ring.rs`, which reduce and allreduce begin with, too.
//!
//! ```text
//! 4 ranks      step 1: i ─▶ i+1: block i−1      step 2: block i−2      step 3: block i−3     (mod 4)
//! ```
//!
//! Source: Patarasuk and Yuan 2009, Bandwidth optimal all-reduce algorithms for clusters of workstations.

use super::BASE;
use crate::algorithm::phase::reduce_scatter::ring;
use crate::algorithm::{Algorithm, Claims, any_order};
use crate::schedule::{Builder, Shape, Units};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "ring",
    citation: "Patarasuk and Yuan 2009",
    summary: "each block goes once round the ring of ranks: neighbours only",
    ordered: any_order,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank, input, output) = (b.ranks(), b.rank(), b.input(), b.output());
    let next = (rank + 1) % p;
    // All blocks but the own one and the first, which nobody combines here.
    let passing = b.scratch(
        Units::Run {
            first: next,
            modulo: p,
        },
        p.saturating_sub(2),
    );
    let partial = |block| match block == rank {
        true => output,
        false => passing.at((block + p - next) % p),
    };
    ring::reduce_scatter(b, input, &partial);
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: 1,
        steps: others,
        volume: others.into(),
        work: others.into(),
    }
}
