//! Pipelined chain: the vector is cut in segments that run along the chain of ranks, one behind the other.
//!
//! Each rank passes a segment on while it receives the next: p − 2 + segments steps of one segment each, so for a
//! long vector the time is that of one transfer.
//!
//! ```text
//! 4 ranks, root 0      0 ─▶ 1 ─▶ 2 ─▶ 3      segments  … 2 1 0
//! ```
//!
//! Source: folklore; it is in C 4 as the chain of dependent transfers.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::math::{absolute, relative};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "pipelined-chain",
    citation: "pipelined chain",
    summary: "segments run along the chain of ranks",
    keys: &[Key::SEGMENTS],
    settings: &["", "segments=1", "segments=31"],
    parts: |shape| shape.get("segments"),
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root, segments) = (b.ranks(), b.root(), b.parts());
    let place = relative(b.rank(), root, p);
    let (input, output) = (b.input(), b.output());
    if place == 0 {
        b.copy(input, output);
        b.step();
    }
    let source = if place == 0 { input } else { output };
    b.repeat(segments, 0, |b| {
        if place > 0 {
            b.recv(absolute(place - 1, root, p), output.at(0).advancing(1));
        }
        if place + 1 < p {
            b.send(absolute(place + 1, root, p), source.at(0).advancing(1));
        }
    });
}

fn claims(shape: &Shape) -> Claims {
    let (p, segments) = (shape.ranks(), shape.get("segments"));
    let busy = u32::from(p > 1);
    Claims {
        ports: 1,
        steps: busy * (p.max(2) - 2 + segments),
        volume: u64::from(busy * segments),
        work: 0,
    }
}
