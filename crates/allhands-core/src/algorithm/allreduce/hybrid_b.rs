//! HybridB-x-y allreduce: Rabenseifner's reduce-scatter, then the hybrid-x-y allgather of the parts.
//!
//! The reduce-scatter keeps the volume low, the hybrid keeps messages between distant ranks few. Ranks beyond the next lower power of two p'
//! fold onto lower ones (C 4).
//!
//! ```text
//! 4 ranks, x = 2      halves: 0⇄2 1⇄3, 0⇄1 2⇄3      1▶0 3▶2      0⇄2      0▶1 2▶3
//! ```
//!
//! Source: C 5.5.

use super::BASE;
use crate::algorithm::phase::allgather::hybrid::{self, Hybrid};
use crate::algorithm::phase::fold::{fold, unfold};
use crate::algorithm::phase::halving::{Distance, Halves};
use crate::algorithm::phase::reduce_scatter::recursive_halving::reduce_scatter;
use crate::algorithm::{Algorithm, Claims, Key, Values, any_order};
use crate::pattern::fold::{Fold, Folding};
use crate::pattern::math::floor_log2;
use crate::pattern::math::previous_power;
use crate::schedule::{Builder, Shape};
use alloc::vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hybrid-b",
    citation: "C 5.5",
    summary: "Rabenseifner's reduce-scatter, then the hybrid allgather",
    keys: &[Key {
        name: "x",
        values: Values::Range { min: 1, max: 32 },
        default: 2,
        about: "the round in which recursive doubling starts; at most lg p' + 1",
    }],
    settings: &["", "x=1", "x=3", "x=5"],
    ordered: any_order,
    parts: |shape| previous_power(2, shape.ranks()),
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let folding = Folding::to_power(b.ranks(), 2, Fold::High);
    let (input, output, size) = (b.input(), b.output(), folding.kept());
    if let Some((position, own)) = fold(b, &folding, false, input, &mut |_| output) {
        let rank_at = |position| folding.actual(position);
        // With the farthest first, position i ends with part i, as the allgather wants it.
        let distance = Distance::Halving;
        let halves = Halves::plain(size, position, &rank_at, distance);
        reduce_scatter(b, &halves, own, output, &[halves.own(output)]);
        let hybrid = Hybrid {
            size,
            position,
            rank_at: &rank_at,
            group: hybrid::group_size(size, b.get("x")),
        };
        let parts =
            |range: core::ops::Range<u32>| vec![output.slice(range.start, range.end - range.start)];
        hybrid::allgather(b, &hybrid, &parts, &[output]);
    }
    unfold(b, &folding, output);
}

fn claims(shape: &Shape) -> Claims {
    let folding = Folding::to_power(shape.ranks(), 2, Fold::High);
    let (size, folds) = (folding.kept(), u32::from(folding.extra() > 0));
    let group = hybrid::group_size(size, shape.get("x"));
    let parts = u64::from(size);
    let volume = |position| {
        let count = |range: core::ops::Range<u32>| u64::from(range.end - range.start);
        let (sent, received) = hybrid::allgather_blocks(size, group, position, &count);
        let guest = if position < folding.extra() { parts } else { 0 };
        parts - 1 + guest + sent.max(received)
    };
    let steps = 2 * floor_log2(size) + floor_log2(group) + 2 * folds;
    let volume = (0..size).map(volume).max().unwrap_or(0);
    Claims {
        ports: 1,
        steps,
        volume,
        work: parts - 1 + u64::from(folds) * parts,
    }
}
