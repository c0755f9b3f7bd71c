//! Shared-memory reduce: every rank copies its vector into its own window and raises a counter; the root combines, or each rank a part.
//!
//! With `work=root` the root reads all windows, in rank order. With `work=parts`, for long vectors, rank r combines part r of
//! all vectors and leaves it in its window; a second counter tells the root that it may get the parts. With
//! `work=chain`, for very long ones, each adds its own to a sum that comes by in segments.
//!
//! ```text
//! 3 ranks, root 0, work=root       all: watch empty@0 for 1      1, 2: copy in, ↑ full@0      0: wait full@0 for 2, own ⊕ 1, ⊕ 2, ↑ empty@0
//! work=parts      all: copy in, ↑ full@0, watch it for 3, part r: ⊕ all      1, 2: ↑ summed@0      0: watch summed@0 for 2, get parts 1, 2
//! ```
//!
//! Source: Q 4.2.

use super::BASE;
use crate::algorithm::phase::shared_memory::chain;
use crate::algorithm::phase::shared_memory::combine;
use crate::algorithm::phase::shared_memory::readers::Readers;
use crate::algorithm::phase::shared_memory::window::{self, Turns};
use crate::algorithm::{Algorithm, Claims, Key, Requirement, Values};
use crate::schedule::{Builder, Shape, Units};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "shared-memory",
    citation: "Q 4.2",
    summary: "each fills its own window and raises a counter; the root combines, or each a part",
    requires: &[Requirement::Window],
    keys: &[
        Key {
            name: "work",
            values: Values::Names(&["root", "parts", "chain"]),
            default: 0,
            about: "who combines: the root everything, each rank a part, or each its own with a sum that comes by",
        },
        chain::SEGMENTS,
    ],
    settings: &["", "work=parts", "work=chain", "work=chain,segments=9"],
    parts,
    build,
    claims,
    ..BASE
};

/// `work=parts`.
const PARTS: u32 = 1;
/// `work=chain`.
const CHAIN: u32 = 2;

fn parts(shape: &Shape) -> u32 {
    match shape.get("work") {
        PARTS => shape.ranks(),
        CHAIN => shape.get("segments"),
        _ => 1,
    }
}

fn build(b: &mut Builder) {
    let (root, rank, input, output) = (b.root(), b.rank(), b.input(), b.output());
    let is_root = rank == root;
    if b.get("work") == CHAIN {
        return chain::reduce(b, Readers::Root(root));
    }
    if b.get("work") == PARTS {
        let own = Units::Run {
            first: rank,
            modulo: b.parts(),
        };
        let sum = if is_root {
            output.at(rank)
        } else {
            b.scratch(own, 1)
        };
        combine::by_parts(b, Some(root), sum);
        return;
    }
    let window = window::vector(b);
    // Only the root reads, so it gives all windows back at once; who is the next root need not be known for that.
    let turns = Turns::new(b, [root, 0], 1);
    turns.take(b);
    if !is_root {
        b.copy(input, window);
        b.step();
        turns.filled(b);
        return;
    }
    turns.wait_full(b, b.ranks() - 1);
    combine::around(b, window, input, output);
    turns.give_back(b);
}

fn claims(shape: &Shape) -> Claims {
    match shape.get("work") {
        CHAIN => chain::claims(shape, Readers::Root(shape.call.root)),
        work => combine::claims(shape, work == PARTS),
    }
}
