//! Dissemination barrier: in every step each rank tells one that is farther away, ⌈lg p⌉ steps for any p.
//!
//! In step k rank i tells rank i + 2^k and hears from rank i − 2^k, so after k steps it knows of the 2^k ranks
//! before it. With k ports the distances are multiples of powers of the radix k + 1.
//!
//! ```text
//! 5 ranks      step 0: i ─▶ i+1      step 1: i ─▶ i+2      step 2: i ─▶ i+4     (mod 5)
//! ```
//!
//! Source: T 4.1.2 (Hensgen, Finkel, Manber 1988); C 5.1 calls it Bruck's.

use super::BASE;
use crate::algorithm::phase::barrier::dissemination;
use crate::algorithm::{Algorithm, Key};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "dissemination",
    citation: "T 4.1.2; C 5.1",
    summary: "in step k each rank tells the rank 2^k after it",
    keys: &[Key::PORTS, Key::RADIX],
    settings: &["", "ports=2", "ports=3", "ports=4", "radix=3"],
    build: dissemination::tell_all,
    claims: dissemination::claims,
    ..BASE
};
