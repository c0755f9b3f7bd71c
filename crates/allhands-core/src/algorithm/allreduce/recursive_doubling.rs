//! Recursive-doubling allreduce: in every step pairs exchange and combine whole vectors.
//!
//! Partners are 1, 2, 4, … apart, so after ⌊lg p⌋ steps everybody has everything (T 4.5). The ranks beyond
//! the next lower power of two fold into others first and get the result at the end: neighbours fold into
//! neighbours (`fold=neighbour`, keeps rank order) or high ranks onto low ones (`fold=high`, C 4).
//!
//! ```text
//! 5 ranks, neighbour    fold: 1 ─▶ 0      exchange: 0⇄2 3⇄4    0⇄3 2⇄4      unfold: 0 ─▶ 1
//! ```
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, T 4.5; Ali, Midkiff, Pai 2009, C 4 and table 5.

use super::BASE;
use crate::algorithm::phase::allreduce::recursive_doubling;
use crate::algorithm::{Algorithm, Claims, Key, Values};
use crate::pattern::fold::{Fold, Keeper};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "recursive-doubling",
    citation: "T 4.5; C 4",
    summary: "pairs at distance 1, 2, 4, … exchange and combine whole vectors",
    keys: &[Key {
        name: "fold",
        values: Values::Names(&["neighbour", "high"]),
        default: 0,
        about: "where ranks beyond a power of two fold: into neighbours (keeps order) or high onto low",
    }],
    settings: &["", "fold=high"],
    ordered: |shape| shape.get("fold") == 0,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let fold = match b.get("fold") {
        1 => Fold::High,
        _ => Fold::Neighbour(Keeper::First),
    };
    recursive_doubling::among_all(b, fold, b.output());
}

fn claims(shape: &Shape) -> Claims {
    recursive_doubling::claims(shape.ranks())
}
