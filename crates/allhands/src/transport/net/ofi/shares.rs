//! Shares: which rail a message takes, or how it is cut over all of them, by a rule that both its ends evaluate alike.
//!
//! Libfabric matches a message where its receive was posted, so a receiver must know the rail before anything has come:
//!
//! ```text
//! short   all of it on one rail: each in its turn, by the message's ranks, tag and number
//! long    a part on every rail, the first on the rail whose turn it is, and as long as the rails' rates say
//! ```

use std::ops::Range;

/// The most rails of a rank.
pub(super) const MOST_RAILS: usize = 16;
/// The shortest message that is cut, as long as nothing is known of rates; and of those that are not signed: frames between two ranks
/// are no longer, but their receives have room for the longest.
const LEAST_BYTES: usize = 2 << 10;
const UNSIGNED_BYTES: usize = (8 << 10) + 1;
/// What a further part costs both ends, about, in seconds: a message is not cut that gains less.
const PART_S: f64 = 5e-6;
/// Rates count as equal that differ by less than this: so much they are off at times.
const EQUAL: f64 = 0.85;
/// A rail that is slower than this, by the fastest, carries nothing: its parts would gain less than they cost.
const LEAST_RATIO: f64 = 1.0 / 32.0;
/// All of a message.
const WHOLE: u32 = 1 << 16;
/// Parts begin at cache lines.
const LINE: usize = 64;
/// After so many messages turns begin anew.
const TURNS: usize = 16;

/// What each rail carries.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shares {
    /// By rail, of [`WHOLE`].
    of_rails: Box<[u32]>,
    turns: [u8; TURNS],
    /// The shortest message that is cut.
    least_bytes: usize,
}

impl Shares {
    /// As if all of so many rails were equal.
    pub(super) fn even(rails: usize) -> Shares {
        Shares::by_rates(&vec![1.0; rails])
    }

    /// By what each rail carries in a second, in bytes; 0 is one that carries nothing.
    pub(super) fn by_rates(rates: &[f64]) -> Shares {
        let known = |rate: f64| if rate.is_finite() { rate.max(0.0) } else { 0.0 };
        let fastest = rates.iter().fold(0.0, |most, rate| known(*rate).max(most));
        if fastest <= 0.0 {
            return Shares::even(rates.len());
        }
        let ratio = |rate: &f64| match known(*rate) / fastest {
            ratio if ratio >= EQUAL => 1.0,
            ratio if ratio < LEAST_RATIO => 0.0,
            ratio => ratio,
        };
        let ratios: Vec<f64> = rates.iter().map(ratio).collect();
        let sum: f64 = ratios.iter().sum();
        let share = |ratio: &f64| (ratio / sum * f64::from(WHOLE)) as u32;
        let mut of_rails: Box<[u32]> = ratios.iter().map(share).collect();
        // What rounding has left is the fastest's.
        let left = WHOLE - of_rails.iter().sum::<u32>();
        if let Some(first) = ratios.iter().position(|ratio| *ratio >= 1.0) {
            of_rails[first] += left;
        }
        let gain_s = (1.0 - 1.0 / sum) / fastest;
        let least = if gain_s > 0.0 {
            PART_S / gain_s
        } else {
            f64::INFINITY
        };
        Shares {
            turns: turns(&ratios),
            of_rails,
            least_bytes: (least as usize).max(LEAST_BYTES),
        }
    }

    /// The rail of a message, or of its first part.
    pub(super) fn first(&self, turn: u64) -> usize {
        self.turns[(turn % TURNS as u64) as usize].into()
    }

    /// Whether a message is cut.
    pub(super) fn cuts(&self, bytes: usize, is_signed: bool) -> bool {
        bytes >= self.least_bytes && (is_signed || bytes >= UNSIGNED_BYTES)
    }

    /// The longest message that may be whole, whoever has signed it.
    pub(super) fn most_whole(&self) -> usize {
        self.least_bytes.max(UNSIGNED_BYTES) - 1
    }

    /// The parts of a message, each with its rail, from the first on. None begins later than the same part of a longer message.
    pub(super) fn parts(
        &self,
        first: usize,
        bytes: usize,
    ) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let rails = self.of_rails.len();
        let mut before = 0;
        let all = (0..rails).map(move |at| (first + at) % rails);
        let carrying = all.filter(|rail| self.of_rails[*rail] > 0);
        carrying.map(move |rail| {
            let begin = offset(bytes, before);
            before += self.of_rails[rail];
            (rail, begin..offset(bytes, before))
        })
    }
}

