//! Shared-memory reduce-scatter: every rank copies its vector into its own window and raises one counter; when all have, each combines its block.
//!
//! A rank reads the windows from its own downwards and then upwards, so it keeps rank order, and ranks begin at different
//! windows. With `work=chain`, for long vectors, each adds its own to a sum that comes by, and gets its block of that.
//!
//! ```text
//! 3 ranks      all: watch empty@0 for 3, copy in, ↑ full@0, watch full@0 for 3      1: block 1 of 0 ⊕ own, then ⊕ block 1 of 2   …   ↑ empty@0
//! ```
//!
//! Source: Q 4.2.

use super::BASE;
use crate::algorithm::phase::shared_memory::chain;
use crate::algorithm::phase::shared_memory::readers::Readers;
use crate::algorithm::phase::shared_memory::{combine, window};
use crate::algorithm::{Algorithm, Claims, Key, Requirement, Values};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "shared-memory",
    citation: "Q 4.2",
    summary: "each fills its own window and raises one counter; each combines its block",
    requires: &[Requirement::Window],
    keys: &[Key {
        name: "work",
        values: Values::Names(&["block", "chain"]),
        default: 0,
        about: "what a rank combines: its block of all vectors, or its own vector with a sum that comes by",
    }],
    settings: &["", "work=chain"],
    build,
    claims,
    ..BASE
};

/// `work=chain`.
const CHAIN: u32 = 1;

fn build(b: &mut Builder) {
    if b.get("work") == CHAIN {
        return chain::reduce(b, Readers::Each);
    }
    let (rank, input, output) = (b.rank(), b.input(), b.output());
    let window = window::vector(b);
    let turns = window::fill_all(b, &window::all_but(rank, input, window));
    combine::around(b, window.at(rank), input.at(rank), output);
    turns.give_back(b);
}

fn claims(shape: &Shape) -> Claims {
    if shape.get("work") == CHAIN {
        return chain::claims(shape, Readers::Each);
    }
    let others = shape.ranks() - 1;
    // The counter, then one window after another.
    Claims {
        ports: others,
        steps: if others > 0 { others + 1 } else { 0 },
        volume: u64::from(others),
        work: u64::from(others),
    }
}
