//! Pipelined-chain reduce: the vector is cut in segments that run along the chain of ranks to the root, combined on the way.
//!
//! Each rank passes a segment on while it receives the next: p − 2 + segments steps of one segment each, so for a
//! long vector the time is that of one transfer. From root 0 on the chain is in rank order; elsewhere the operator must commute.
//!
//! ```text
//! 4 ranks, root 0      3 ─▶ 2 ─▶ 1 ─▶ 0      segments  0 1 2 …
//! ```
//!
//! Source: the broadcast of C 4's chain backwards.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::pattern::math::{absolute, relative};
use crate::schedule::{Builder, Shape, Side};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "pipelined-chain",
    citation: "pipelined chain",
    summary: "segments run along the chain of ranks and are combined on the way",
    keys: &[Key::SEGMENTS],
    settings: &["", "segments=1", "segments=31"],
    ordered: |shape| shape.call.root == 0,
    parts: |shape| shape.get("segments"),
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, root, segments) = (b.ranks(), b.root(), b.parts());
    let place = relative(b.rank(), root, p);
    let (is_last, input) = (place + 1 == p, b.input());
    if p == 1 {
        b.copy(input, b.output());
        return;
    }
    let result = match place {
        0 => b.output(),
        _ if is_last => input,
        _ => b.vector(),
    };
    let [own, result] = [input, result].map(|vector| vector.at(0).advancing(1));
    b.repeat(segments, 0, |b| {
        if !is_last {
            b.recv_reduce(absolute(place + 1, root, p), Side::Right, own, result);
        }
        if place > 0 {
            b.send(absolute(place - 1, root, p), result);
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
        work: u64::from(busy * segments),
    }
}
