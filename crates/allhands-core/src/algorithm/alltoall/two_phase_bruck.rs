//! Two-phase Bruck: Bruck's alltoall for ranks of which each knows the lengths of its own blocks alone.
//!
//! Blocks travel as in Bruck's algorithm. What a rank passes on it can place only when it knows how long it is, so lengths travel before
//! the blocks, on the same way: in each step a rank sends the lengths of the very blocks that it sends, and hears those of what it gets.
//! Of others it hears what passes through it, O(p log p) lengths in all, and never all p². The paper sends a step's lengths right before
//! its blocks; here those of all steps go first, in as many messages: the schedule is run once over the lengths, as blocks of one number
//! each, and then over the data (`schedule::learned`). Where all blocks are equally long nobody need say so, and the schedule alone is
//! what is done, claimed and drawn. The radix trades steps for volume: 2 has the fewest of them, p sends every block once.
//!
//! ```text
//! 4 ranks      lengths: i ─▶ i+1: of j = 1, 3   i ─▶ i+2: of j = 2, 3      blocks: i ─▶ i+1: j = 1, 3   i ─▶ i+2: j = 2, 3
//! ```
//!
//! Source: Fan and others 2025 (the radix); Fan and others 2022 (lengths before blocks).

use super::BASE;
use crate::algorithm::phase::alltoall::bruck;
use crate::algorithm::{Algorithm, InPlace, Key, Requirement};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "two-phase-bruck",
    citation: "Fan and others 2025",
    summary: "lengths, then blocks, by the digits of the distance they have to go: for ranks that know their own lengths alone",
    requires: &[Requirement::PassingCounts],
    keys: &[Key::PORTS, Key::RADIX],
    settings: &["", "radix=3", "ports=3,radix=4"],
    in_place: InPlace::Staged,
    build: bruck::exchange,
    claims: bruck::claims,
    ..BASE
};
