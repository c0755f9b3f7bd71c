//! Binomial-tree broadcast: the ranks that have the vector double in every step.
//!
//! In the first step the root sends to the rank half the machine away; both then act as roots of their
//! halves (T 4.2, the old broadcast of MPICH). ⌈lg p⌉ steps of the whole vector: best for short vectors.
//!
//! ```text
//! 6 ranks, root 0     step 1: 0 ─────────▶ 4
//!                     step 2: 0 ───▶ 2    4 (no 6)
//!                     step 3: 0 ▶ 1  2 ▶ 3  4 ▶ 5
//! ```
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, T 4.2.

use crate::algorithm::{Algorithm, Claims, InPlace, keeps_order, uncut};
use crate::call::Collective;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Broadcast,
    name: "binomial",
    citation: "T 4.2",
    summary: "binomial tree: the ranks that have the vector double in every step",
    requires: &[],
    keys: &[],
    settings: &[""],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: uncut,
    build,
    claims,
};

fn build(b: &mut Builder) {
    let (p, root, rank) = (b.ranks(), b.root(), b.rank());
    let relative = (rank + p - root) % p;
    let output = b.output();
    let highest = p.next_power_of_two();
    // A rank's lowest set bit is the distance to its parent; it serves the smaller distances.
    let reach = if relative == 0 {
        highest
    } else {
        relative & relative.wrapping_neg()
    };
    if relative == 0 {
        b.copy(b.input(), output);
    } else {
        b.recv((relative - reach + root) % p, output);
        b.step();
    }
    let source = if relative == 0 { b.input() } else { output };
    let mut distance = reach / 2;
    while distance > 0 {
        if relative + distance < p {
            b.send((relative + distance + root) % p, source);
            b.step();
        }
        distance /= 2;
    }
}

fn claims(shape: &Shape) -> Claims {
    let steps = shape.ranks().next_power_of_two().trailing_zeros();
    Claims {
        ports: 1,
        steps,
        volume: u64::from(steps),
        work: 0,
    }
}
