//! Statistics of turns: medians, the interval of a median, geometric means.

use serde::Serialize;

/// The fewest rounds whose median has a 95 % interval.
pub const LEAST_ROUNDS: usize = 6;

/// A median of rounds with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The interval's ends.
    pub interval: [f64; 2],
}

/// The value below which the share `q` of them lies, the nearest of them; NaN where there is none.
#[must_use]
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 - 1.0) * q;
    sorted.get(at.round() as usize).copied().unwrap_or(f64::NAN)
}

/// The middle value, or the mean of the two in the middle; NaN where there is none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[half],
        _ => f64::midpoint(sorted[half - 1], sorted[half]),
    }
}

/// The median with an interval that no assumption on the distribution stands behind: two of the sorted values, as far
/// inside as they cover the true median with at least 95 % (how many values lie below it is binomial, one half each).
#[must_use]
pub fn estimate(values: &[f64]) -> Estimate {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = trimmed(sorted.len());
    let end = |at: Option<&f64>| at.copied().unwrap_or(f64::NAN);
    let low = end(sorted.get(cut));
    let high = end(sorted.iter().rev().nth(cut));
    Estimate {
        median: median(&sorted),
        interval: [low, high],
    }
}

/// Student's t for 95 %, by the degrees of freedom from 1 on.
const STUDENT: [f64; 4] = [12.706, 4.303, 3.182, 2.776];

/// The same of few ratios, each of a pair of turns that are medians themselves: with too few for [`estimate`] the geometric mean with
/// Student's interval of the logarithms; of one ratio nothing is known but itself.
#[must_use]
pub fn estimate_of_pairs(ratios: &[f64]) -> Estimate {
    let count = ratios.len();
    if count == 0 || count >= LEAST_ROUNDS {
        return estimate(ratios);
    }
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let mean = logs.iter().sum::<f64>() / count as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let half = match count.checked_sub(2).and_then(|at| STUDENT.get(at)) {
        Some(t) => t * (squares / (count - 1) as f64 / count as f64).sqrt(),
        None => f64::INFINITY,
    };
    Estimate {
        median: mean.exp(),
        interval: [(mean - half).exp(), (mean + half).exp()],
    }
}

/// How many values may be left out at each end.
fn trimmed(count: usize) -> usize {
    let mut outcomes = 1.0;
    let mut outside = 0.0;
    let all = 2f64.powi(count as i32);
    for below in 0..count {
        outside += outcomes;
        if 2.0 * outside / all > 0.05 {
            return below.saturating_sub(1);
        }
        outcomes *= (count - below) as f64 / (below + 1) as f64;
    }
    0
}

/// The geometric mean; NaN where there is none.
#[must_use]
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0, 0.0), |(n, sum), value| (n + 1, sum + value.ln()));
    (sum / f64::from(count)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_quantiles_are_those_of_sorted_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        let hundred: Vec<f64> = (0..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(&hundred, 0.99), 99.0);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_printed_tables() {
        // The ranks, counted from 1, that tables of the sign test print for 95 %.
        for (count, low) in [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6)] {
            assert_eq!(trimmed(count) + 1, low, "{count} rounds");
        }
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        let expected = Estimate {
            median: 5.0,
            interval: [2.0, 8.0],
        };
        assert_eq!(estimate(&nine), expected);
    }

    #[test]
    fn fewer_rounds_than_the_least_cannot_reach_95_percent() {
        let all_inside = |count: usize| 1.0 - 2.0 / 2f64.powi(count as i32);
        assert!(all_inside(LEAST_ROUNDS) >= 0.95);
        assert!(all_inside(LEAST_ROUNDS - 1) < 0.95);
    }

    #[test]
    fn few_pairs_have_the_interval_of_students_t() {
        // Logarithms 0, 1 and 2: their mean is 1, its error 1 by the root of 3.
        let three: Vec<f64> = (0..3).map(|log| f64::from(log).exp()).collect();
        let Estimate { median, interval } = estimate_of_pairs(&three);
        assert!((median.ln() - 1.0).abs() < 1e-12);
        let half = 4.303 / 3f64.sqrt();
        assert!((interval[0].ln() - (1.0 - half)).abs() < 1e-9);
        assert!((interval[1].ln() - (1.0 + half)).abs() < 1e-9);
        assert_eq!(
            estimate_of_pairs(&[2.0, 2.0]).interval[0],
            estimate_of_pairs(&[2.0, 2.0]).median
        );
        let one = estimate_of_pairs(&[0.5]);
        assert_eq!((one.median, one.interval), (0.5, [0.0, f64::INFINITY]));
        let six = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(estimate_of_pairs(&six), estimate(&six));
    }

    #[test]
    fn a_geometric_mean_weighs_twice_and_half_alike() {
        assert!((geometric_mean([2.0, 0.5].into_iter()) - 1.0).abs() < 1e-12);
        assert!(geometric_mean(std::iter::empty()).is_nan());
    }
}
