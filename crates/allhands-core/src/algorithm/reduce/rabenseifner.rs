//! Rabenseifner's reduce: a reduce-scatter by recursive vector halving, then a binomial gather to the root.
//!
//! 2 lg p steps for powers of two. The ranks beyond the next lower power of two p' fold into their neighbours first, by default
//! in two halves; if the root would leave, it and its partner change roles, which costs nothing.
//!
//! ```text
//! 5 ranks, p' = 4, root 0      fold: 0⇄1, 1 ─▶ 0      halves: 0⇄2 3⇄4, 0⇄3 2⇄4      gather: 3 ─▶ 0, 4 ─▶ 2      2 ─▶ 0
//! ```
//!
//! Source: T 4.5, 5.1; C 5.4, table 4 (reduce-scatter and gather).

use super::BASE;
use crate::algorithm::phase::fold::{self, fold};
use crate::algorithm::phase::gather::halves::{self, gather};
use crate::algorithm::phase::halving::{Distance, Halves};
use crate::algorithm::phase::reduce_scatter::recursive_halving::reduce_scatter;
use crate::algorithm::{Algorithm, Claims, Key, Values};
use crate::pattern::fold::{Fold, Folding, Keeper, Role};
use crate::pattern::math::{floor_log2, previous_power};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "rabenseifner",
    citation: "T 4.5, 5.1; C table 4",
    summary: "recursive halving reduce-scatter, then a gather to the root",
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

fn folding(shape: &Shape) -> Folding {
    Folding::to_power(shape.ranks(), 2, Fold::Neighbour(Keeper::First)).keeping(shape.call.root)
}

fn root_position(shape: &Shape) -> u32 {
    match folding(shape).role(shape.call.root) {
        Role::Stays { new_rank, .. } => new_rank,
        Role::Leaves { .. } => unreachable!("the folding keeps the root"),
    }
}

fn build(b: &mut Builder) {
    let (folding, root) = (folding(b.shape()), root_position(b.shape()));
    let (input, in_halves) = (b.input(), b.get("fold") == 0);
    let mut target = |b: &mut Builder| match b.rank() == b.root() {
        true => b.output(),
        false => b.vector(),
    };
    if let Some((position, own)) = fold(b, &folding, in_halves, input, &mut target) {
        let sum = if own == input { target(b) } else { own };
        let rank_at = |position| folding.actual(position);
        let distance = Distance::of(b.shape());
        let halves = Halves::plain(folding.kept(), position, &rank_at, distance);
        reduce_scatter(b, &halves, own, sum, &[halves.own(sum)]);
        gather(b, &halves, root, sum);
    }
}

fn claims(shape: &Shape) -> Claims {
    let (folding, root) = (folding(shape), root_position(shape));
    let (kept, slots) = (folding.kept(), u64::from(folding.kept()));
    let folds = fold::cost(&folding, shape.get("fold") == 0, slots);
    let volume = |position| {
        let guests = u64::from(folding.guests(position).len());
        let (sent, received) = halves::slots(kept, position, root, Distance::of(shape));
        let [sent, received] = [sent, received].map(u64::from);
        let most = (guests * folds.sent + sent).max(guests * folds.received + received);
        slots - 1 + most
    };
    let stays = (0..kept).map(volume).max().unwrap_or(0);
    // Who leaves sends its vector, in one message or two.
    let leaves = if folding.extra() > 0 { slots } else { 0 };
    Claims {
        ports: 1,
        steps: 2 * floor_log2(shape.ranks()) + folds.steps,
        volume: stays.max(leaves),
        work: slots - 1 + folds.work,
    }
}
