//! Direct reduce-scatter: every rank sends each block straight to the rank that wants it, and combines what comes in rank order.
//!
//! p − 1 messages, of which none waits for another, at once or in a window: minimal volume and work at the least latency, and operators
//! need not commute. It is the first half of all-pairs.
//!
//! ```text
//! 3 ranks      i ─▶ i+1: block i+1   i ─▶ i+2: block i+2   (mod 3), all at once      then each combines 0 + 1 + 2
//! ```
//!
//! Source: folklore; Cowan and others: MSCCLang: Microsoft collective communication language, 2023, as half of AllPairs.

use super::BASE;
use crate::algorithm::phase::alltoall::direct;
use crate::algorithm::phase::reduce_scatter::direct::reduce_scatter;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "direct",
    citation: "Cowan and others 2023",
    summary: "everyone sends each block straight to its rank, which combines all in rank order",
    keys: &[Key::WINDOW],
    settings: &["", "window=4"],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (input, output) = (b.input(), b.output());
    reduce_scatter(b, input, output);
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    let (ports, steps) = direct::exchange_claims(shape);
    Claims {
        ports,
        steps,
        volume: u64::from(others),
        work: u64::from(others),
    }
}
