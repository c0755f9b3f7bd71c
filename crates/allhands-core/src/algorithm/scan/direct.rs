//! Direct scan: every rank sends its whole vector to all ranks behind it, each of which combines what comes in rank order.
//!
//! One step, up to p − 1 messages: for short vectors among few ranks.
//!
//! ```text
//! 4 ranks      0 ─▶ 1, 2, 3   1 ─▶ 2, 3   2 ─▶ 3      then each combines what has come, and its own
//! ```
//!
//! Source: folklore; the one-step bound of C 5.5.

use super::BASE;
use crate::algorithm::Algorithm;
use crate::algorithm::phase::scan::{Own, direct};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "direct",
    citation: "direct exchange",
    summary: "all send all their vectors to the ranks behind, which combine them in rank order",
    build: |b| direct::scan(b, Own::Included),
    claims: |shape| direct::claims(shape, Own::Included),
    ..BASE
};
