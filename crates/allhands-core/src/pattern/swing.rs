//! Swing: partners on a ring that come from both sides in turn, so that they are nearer than those of recursive doubling.
//!
//! In step s an even position goes ρ(s) on and an odd one ρ(s) back, with ρ(s) = 1 − 2 + 4 − … ± 2^s: 1, −1, 3, −5, 11. Of
//! n = 2^e positions, e steps bring each together with all others. (De Sensi and others 2024.)

use crate::machine::Torus;
use alloc::vec::Vec;

/// The partner of `position` on a ring of `n`, a power of two, in step `step`; the other way round if `mirrored`.
#[must_use]
pub fn partner(n: u32, position: u32, step: u32, mirrored: bool) -> u32 {
    let forward = position.is_multiple_of(2) != mirrored;
    let by = if forward { rho(step) } else { -rho(step) };
    (i64::from(position) + by).rem_euclid(i64::from(n)) as u32
}

/// Which half of what is left a position has after step `step`: its partner in that step has the other one, and all with whom it
/// meets later the same.
#[must_use]
pub fn half(n: u32, position: u32, step: u32, mirrored: bool) -> u32 {
    if n >> (step + 1) <= 1 {
        return position % 2;
    }
    // Even positions that meet later are 2^(step + 2) apart; an odd one stands where its even partner of the next step does.
    let even = match position % 2 {
        0 => i64::from(position),
        _ if mirrored => i64::from(position) + rho(step + 1),
        _ => i64::from(position) - rho(step + 1),
    };
    (even >> (step + 1) & 1) as u32
}

/// ρ(s) = (1 − (−2)^(s + 1)) / 3.
fn rho(step: u32) -> i64 {
    (1 - (-2i64).pow(step + 1)) / 3
}

/// A rank's part in a step: with whom it exchanges, and which halves of what is left of a vector with a block for each rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The rank that it meets.
    pub peer: u32,
    /// The first block of the half that it keeps.
    pub mine: u32,
    /// The first block of the half that the peer keeps.
    pub other: u32,
    /// The blocks of a half.
    pub blocks: u32,
}

/// The meetings of `rank` on a torus of powers of two: dimensions take turns from `first` on, as long as each has steps left.
#[must_use]
pub fn meetings(torus: &Torus, rank: u32, first: usize, mirrored: bool) -> Vec<Meeting> {
    let left = torus.extents().map(u32::ilog2);
    let longest = left.into_iter().max().unwrap_or(0);
    let in_turn = |step| (0..3).map(move |turn| ((first + turn) % 3, step));
    let steps = (0..longest).flat_map(in_turn);
    let at = torus.coordinates(rank);
    let (mut start, mut blocks) = (0, torus.ranks());
    let meeting = |(d, step): (usize, u32)| {
        let n = torus.extents()[d];
        let peer = torus.moved(rank, d, partner(n, at[d], step, mirrored));
        blocks /= 2;
        let kept = half(n, at[d], step, mirrored);
        let other = start + (1 - kept) * blocks;
        start += kept * blocks;
        Meeting {
            peer,
            mine: start,
            other,
            blocks,
        }
    };
    let steps = steps.filter(|(d, step)| *step < left[*d]);
    steps.map(meeting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn distances_swing() {
        assert_eq!([0, 1, 2, 3, 4].map(rho), [1, -1, 3, -5, 11]);
    }

    #[test]
    fn who_meets_keeps_what_the_other_gives_away() {
        let torus = Torus::new([4, 2, 8], [true; 3]).expect("it is one");
        for (first, mirrored) in (0..3).flat_map(|d| [(d, false), (d, true)]) {
            let of = |rank| meetings(&torus, rank, first, mirrored);
            let mut kept = BTreeSet::new();
            for rank in 0..torus.ranks() {
                for (step, meeting) in of(rank).iter().enumerate() {
                    let there = of(meeting.peer)[step];
                    assert_eq!(there.peer, rank);
                    assert_eq!((there.mine, there.other), (meeting.other, meeting.mine));
                }
                let last = of(rank)[5];
                assert_eq!(last.blocks, 1);
                kept.insert(last.mine);
            }
            assert_eq!(kept.len(), torus.ranks() as usize);
        }
    }

    #[test]
    fn partners_are_each_others_and_have_the_other_half() {
        for e in 1..8 {
            let n = 1 << e;
            for (mirrored, step) in [false, true]
                .into_iter()
                .flat_map(|m| (0..e).map(move |s| (m, s)))
            {
                for position in 0..n {
                    let other = partner(n, position, step, mirrored);
                    assert_ne!(other, position);
                    assert_eq!(partner(n, other, step, mirrored), position);
                    let halves = |at| (0..step).map(move |s| half(n, at, s, mirrored));
                    assert!(halves(position).eq(halves(other)));
                    let last = half(n, position, step, mirrored);
                    assert_eq!(last + half(n, other, step, mirrored), 1);
                }
            }
            let codes = |at| (0..e).fold(0, |code, s| 2 * code + half(n, at, s, false));
            assert_eq!(
                (0..n).map(codes).collect::<BTreeSet<u32>>().len(),
                n as usize
            );
        }
    }
}
