//! Bruck's allreduce: all gather all vectors, in as many steps as Bruck's allgather has, and each combines them in rank order.
//!
//! In step k rank i gets from rank i + r^k all vectors that it has, so ⌈log_r p⌉ steps do for any p, on r − 1 ports: for the shortest
//! vectors, where a step costs a latency and a message a processor's time. Recursive doubling sends one vector a message, but has to
//! fold if p is no power of two.
//!
//! ```text
//! 6 ranks      i ◀─ i+1: 1 vector      i ◀─ i+2: 2 vectors      i ◀─ i+4: 2 vectors      then each combines 0 + 1 + … + 5
//! ```
//!
//! Source: the exchange of T 4.1.2 and Q 5.1.2; the combination is that of a direct exchange.

use super::BASE;
use crate::algorithm::phase::allgather::bruck;
use crate::algorithm::{Algorithm, Claims, Key};
use crate::schedule::{Builder, Shape, Units};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "bruck",
    citation: "T 4.1.2; Q 5.1.2",
    summary: "all gather all vectors in ⌈lg p⌉ steps for any p, and combine them in rank order",
    keys: &[Key::PORTS, Key::RADIX],
    settings: &["", "ports=2", "ports=3", "ports=4"],
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (p, rank) = (b.ranks(), b.rank());
    let (input, output) = (b.input(), b.output());
    if p == 1 {
        b.copy(input, output);
        return;
    }
    let whole = Units::Run {
        first: 0,
        modulo: 1,
    };
    // The own vector, then those of the ranks that follow: what a message has is in one piece.
    let vectors = b.scratch(whole, p);
    b.copy(input, vectors.at(0));
    b.step();
    bruck::gather(b, |behind, count| vectors.slice(behind, count), |_, _| {});
    let of = |other: u32| vectors.at((other + p - rank) % p);
    let mut sum = of(0);
    for other in 1..p {
        b.reduce(sum, of(other), output);
        b.step();
        sum = output;
    }
}

fn claims(shape: &Shape) -> Claims {
    Claims {
        ports: shape.ports(),
        steps: bruck::rounds(shape),
        volume: u64::from(shape.ranks() - 1),
        work: u64::from(shape.ranks() - 1),
    }
}
