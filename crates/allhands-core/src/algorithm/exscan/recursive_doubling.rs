//! Recursive-doubling exscan: as the scan, but what comes is also combined apart from the own contribution.
//!
//! In step k rank i gets from rank i − 2^k the reduction of the 2^k ranks that end there. The result gathers what came; the partial that goes on
//! also has the own vector. ⌈lg p⌉ steps.
//!
//! ```text
//! 5 ranks      0▶1▶2▶3▶4 by 1      0▶2, 1▶3, 2▶4 by 2      0▶4 by 4
//! ```
//!
//! Source: Hillis and Steele 1986; T 1 names scan.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, InPlace};
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "recursive-doubling",
    citation: "distance doubling",
    summary: "as the scan, keeping what came apart from the own",
    in_place: InPlace::Staged,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank, rounds) = (b.ranks(), b.rank(), ceil_log2(b.ranks()));
    let (mut partial, output) = (b.input(), b.output());
    for step in 0..rounds {
        let distance = 1 << step;
        // The first that comes is the result so far; later ones stand left of it.
        let came = if step == 0 { output } else { b.vector() };
        if rank + distance < p {
            b.send(rank + distance, partial);
        }
        if rank >= distance {
            b.recv(rank - distance, came);
            b.step();
            if rank + 2 * distance < p {
                let next = b.vector();
                b.reduce(came, partial, next);
                partial = next;
                b.step();
            }
            if step > 0 {
                b.reduce(came, output, output);
            }
        }
        b.step();
    }
}

fn claims(shape: &Shape) -> Claims {
    let (p, steps) = (shape.ranks(), ceil_log2(shape.ranks()));
    // Rank i combines its result in every step after the first in which something comes, and its partial in those
    // after which it still sends; most of all the smallest rank of those that receive as often.
    let work = |last: u32| {
        let sends = ceil_log2(p - (1 << last));
        last + (last + 1).min(sends.saturating_sub(1))
    };
    Claims {
        ports: 1,
        steps,
        volume: u64::from(steps),
        work: u64::from((0..steps).map(work).max().unwrap_or(0)),
    }
}
