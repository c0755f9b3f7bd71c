//! Permutations: a random order of the ranks that every rank computes alike.

use alloc::vec::Vec;

/// The ranks 0..`p` in a random order, a function of `seed` alone (Fisher and Yates' shuffle of SplitMix64's numbers).
#[must_use]
pub fn permutation(p: u32, seed: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..p).collect();
    let mut state = u64::from(seed);
    for end in (1..order.len()).rev() {
        let other = below(&mut state, end as u64 + 1) as usize;
        order.swap(end, other);
    }
    order
}

/// A number below `limit`, all of which come equally often but for 2⁻³² of them: the upper half of a product (Lemire 2019).
fn below(state: &mut u64, limit: u64) -> u64 {
    ((next(state) >> 32) * limit) >> 32
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_stands_in_it_once() {
        for p in 0..70 {
            for seed in 0..5 {
                let mut order = permutation(p, seed);
                assert_eq!(order, permutation(p, seed));
                order.sort_unstable();
                assert!(order.into_iter().eq(0..p));
            }
        }
    }

    #[test]
    fn seeds_differ() {
        assert_ne!(permutation(64, 1), permutation(64, 2));
        assert!(!permutation(64, 1).into_iter().eq(0..64));
    }

    #[test]
    fn all_orders_come_about_equally_often() {
        let mut seen = [0; 27];
        for seed in 0..6000 {
            let order = permutation(3, seed);
            seen[(order[0] * 9 + order[1] * 3 + order[2]) as usize] += 1;
        }
        let seen: Vec<i32> = seen.into_iter().filter(|n| *n > 0).collect();
        assert_eq!(seen.len(), 6);
        assert!(seen.iter().all(|n| (850..1150).contains(n)), "{seen:?}");
    }
}
