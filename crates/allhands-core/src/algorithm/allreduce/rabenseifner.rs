//! Rabenseifner's allreduce: a reduce-scatter by recursive vector halving, then an allgather by recursive vector doubling.
//!
//! 2 lg p steps with minimal volume and work for powers of two. The ranks beyond the next lower power of two p' fold into their
//! neighbours first, by default in two halves, and get the result at the end. Distance doubling combines neighbours first, which keeps
//! rank order.
//!
//! ```text
//! 5 ranks, p' = 4      fold: 0⇄1, 1 ─▶ 0      halves: 0⇄2 3⇄4, 0⇄3 2⇄4      doubles: 0⇄3 2⇄4, 0⇄2 3⇄4      0 ─▶ 1
//! ```
//!
//! Source: T 4.5, 5.1, figure 12; C 5.5, table 5 (Rabenseifner).

use super::BASE;
use crate::algorithm::phase::allgather::recursive_doubling::allgather;
use crate::algorithm::phase::fold::{self, fold, unfold};
use crate::algorithm::phase::halving::{Distance, Halves};
use crate::algorithm::phase::reduce_scatter::recursive_halving::reduce_scatter;
use crate::algorithm::{Algorithm, Claims, Key, Values};
use crate::pattern::fold::{Fold, Folding, Keeper};
use crate::pattern::math::{floor_log2, previous_power};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "rabenseifner",
    citation: "T 4.5, 5.1; C table 5",
    summary: "recursive halving reduce-scatter, recursive doubling allgather",
    keys: &[
        Key {
            name: "distance",
            values: Values::Names(&["doubling", "halving"]),
            default: 0,
            about: "who meets first: neighbours (keeps rank order) or the farthest",
        },
        Key {
            name: "fold",
            values: Values::Names(&["halves", "whole"]),
            default: 0,
            about: "ranks beyond a power of two share the first combination, or hand over the whole vector",
        },
    ],
    settings: &[
        "",
        "distance=halving",
        "fold=whole",
        "distance=halving,fold=whole",
    ],
    ordered: |shape| Distance::of(shape) == Distance::Doubling,
    parts: |shape| previous_power(2, shape.ranks()),
    build,
    claims,
    ..BASE
};

fn folding(p: u32) -> Folding {
    Folding::to_power(p, 2, Fold::Neighbour(Keeper::First))
}

fn build(b: &mut Builder) {
    let folding = folding(b.ranks());
    let (input, output, in_halves) = (b.input(), b.output(), b.get("fold") == 0);
    if let Some((position, own)) = fold(b, &folding, in_halves, input, &mut |_| output) {
        let rank_at = |position| folding.actual(position);
        let halves = Halves::plain(folding.kept(), position, &rank_at, Distance::of(b.shape()));
        reduce_scatter(b, &halves, own, output, &[halves.own(output)]);
        allgather(b, &halves, output);
    }
    unfold(b, &folding, output);
}

fn claims(shape: &Shape) -> Claims {
    let folding = folding(shape.ranks());
    let slots = u64::from(folding.kept());
    let folds = fold::cost(&folding, shape.get("fold") == 0, slots);
    // Whom somebody folds onto sends the whole result there at the end.
    let (unfolds, result) = match folding.extra() {
        0 => (0, 0),
        _ => (1, slots),
    };
    Claims {
        ports: 1,
        steps: 2 * floor_log2(shape.ranks()) + folds.steps + unfolds,
        volume: 2 * (slots - 1) + folds.sent + result,
        work: slots - 1 + folds.work,
    }
}
