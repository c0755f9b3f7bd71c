//! Swing: partners on a ring that come from both sides in turn, so that they are nearer than those of recursive doubling.
//!
//! In step s an even position goes ρ(s) on and an odd one ρ(s) back, with ρ(s) = 1 − 2 + 4 − … ± 2^s: 1, −1, 3, −5, 11. Of
//! n = 2^e positions, e steps bring each together with all others. (De Sensi and others 2024.)

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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn distances_swing() {
        assert_eq!([0, 1, 2, 3, 4].map(rho), [1, -1, 3, -5, 11]);
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
