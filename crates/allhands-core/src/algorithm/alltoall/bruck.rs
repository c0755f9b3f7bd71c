//! Bruck's alltoall: a block that has j ranks to go travels d·r^i of them in step i, where d is digit i of j.
//!
//! ⌈log_r p⌉ steps with radix r = k + 1 on k ports, in which a block is sent as often as its distance has nonzero digits: good for short
//! blocks. The paper shifts blocks up by the rank first and back at the end; here a block is read from its place in the input at its
//! first move and received at its place in the output at its last.
//!
//! ```text
//! 6 ranks      step 0: i ─▶ i+1: j = 1, 3, 5      step 1: i ─▶ i+2: j = 2, 3      step 2: i ─▶ i+4: j = 4, 5
//! ```
//!
//! Source: T 4.3, figure 7; Q 5.1.3, figure 6, equation 5.

use super::BASE;
use crate::algorithm::phase::alltoall::bruck;
use crate::algorithm::{Algorithm, InPlace, Key, Requirement};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "bruck",
    citation: "T 4.3; Q 5.1.3",
    summary: "blocks travel by the digits of the distance they have to go, ⌈lg p⌉ steps for any p",
    requires: &[Requirement::AllCounts],
    keys: &[Key::PORTS, Key::RADIX],
    settings: &[
        "",
        "ports=2",
        "ports=3",
        "ports=4",
        "radix=4",
        "ports=2,radix=5",
    ],
    in_place: InPlace::Staged,
    build: bruck::exchange,
    claims: bruck::claims,
    ..BASE
};
