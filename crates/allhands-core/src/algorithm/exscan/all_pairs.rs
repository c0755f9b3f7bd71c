//! All-pairs exscan: every rank sends each part straight to the rank that combines it, which sends every rank its result straight back.
//!
//! Twice p − 1 messages at once, the latency of two, and two transfers of the vector: between the direct one, with one message's latency, and
//! the chain, with one transfer. Parts are combined in rank order. In two segments the results of one are under way to all while the
//! other is combined, which hides one of the two latencies.
//!
//! ```text
//! 3 ranks      i ─▶ i+1, i+2 (mod 3): parts i+1, i+2      then i ─▶ each rank r > 0: part i of r's result
//! ```
//!
//! Source: the all-pairs allreduce of Cowan and others: MSCCLang: Microsoft collective communication language, 2023, with a scan of every part.

use super::BASE;
use crate::algorithm::phase::scan::{Own, all_pairs};
use crate::algorithm::{Algorithm, Key};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "all-pairs",
    citation: "Cowan and others 2023",
    summary: "each part straight to the rank that combines it, and each result of it straight back",
    keys: &[Key::SEGMENTS_AT_ONCE],
    settings: &["", "segments=2"],
    parts: all_pairs::parts,
    build: |b| all_pairs::scan(b, Own::Excluded),
    claims: |shape| all_pairs::claims(shape, Own::Excluded),
    ..BASE
};
