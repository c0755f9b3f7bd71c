//! Linear exscan: each rank gets the reduction of the ranks before it and passes it on combined with its own.
//!
//! p − 1 steps, one after another; no rank combines any element more than once. Cut in segments, which run along the chain one
//! behind the other, it takes p − 2 + segments steps of one segment each.
//!
//! ```text
//! 4 ranks      0 ─▶ 1: 0      1 ─▶ 2: 0+1      2 ─▶ 3: 0+1+2
//! ```
//!
//! Source: the definition of the scan (MPI 1994); T 1 names scan.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, InPlace, Key};
use crate::schedule::{Blocks, Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "linear",
    citation: "linear chain",
    summary: "each rank gets what the ranks before it have and passes it on with its own",
    keys: &[Key {
        default: 1,
        ..Key::SEGMENTS
    }],
    settings: &["", "segments=4", "segments=8", "segments=31"],
    in_place: InPlace::Staged,
    parts: |shape| shape.get("segments"),
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank, segments) = (b.ranks(), b.rank(), b.parts());
    let (input, output) = (b.input(), b.output());
    let sends = rank + 1 < p;
    let sum = if rank > 0 && sends { b.vector() } else { input };
    let segment = |vector: Blocks| match segments {
        1 => vector,
        _ => vector.at(0).advancing(1),
    };
    let pass = |b: &mut Builder| {
        if rank > 0 {
            b.recv(rank - 1, segment(output));
        }
        if segments == 1 {
            b.step();
        }
        if rank > 0 && sends {
            b.reduce(segment(output), segment(input), segment(sum));
        }
        if segments == 1 {
            b.step();
        }
        if sends {
            b.send(rank + 1, segment(sum));
        }
    };
    match segments {
        1 => pass(b),
        _ => b.repeat(segments, 0, pass),
    }
}

fn claims(shape: &Shape) -> Claims {
    let (p, segments) = (shape.ranks(), shape.get("segments"));
    let busy = u32::from(p > 1);
    Claims {
        ports: 1,
        steps: busy * (p.max(2) - 2 + segments),
        volume: u64::from(busy * segments),
        work: u64::from(u32::from(p > 2) * segments),
    }
}
