//! Shared-memory allreduce: every rank copies its vector into its own window and raises a counter; then all combine everything, or each a part.
//!
//! With `work=all`, for short vectors, one phase is enough: everyone reads all windows, in the same order, so that all results
//! are the same to the last bit. With `work=parts` rank r combines part r of all vectors and leaves it in its window; a second
//! counter tells all that they may get the parts of the others. With `work=chain`, for long vectors, each adds its own to a sum
//! that comes by in segments, and gets it when it has been everywhere. With `work=two-chains` even ranks are the first to add
//! theirs to half of the segments, and odd ones to the others.
//!
//! ```text
//! 3 ranks      all: watch empty@0 for 3, copy in, ↑ full@0, watch full@0 for 3      window 0 ⊕ window 1 ⊕ window 2      ↑ empty@0
//! work=parts   … part r: ⊕ of all windows, into the own window, ↑ summed@0, watch summed@0 for 3      get the other parts
//! ```
//!
//! Source: Q 4.2.

mod two_chains;

use super::BASE;
use crate::algorithm::phase::shared_memory::chain;
use crate::algorithm::phase::shared_memory::readers::Readers;
use crate::algorithm::phase::shared_memory::{combine, window};
use crate::algorithm::{Algorithm, Claims, Key, Requirement, Values, keeps_order};
use crate::schedule::{Blocks, Builder, Shape, Side};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "shared-memory",
    citation: "Q 4.2",
    summary: "each fills its own window and raises a counter; all combine all, or each a part",
    requires: &[Requirement::Window],
    keys: &[
        Key {
            name: "work",
            values: Values::Names(&["all", "parts", "chain", "two-chains"]),
            default: 0,
            about: "what a rank combines: all of the vectors, a part that it shares, or its own with a sum that comes by, or with two",
        },
        chain::SEGMENTS,
    ],
    settings: &[
        "",
        "work=parts",
        "work=chain",
        "work=chain,segments=9",
        "work=two-chains",
        "work=two-chains,segments=3",
    ],
    ordered: |shape| shape.get("work") != TWO_CHAINS && keeps_order(shape),
    parts,
    build,
    claims,
    ..BASE
};

/// `work=parts`.
const PARTS: u32 = 1;
/// `work=chain`.
const CHAIN: u32 = 2;
/// `work=two-chains`.
const TWO_CHAINS: u32 = 3;

fn parts(shape: &Shape) -> u32 {
    match shape.get("work") {
        PARTS => shape.ranks(),
        CHAIN | TWO_CHAINS => shape.get("segments"),
        _ => 1,
    }
}

fn build(b: &mut Builder) {
    let (input, output) = (b.input(), b.output());
    if b.get("work") == CHAIN {
        return chain::reduce(b, Readers::All);
    }
    if b.get("work") == TWO_CHAINS {
        return two_chains::allreduce(b);
    }
    if b.get("work") == PARTS {
        let sum = output.at(b.rank());
        combine::by_parts(b, None, sum);
        return;
    }
    let window = window::vector(b);
    let turns = window::fill_all(b, &[(input, window)]);
    in_order(b, window, input, output);
    turns.give_back(b);
}

/// Combines the same block of every rank's window into `into`, in rank order from rank 0 on: the same on every rank, to
/// the last bit. `own` is what this rank has in its window.
fn in_order(b: &mut Builder, window: Blocks, own: Blocks, into: Blocks) {
    let (p, rank) = (b.ranks(), b.rank());
    // The first two are combined at once, by a rank that is one of them.
    let (mut sum, mut next) = match rank {
        0 if p == 1 => {
            b.copy(own, into);
            (into, 1)
        }
        0 => (own, 1),
        1 => {
            b.get_reduce(0, Side::Left, window, own, into);
            (into, 2)
        }
        _ => {
            b.get_from(0, window, into);
            (into, 1)
        }
    };
    while next < p {
        b.step();
        if next == rank {
            // What `own` was may have been overwritten, in a call in place.
            b.reduce(sum, window, into);
        } else {
            b.get_reduce(next, Side::Right, window, sum, into);
        }
        (sum, next) = (into, next + 1);
    }
}

fn claims(shape: &Shape) -> Claims {
    match shape.get("work") {
        CHAIN => chain::claims(shape, Readers::All),
        TWO_CHAINS => two_chains::claims(shape),
        work => combine::claims(shape, work == PARTS),
    }
}
