//! Sparbit allgather: Bruck's steps from the farthest ranks to the nearest, each block where it belongs from the start.
//!
//! With skip d, half of the last one, a rank sends every block that it has, its own and those of the ranks 2d, 4d, … before it, to the rank d
//! further on, unless they would come round to where they are. ⌈lg p⌉ steps for any number of ranks as Bruck's, without the
//! shift at the end; and most bytes go to the nearest ranks.
//!
//! ```text
//! 6 ranks, skips 4 2 1      i ─▶ i+4: i      i ─▶ i+2: i      i ─▶ i+1: i, i−2, i−4     (mod 6)
//! ```
//!
//! Source: Loch and Koslovski 2021, Sparbit: a new logarithmic-cost and data locality-aware MPI allgather algorithm.

use super::BASE;
use crate::algorithm::phase::allgather::far_first;
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "sparbit",
    citation: "Loch and Koslovski 2021",
    summary: "as Bruck's, the farthest ranks first: no shift, and most bytes to the nearest",
    build: |b: &mut Builder| far_first::allgather(b, b.ranks()),
    claims,
    ..BASE
};

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    Claims {
        ports: 1,
        steps: ceil_log2(p),
        volume: u64::from(p - 1),
        work: 0,
    }
}
