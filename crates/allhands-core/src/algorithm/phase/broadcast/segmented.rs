//! Segmented phase: each half of a group gets its half of the vector, then the halves are exchanged (C 5.2, figure 5).

use crate::algorithm::phase::tree::{Group, walk};
use crate::schedule::{Blocks, Builder};
use alloc::vec;

/// The ranks of a segmented broadcast.
pub struct Halves<'a> {
    /// The number of positions, a power of two; position 0 has the vector.
    pub size: u32,
    /// The position of this rank.
    pub position: u32,
    /// The rank at a position.
    pub rank_at: &'a dyn Fn(u32) -> u32,
}

/// Brings the vector, which is of two parts, from position 0 to all: lg `size` + 1 steps of half of it, none for one position.
pub fn broadcast(b: &mut Builder, ranks: &Halves<'_>, vector: Blocks) {
    let (half, me) = (ranks.size / 2, ranks.position);
    if half == 0 {
        return;
    }
    let (side, position) = (me / half, me % half);
    let (own, other) = (vector.at(side), vector.at(1 - side));
    let opposite = (ranks.rank_at)(position + (1 - side) * half);
    if position == 0 && side == 0 {
        b.send(opposite, other);
        b.step();
    } else if position == 0 {
        b.recv(opposite, own);
        b.step();
    }
    let rank_at = |position| (ranks.rank_at)(position + side * half);
    let group = Group::binomial(half, position, &rank_at);
    walk::down(b, &group, &[own], &|_| vec![own]);
    // Position 0 has both halves already.
    if me != half {
        b.send(opposite, own);
    }
    if me != 0 {
        b.recv(opposite, other);
    }
    b.step();
}
