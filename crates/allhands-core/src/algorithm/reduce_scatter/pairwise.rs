//! Pairwise reduce-scatter: in step i every rank sends the block of rank + i there and combines what comes from rank − i.
//!
//! p − 1 steps of one block, straight from the input: minimal volume and work, for operators that commute.
//!
//! ```text
//! 4 ranks      i ─▶ i+1: block i+1      i ─▶ i+2: block i+2      i ─▶ i+3: block i+3     (mod 4)
//! ```
//!
//! Source: T 4.4, 5.3.

use crate::algorithm::phase::halving;
use crate::algorithm::{Algorithm, Claims, InPlace, any_order, block_per_rank};
use crate::call::Collective;
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::ReduceScatter,
    name: "pairwise",
    citation: "T 4.4, 5.3",
    summary: "in step i the block of rank + i goes there",
    requires: &[],
    keys: &[],
    settings: &[""],
    in_place: InPlace::Natural,
    ordered: any_order,
    parts: block_per_rank,
    build,
    claims,
};

fn build(b: &mut Builder) {
    let (input, output) = (b.input(), b.output());
    halving::pairwise(b, input, output);
}

fn claims(shape: &Shape) -> Claims {
    let others = shape.ranks() - 1;
    Claims {
        ports: 1,
        steps: others,
        volume: u64::from(others),
        work: u64::from(others),
    }
}
