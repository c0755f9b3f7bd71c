//! Recursive-doubling scan: in step k rank i gets from rank i − 2^k the reduction of the 2^k ranks that end there.
//!
//! ⌈lg p⌉ steps of the whole vector; what comes stands left of the own, so rank order is kept.
//!
//! ```text
//! 5 ranks      0▶1▶2▶3▶4 by 1      0▶2, 1▶3, 2▶4 by 2      0▶4 by 4
//! ```
//!
//! Source: Hillis and Steele 1986; T 1 names scan.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, InPlace};
use crate::pattern::math::ceil_log2;
use crate::schedule::{Builder, Shape, Side};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "recursive-doubling",
    citation: "distance doubling",
    summary: "rank i gets from i − 2^k the reduction of the 2^k ranks up to there",
    in_place: InPlace::Staged,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (mut own, output, spare) = (b.input(), b.output(), b.vector());
    let combinations = (0..ceil_log2(p)).filter(|step| rank >= 1 << step).count();
    for step in 0..ceil_log2(p) {
        let distance = 1 << step;
        if rank + distance < p {
            b.send(rank + distance, own);
        }
        if rank >= distance {
            // The vector before is still being sent, so results alternate and the last lands in the output.
            let into = if (combinations - step as usize) % 2 == 1 {
                output
            } else {
                spare
            };
            b.recv_reduce(rank - distance, Side::Left, own, into);
            b.step();
            own = into;
        }
        b.step();
    }
    b.copy(own, output);
}

fn claims(shape: &Shape) -> Claims {
    let steps = ceil_log2(shape.ranks());
    Claims {
        ports: 1,
        steps,
        volume: u64::from(steps),
        work: u64::from(steps),
    }
}
