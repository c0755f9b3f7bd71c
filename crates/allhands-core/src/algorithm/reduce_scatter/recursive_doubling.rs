//! Recursive-doubling reduce-scatter: pairs at distance 1, 2, 4, … exchange all blocks but those that their own groups need.
//!
//! Neighbours combine first, so rank order is kept, for operators that do not commute. More is sent than by recursive halving: n − n/p, n − 2n/p, … For
//! other than powers of two the first even ranks fold into their odd neighbours, which work for both.
//!
//! ```text
//! 4 ranks      0⇄1 2⇄3: all but the own block      0⇄2 1⇄3: all but the pair's blocks
//! ```
//!
//! Source: T 4.4.

use crate::algorithm::{Algorithm, Claims, InPlace, block_per_rank, keeps_order};
use crate::call::Collective;
use crate::pattern::fold::{Fold, Folding, Keeper, Role};
use crate::pattern::math::floor_log2;
use crate::schedule::{Blocks, Builder, Shape, Side};
use alloc::vec::Vec;
use core::ops::Range;

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::ReduceScatter,
    name: "recursive-doubling",
    citation: "T 4.4",
    summary: "pairs at distance 1, 2, 4, … exchange all but what their groups need; keeps rank order",
    requires: &[],
    keys: &[],
    settings: &[""],
    in_place: InPlace::Natural,
    ordered: keeps_order,
    parts: block_per_rank,
    build,
    claims,
};

/// The ranks that consecutive positions stand for.
fn members(folding: &Folding, positions: Range<u32>) -> Range<u32> {
    let first = folding.members(positions.start).next().unwrap_or(0);
    let last = folding.members(positions.end - 1).last().unwrap_or(0);
    first..last + 1
}

/// The positions of the group of 2^round positions around one.
fn group(position: u32, round: u32) -> Range<u32> {
    let start = position >> round << round;
    start..start + (1 << round)
}

fn all_but(vector: Blocks, ranks: &Range<u32>) -> [Blocks; 2] {
    [
        vector.slice(0, ranks.start),
        vector.slice(ranks.end, vector.count() - ranks.end),
    ]
}

/// All of `own` but what the partner's group needs. What the group of the partner before needs is not needed here any
/// more and was not combined, but the messages carry it along: it is still in the vector `before`.
fn operand(
    own: Blocks,
    before: Blocks,
    theirs: &Range<u32>,
    group_before: &Range<u32>,
) -> Vec<Blocks> {
    let mut sets = Vec::with_capacity(6);
    for piece in [0..theirs.start, theirs.end..own.count()] {
        let inside = |at: u32| at.clamp(piece.start, piece.end);
        let (start, end) = (inside(group_before.start), inside(group_before.end));
        sets.push(own.slice(piece.start, start - piece.start));
        sets.push(before.slice(start, end - start));
        sets.push(own.slice(end, piece.end - end));
    }
    sets
}

fn build(b: &mut Builder) {
    let rank = b.rank();
    let folding = Folding::to_power(b.ranks(), 2, Fold::Neighbour(Keeper::Last));
    let (input, output) = (b.input(), b.output());
    let (position, guests) = match folding.role(rank) {
        Role::Leaves { host } => {
            b.send(host, input);
            b.step();
            b.recv(host, output);
            return;
        }
        Role::Stays { new_rank, guests } => (new_rank, guests),
    };
    let vectors = [b.vector(), b.vector()];
    let mut own = input;
    if let Some(guest) = guests.first() {
        b.recv_reduce(guest, Side::Left, input, vectors[1]);
        b.step();
        own = vectors[1];
    }
    let (mut before, mut group_before) = (own, 0..0);
    for round in 0..floor_log2(folding.kept()) {
        let partner = position ^ (1 << round);
        let side = if partner < position {
            Side::Left
        } else {
            Side::Right
        };
        let (mine, theirs) = (
            members(&folding, group(position, round)),
            members(&folding, group(partner, round)),
        );
        let into = vectors[round as usize % 2];
        let peer = folding.actual(partner);
        b.send(peer, all_but(own, &mine));
        let operand = operand(own, before, &theirs, &group_before);
        b.recv_reduce(peer, side, operand, all_but(into, &theirs));
        b.step();
        (before, group_before) = (own, theirs);
        own = into;
    }
    b.copy(own.at(rank), output);
    if let Some(guest) = guests.first() {
        b.send(guest, own.at(guest));
    }
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let folding = Folding::to_power(p, 2, Fold::Neighbour(Keeper::Last));
    let rounds = floor_log2(folding.kept());
    let outside =
        |position, round| u64::from(p - members(&folding, group(position, round)).len() as u32);
    let cost = |position: u32| {
        let folded = u64::from(folding.guests(position).len());
        let sent: u64 = (0..rounds).map(|round| outside(position, round)).sum();
        let received: u64 = (0..rounds)
            .map(|round| outside(position ^ (1 << round), round))
            .sum();
        (sent + folded, received + folded * u64::from(p))
    };
    let all: Vec<(u64, u64)> = (0..folding.kept()).map(cost).collect();
    let work = all.iter().map(|c| c.1).max().unwrap_or(0);
    let sent = all.iter().map(|c| c.0).max().unwrap_or(0);
    let folds = if p.is_power_of_two() { 0 } else { 2 };
    Claims {
        ports: 1,
        steps: rounds + folds,
        volume: work.max(sent),
        work,
    }
}
