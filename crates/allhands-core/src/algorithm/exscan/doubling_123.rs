//! 123-doubling exscan: skips 1, 2 and then 3, 6, 12, …, so that only one round combines apart from the result.
//!
//! Recursive doubling keeps two sums, of the ranks before and of these with the own vector. Here ranks send their own vector first, then
//! what came with it, and from then on what they have of the ranks before them, which is also the result:
//! ⌈lg(p − 1) + lg 4/3⌉ rounds for p > 4, of all exscans the fewest, and one combination a round after the second.
//!
//! ```text
//! 8 ranks      i ─▶ i+1: x      i ─▶ i+2: W ⊕ x      i ─▶ i+3: W      i ─▶ i+6: W      W: what has come so far
//! ```
//!
//! Source: Träff 2025, Exclusive scan by 123-doubling.

use super::BASE;
use crate::algorithm::{Algorithm, Claims, InPlace};
use crate::schedule::{Builder, Shape, Side};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "123-doubling",
    citation: "Träff 2025",
    summary: "to ranks 1, 2, 3, 6, 12, … further on: the fewest rounds",
    in_place: InPlace::Staged,
    build,
    claims,
    ..BASE
};

/// The skips after the first: 2, and 3, 6, … as long as rank p − 1 lacks anything.
fn skips(p: u32) -> impl Iterator<Item = u32> {
    let doubled = core::iter::successors(Some(3), |skip: &u32| skip.checked_mul(2));
    let wanted = doubled.take_while(move |skip| *skip < p.saturating_sub(1));
    (p > 2).then_some(2).into_iter().chain(wanted)
}

/// Whether something comes to `rank` from `skip` ranks before it. Nothing is before rank 0, which has no more to send after its
/// own vector.
fn comes(rank: u32, skip: u32) -> bool {
    rank >= skip && (skip <= 2 || rank > skip)
}

fn build(b: &mut Builder) {
    let (p, rank, input) = (b.ranks(), b.rank(), b.input());
    let mut left = skips(p).filter(|skip| comes(rank, *skip)).count();
    // Partial results take turns with scratch, as each is sent while the next one lands, and the last is in the output.
    let turns = [b.output(), if left > 0 { b.vector() } else { b.output() }];
    let mut prefix = turns[left % 2];
    if rank + 1 < p {
        b.send(rank + 1, input);
    }
    if rank > 0 {
        b.recv(rank - 1, prefix);
    }
    b.step();
    for skip in skips(p) {
        let mut outgoing = if rank > 0 { prefix } else { input };
        if skip == 2 && rank > 0 && rank + skip < p {
            outgoing = b.vector();
            b.reduce(prefix, input, outgoing);
            b.step();
        }
        if rank + skip < p && comes(rank + skip, skip) {
            b.send(rank + skip, outgoing);
        }
        if comes(rank, skip) {
            left -= 1;
            let next = turns[left % 2];
            b.recv_reduce(rank - skip, Side::Left, prefix, next);
            prefix = next;
        }
        b.step();
    }
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let rounds = skips(p).count() as u32 + u32::from(p > 1);
    // Of the ranks that combine equally often with what comes, the first also adds its own for another, if any does.
    let firsts = [1]
        .into_iter()
        .chain(skips(p).map(|skip| skip + u32::from(skip > 2)));
    let work = |(combined, rank): (usize, u32)| combined as u32 + u32::from(rank + 2 < p);
    Claims {
        ports: 1,
        steps: rounds,
        volume: rounds.into(),
        work: firsts.enumerate().map(work).max().unwrap_or(0).into(),
    }
}
