//! Reduce-scatter, gather, broadcast: Rabenseifner's reduce, then a binomial broadcast of the result.
//!
//! The reduction has minimal volume and work; the broadcast sends whole vectors. 3 lg p' steps, with p' the next lower power of two, onto which
//! the other ranks fold (C 4).
//!
//! ```text
//! 4 ranks      halves: 0⇄2 1⇄3, 0⇄1 2⇄3      1▶0 3▶2, 2▶0      0▶2, 0▶1 2▶3
//! ```
//!
//! Source: C 5.5, table 5.

use super::BASE;
use crate::algorithm::phase::fold::{fold, unfold};
use crate::algorithm::phase::gather::halves::gather;
use crate::algorithm::phase::halving::{Distance, Halves};
use crate::algorithm::phase::reduce_scatter::recursive_halving::reduce_scatter;
use crate::algorithm::phase::tree::{Group, walk};
use crate::algorithm::{Algorithm, Claims, any_order};
use crate::pattern::fold::{Fold, Folding};
use crate::pattern::math::{floor_log2, previous_power};
use crate::schedule::{Builder, Shape};
use alloc::vec;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "reduce-scatter-gather-broadcast",
    citation: "C table 5",
    summary: "Rabenseifner's reduce-scatter, binomial gather, binomial broadcast",
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
        let distance = Distance::Halving;
        let halves = Halves::plain(size, position, &rank_at, distance);
        reduce_scatter(b, &halves, own, output, &[halves.own(output)]);
        gather(b, &halves, 0, output);
        let group = Group::binomial(size, position, &rank_at);
        walk::down(b, &group, &[output], &|_| vec![output]);
    }
    unfold(b, &folding, output);
}

fn claims(shape: &Shape) -> Claims {
    let folding = Folding::to_power(shape.ranks(), 2, Fold::High);
    let (size, folds) = (folding.kept(), u64::from(folding.extra() > 0));
    let (parts, rounds) = (u64::from(size), floor_log2(size));
    // Rank 0 halves and then sends the result in every round; others send less.
    let volume = parts - 1 + (u64::from(rounds) + folds) * parts;
    // It receives its halves, a folded vector, and the gathered result.
    let received = 2 * (parts - 1) + folds * parts;
    let work = parts - 1 + folds * parts;
    Claims {
        ports: 1,
        steps: 3 * rounds + 2 * folds as u32,
        volume: volume.max(received),
        work,
    }
}
