//! Recursive-halving reduce-scatter: pairs at distance p/2, p/4, … give each other the half that the other side needs.
//!
//! lg p steps with minimal volume and work, for operators that commute. Otherwise the first even ranks fold into their odd neighbours,
//! which work for both and send the neighbour its block at the end.
//!
//! ```text
//! 4 ranks      0⇄2 1⇄3: half the vector      0⇄1 2⇄3: a quarter
//! ```
//!
//! Source: T 4.4, figure 9.

use super::BASE;
use crate::algorithm::phase::fold::fold;
use crate::algorithm::phase::halving::{Distance, Halves, Meeting, meetings};
use crate::algorithm::phase::reduce_scatter::recursive_halving::reduce_scatter;
use crate::algorithm::phase::view;
use crate::algorithm::{Algorithm, Claims, any_order};
use crate::pattern::fold::{Fold, Folding, Keeper};
use crate::pattern::math::floor_log2;
use crate::schedule::{Blocks, Builder, Shape};
use alloc::vec::Vec;
use core::ops::Range;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "recursive-halving",
    citation: "T 4.4",
    summary: "pairs at distance p/2, p/4, … halve the vector and combine",
    ordered: any_order,
    build,
    claims,
    ..BASE
};

/// The blocks of the ranks that consecutive positions stand for.
fn blocks_of(folding: &Folding, slots: Range<u32>) -> Range<u32> {
    let first = folding.members(slots.start).next().unwrap_or(0);
    let last = folding.members(slots.end - 1).last().unwrap_or(0);
    first..last + 1
}

fn build(b: &mut Builder) {
    let rank = b.rank();
    let folding = Folding::to_power(b.ranks(), 2, Fold::Neighbour(Keeper::Last));
    let (input, output) = (b.input(), b.output());
    let Some((position, own)) = fold(b, &folding, false, input, &mut Builder::vector) else {
        b.recv(folding.actual(folding.representative(rank)), output);
        b.step();
        view::rows(b, &[(rank, &[output])]);
        return;
    };
    let sum = if own == input { b.vector() } else { own };
    let halves = Halves {
        size: folding.kept(),
        position,
        rank_at: &|position| folding.actual(position),
        blocks_of: &|slots| blocks_of(&folding, slots),
        distance: Distance::Halving,
    };
    // A folded rank stands before its host, and so does its block.
    let guest = folding.guests(position).first();
    let result: Vec<Blocks> = guest
        .map(|guest| sum.at(guest))
        .into_iter()
        .chain([output])
        .collect();
    reduce_scatter(b, &halves, own, sum, &result);
    if let Some(guest) = guest {
        b.send(guest, sum.at(guest));
        b.step();
        view::rows(b, &[(rank, &[output])]);
    }
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let folding = Folding::to_power(p, 2, Fold::Neighbour(Keeper::Last));
    let length = |slots: &Range<u32>| u64::from(blocks_of(&folding, slots.clone()).len() as u32);
    let (mut volume, mut work) = (0, 0);
    for position in 0..folding.kept() {
        let folded = u64::from(folding.guests(position).len());
        let (mut sent, mut combined) = (folded, folded * u64::from(p));
        for Meeting { keep, give, .. } in meetings(folding.kept(), position, Distance::Halving) {
            sent += length(&give);
            combined += length(&keep);
        }
        volume = volume.max(sent).max(combined);
        work = work.max(combined);
    }
    let folds = if p.is_power_of_two() { 0 } else { 2 };
    // A rank that leaves sends its whole vector.
    volume = volume.max(u64::from(folds / 2 * p));
    Claims {
        ports: 1,
        steps: floor_log2(p) + folds,
        volume,
        work,
    }
}
