//! Hybrid segmented binomial broadcast: the whole vector goes once to the other half of the ranks, then each half broadcasts by itself.
//!
//! For a machine of two chips: one message crosses between them, where the segmented binomial broadcast has one for every
//! rank. The root sends to its opposite in the other half; in each half a segmented binomial broadcast follows: one step of the
//! whole vector and lg p of half of it. A rank's opposite is p'/2 away and partners differ in one bit, so a half is a chip
//! whoever the root is. Where p is no power of two, p' is the next lower one, and the ranks beyond it get the vector in a last
//! step from the first positions (the fold of C 4); a root beyond it changes places with the rank below.
//!
//! ```text
//! 8 ranks, root 0      0 ═▶ 4      0 ─▶ 2, 4 ─▶ 6      0 ─▶ 1, 2 ─▶ 3, 4 ─▶ 5, 6 ─▶ 7      0 ─▶ 2, 1 ⇄ 3, 4 ─▶ 6, 5 ⇄ 7
//! ```
//!
//! Source: Ali, Midkiff, Pai 2010, C 5.2, table 2.

use super::BASE;
use crate::algorithm::phase::broadcast::segmented::{self, Halves};
use crate::algorithm::{Algorithm, Claims};
use crate::pattern::math::{floor_log2, previous_power};
use crate::schedule::{Builder, Shape};

/// The algorithm.
pub const ALGORITHM: Algorithm = Algorithm {
    name: "hybrid-segmented-binomial",
    citation: "C 5.2, table 2",
    summary: "the vector once to the other half of the ranks, then a segmented broadcast in each",
    parts: |_| 2,
    build,
    claims,
    ..BASE
};

fn build(b: &mut Builder) {
    let (rank, root) = (b.rank(), b.root());
    let (input, output) = (b.input(), b.output());
    let vector = if rank == root { input } else { output };
    if rank == root {
        b.copy(input, output);
    }
    let (p, kept) = (b.ranks(), previous_power(2, b.ranks()));
    let place = Places { root, kept };
    // The root stands at position 0, and positions differ in the bits in which places do.
    let (own, origin) = (place.of(rank), place.of(root));
    let rank_at = |position: u32| place.of(position ^ origin);
    if own >= kept {
        b.recv(rank_at(own - kept), output);
        return;
    }
    let (position, half) = (own ^ origin, kept / 2);
    if half > 0 {
        match position {
            0 => b.send(rank_at(half), vector),
            _ if position == half => b.recv(rank_at(0), vector),
            _ => {}
        }
        b.step();
        let first = position / half * half;
        let halves = Halves {
            size: half,
            position: position - first,
            rank_at: &|position| rank_at(first + position),
        };
        segmented::broadcast(b, &halves, vector);
    }
    if position + kept < p {
        b.send(place.of(position + kept), vector);
    }
}

/// Where ranks stand: each at its own number, but a root beyond the power of two in turn with the rank below.
struct Places {
    root: u32,
    kept: u32,
}

impl Places {
    /// The place of a rank, and the rank of a place.
    fn of(&self, rank: u32) -> u32 {
        match self.root.checked_sub(self.kept) {
            Some(below) if rank == self.root => below,
            Some(below) if rank == below => self.root,
            Some(_) | None => rank,
        }
    }
}

fn claims(shape: &Shape) -> Claims {
    let p = shape.ranks();
    let levels = floor_log2(p);
    let crosses = u32::from(levels > 0);
    // A half of one rank has nothing more to do.
    let rounds = if levels > 1 { levels } else { 0 };
    let folds = u32::from(!p.is_power_of_two());
    // The root sends both halves across, a half in every round and, at last, both halves to its guest.
    Claims {
        ports: 1,
        steps: crosses + rounds + folds,
        volume: u64::from(2 * crosses + rounds + 2 * folds),
        work: 0,
    }
}
