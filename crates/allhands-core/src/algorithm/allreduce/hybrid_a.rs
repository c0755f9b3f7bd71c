//! HybridA-x-y allreduce: x − 1 rounds of binomial reduce, recursive doubling among the leaders, x − 1 rounds of binomial broadcast.
//!
//! Whole vectors in every round, but only y = p'/2^(x−1) of them cross between distant ranks. Ranks beyond the next lower power of two p' fold
//! onto lower ones (C 4).
//!
//! ```text
//! 8 ranks, x = 2      1▶0 3▶2 5▶4 7▶6      0⇄2 4⇄6      0⇄4 2⇄6      0▶1 2▶3 4▶5 6▶7
//! ```
//!
//! Source: C 5.5.

use super::BASE;
use crate::algorithm::phase::allgather::hybrid::{self, Hybrid};
use crate::algorithm::phase::allreduce::recursive_doubling::{self, Doubling, Turns};
use crate::algorithm::phase::fold::{fold, unfold};
use crate::algorithm::phase::tree::walk;
use crate::algorithm::{Algorithm, Claims, Key, Values, any_order};
use crate::pattern::fold::{Fold, Folding};
use crate::pattern::math::floor_log2;
use crate::schedule::{Builder, Shape};
use alloc::vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hybrid-a",
    citation: "C 5.5",
    summary: "binomial reduce in groups, recursive doubling among leaders, binomial broadcast",
    keys: &[Key {
        name: "x",
        values: Values::Range { min: 1, max: 32 },
        default: 2,
        about: "the round in which recursive doubling starts; at most lg p' + 1",
    }],
    settings: &["", "x=1", "x=3", "x=5"],
    ordered: any_order,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let folding = Folding::to_power(b.ranks(), 2, Fold::High);
    let (input, output) = (b.input(), b.output());
    let group = hybrid::group_size(folding.kept(), b.get("x"));
    let mut turns = Turns::new(folding.kept() / group, b.output());
    if let Some((position, own)) = fold(b, &folding, false, input, &mut |b| turns.start(b)) {
        let rank_at = |position| folding.actual(position);
        let hybrid = Hybrid {
            size: folding.kept(),
            position,
            rank_at: &rank_at,
            group,
        };
        let sum = hybrid
            .on_tree(|tree_group| walk::reduce_up(b, tree_group, own, &mut |b| turns.start(b)));
        if position == hybrid.leader() {
            let leaders = Doubling {
                size: folding.kept() / group,
                position: position / group,
                rank_at: &|leader| rank_at(leader * group),
            };
            recursive_doubling::allreduce(b, &leaders, &mut turns, sum);
        }
        hybrid.on_tree(|tree_group| walk::down(b, tree_group, &[output], &|_| vec![output]));
    }
    unfold(b, &folding, output);
}

fn claims(shape: &Shape) -> Claims {
    let folding = Folding::to_power(shape.ranks(), 2, Fold::High);
    let group = hybrid::group_size(folding.kept(), shape.get("x"));
    let (all, low) = (floor_log2(folding.kept()), floor_log2(group));
    let folds = u32::from(folding.extra() > 0);
    // The leader of a group, with a rank folded onto it, is in every round.
    Claims {
        ports: 1,
        steps: all + low + 2 * folds,
        volume: u64::from(all + folds),
        work: u64::from(all + folds),
    }
}
