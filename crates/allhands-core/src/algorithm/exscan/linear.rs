//! Linear exscan: each rank gets the reduction of the ranks before it and passes it on combined with its own.
//!
//! p − 1 steps, one after another; no rank combines more than once.
//!
//! ```text
//! 4 ranks      0 ─▶ 1: 0      1 ─▶ 2: 0+1      2 ─▶ 3: 0+1+2
//! ```
//!
//! Source: the definition of the scan (MPI 1994); T 1 names scan.

use crate::algorithm::{Algorithm, Claims, InPlace, keeps_order, uncut};
use crate::call::Collective;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Exscan,
    name: "linear",
    citation: "linear chain",
    summary: "each rank gets what the ranks before it have and passes it on with its own",
    requires: &[],
    keys: &[],
    settings: &[""],
    in_place: InPlace::Staged,
    ordered: keeps_order,
    parts: uncut,
    build,
    claims,
};

fn build(b: &mut Builder) {
    let (p, rank, input, output) = (b.ranks(), b.rank(), b.input(), b.output());
    let mut sum = input;
    if rank > 0 {
        b.recv(rank - 1, output);
        b.step();
        if rank + 1 < p {
            sum = b.vector();
            b.reduce(output, input, sum);
            b.step();
        }
    }
    if rank + 1 < p {
        b.send(rank + 1, sum);
    }
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: 1,
        steps: others,
        volume: u64::from(others.min(1)),
        work: u64::from(others > 1),
    }
}
