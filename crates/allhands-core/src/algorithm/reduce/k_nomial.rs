//! k-nomial reduce: a child sends its parent the reduction of its subtree; with k ports k children send at once.
//!
//! ⌈log_(k+1) p⌉ steps with radix k + 1, each with up to k reductions of the whole vector. An operator that does not commute gets the
//! tree of rank 0, whose result then goes to the root.
//!
//! ```text
//! 4 ranks, root 0      1 ─▶ 0: 0+1   3 ─▶ 2: 2+3      2 ─▶ 0: (0+1)+(2+3)
//! ```
//!
//! Source: C 5.4, table 4; Q 5.1.1.

use super::BASE;
use crate::algorithm::phase::reduce::k_nomial;
use crate::algorithm::{Algorithm, Key};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "k-nomial",
    citation: "C table 4 with the radix of Q 5.1.1",
    summary: "k-nomial tree: a parent combines several children a step",
    keys: &[Key::PORTS, Key::RADIX],
    settings: &["", "ports=2", "ports=3", "ports=4", "radix=4"],
    build: k_nomial::reduce,
    claims: k_nomial::claims,
    ..BASE
};