/// Where a part begins that has so much before it.
fn offset(bytes: usize, before: u32) -> usize {
    if before == WHOLE {
        return bytes;
    }
    let exact = bytes as u128 * u128::from(before) / u128::from(WHOLE);
    exact as usize / LINE * LINE
}

/// Whose turn it is, so that each rail has as many as its rate says, evenly spread.
fn turns(ratios: &[f64]) -> [u8; TURNS] {
    let mut had = vec![0.0; ratios.len()];
    std::array::from_fn(|_| {
        let done = |rail: &usize| (had[*rail] + 1.0) / ratios[*rail];
        let carrying = (0..ratios.len()).filter(|rail| ratios[*rail] > 0.0);
        let next = carrying.min_by(|one, other| done(one).total_cmp(&done(other)));
        let next = next.unwrap_or(0);
        had[next] += 1.0;
        next as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(shares: &Shares, first: usize, bytes: usize) -> Vec<(usize, usize)> {
        let parts = shares.parts(first, bytes);
        parts.map(|(rail, part)| (rail, part.len())).collect()
    }

    #[test]
    fn parts_are_as_long_as_rates_say_and_leave_nothing_out() {
        let mega = 1_000_000.0;
        for (rates, right) in [
            (&[5.0][..], &[4096][..]),
            (&[1.0, 1.0], &[2048, 2048]),
            (&[6.25 * mega, 3.125 * mega], &[2752, 1344]),
            (&[1.0, 0.9, 1.0, 0.99], &[1024; 4]),
            (&[0.0, 7.0], &[0, 4096]),
            (&[100.0, 1.0], &[4096, 0]),
            (&[f64::NAN, f64::INFINITY], &[2048, 2048]),
            (&[f64::NAN, 1.0, 1.0], &[0, 2048, 2048]),
        ] {
            let shares = Shares::by_rates(rates);
            for first in (0..rates.len()).filter(|rail| right[*rail] > 0) {
                let mut found = vec![0; rates.len()];
                let parts = lengths(&shares, first, 4096);
                assert_eq!(parts[0].0, first);
                for (rail, bytes) in parts {
                    found[rail] = bytes;
                }
                let is_near = |(a, b): (&usize, &usize)| a.abs_diff(*b) <= LINE;
                assert!(found.iter().zip(right).all(is_near), "{rates:?}: {found:?}");
                assert_eq!(found.iter().sum::<usize>(), 4096);
            }
        }
    }

    #[test]
    fn no_part_begins_later_in_a_shorter_message() {
        let shares = Shares::by_rates(&[3.0, 1.0, 2.0]);
        let mut before = [0; 3];
        for bytes in 0..9000 {
            let begins: Vec<usize> = shares.parts(1, bytes).map(|(_, part)| part.start).collect();
            assert!(before.iter().zip(&begins).all(|(less, more)| less <= more));
            before = begins.try_into().unwrap();
        }
    }

    #[test]
    fn turns_are_as_many_as_rates_say() {
        let count = |rates: &[f64], rail| {
            let shares = Shares::by_rates(rates);
            (0..3 * TURNS as u64)
                .filter(|turn| shares.first(*turn) == rail)
                .count()
        };
        assert_eq!([0, 1].map(|rail| count(&[1.0, 1.0], rail)), [24, 24]);
        assert_eq!([0, 1].map(|rail| count(&[2.0, 1.0], rail)), [33, 15]);
        assert_eq!([0, 1].map(|rail| count(&[0.0, 1.0], rail)), [0, 48]);
        let shares = Shares::even(2);
        assert!((0..99).all(|turn| shares.first(turn) != shares.first(turn + 1)));
    }

    #[test]
    fn what_gains_less_than_a_part_costs_is_not_cut() {
        let even = Shares::even(2);
        assert!(!even.cuts(2047, true) && even.cuts(2048, true));
        assert!(!even.cuts(8192, false) && even.cuts(8193, false));
        // Two rails of 10 GB/s: 100 KB take 10 µs on one of them.
        let fast = Shares::by_rates(&[1e10, 1e10]);
        assert!(!fast.cuts(99_000, true) && fast.cuts(101_000, true));
        assert_eq!((even.most_whole(), fast.most_whole()), (8192, 99_999));
        for one in [Shares::even(1), Shares::by_rates(&[0.0, 5.0])] {
            assert!(!one.cuts(usize::MAX - 1, true));
        }
    }
}
