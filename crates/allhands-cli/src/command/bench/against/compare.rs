//! The comparison of a cell's times with earlier ones: their ratio, its interval, and how likely it is if nothing has changed.
//!
//! Logarithms of medians are compared, of rounds where there are some: one that was disturbed does not count for much. What varies is mostly how long a call takes after one start of the ranks and after the next,
//! and that is known from the rounds that were measured now: its variance is taken to be the larger of the cell's own and of the middle
//! one of all cells of as many ranks and bytes, as the five rounds of one cell may be alike by chance. Where the earlier file has
//! rounds, too, both count; where it has none it is one round itself, and what its median is uncertain by comes on top: 1.25/1.35 of the
//! distance of the quartiles by the root of the number of calls (McGill, Tukey, Larsen, *Variations of box plots*, 1978).

use super::super::cell::Record;
use super::super::rounds::middle;
use super::student;
use serde::Serialize;
use std::collections::BTreeMap;

/// What an interval is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The rounds of both.
    Rounds,
    /// The rounds of now, and the quartiles of then.
    Quartiles,
}

/// How a time compares with an earlier one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The time now by that of then.
    pub ratio: f64,
    /// The ends of its interval, which has the true one in 95 of 100 cases.
    pub low: f64,
    pub high: f64,
    pub basis: Basis,
    /// How likely a ratio so large is if it takes no longer than is tolerated …
    pub slower: f64,
    /// … and one so small, if it is no faster than by as much.
    pub faster: f64,
}

/// How much rounds differ, by ranks and bytes: the variance of the logarithms of their times, and its degrees of freedom.
#[derive(Debug, Default)]
pub struct Variances(BTreeMap<(u32, usize), (f64, usize)>);

impl Variances {
    /// That of these cells: the middle one of theirs, as few that are wild say nothing of the others.
    pub fn of<'a>(records: impl Iterator<Item = &'a Record>) -> Variances {
        let mut all: BTreeMap<(u32, usize), (Vec<f64>, usize)> = BTreeMap::new();
        for record in records {
            let (squares, freedom) = squares(&record.rounds_us);
            if freedom > 0 {
                let of_size = all.entry((record.ranks, record.bytes)).or_default();
                // The median of variances is less than their mean (Wilson and Hilferty 1931).
                let median = (1.0 - 2.0 / (9.0 * freedom as f64)).powi(3);
                of_size.0.push(squares / freedom as f64 / median);
                of_size.1 += freedom;
            }
        }
        let middle = |(mut own, freedom): (Vec<f64>, usize)| (middle(&mut own), freedom);
        let all = all.into_iter().map(|(size, own)| (size, middle(own)));
        Variances(all.collect())
    }
}

/// The sum of squares of the logarithms around their mean, and its degrees of freedom.
fn squares(times_us: &[f64]) -> (f64, usize) {
    let mean = times_us.iter().map(|us| us.ln()).sum::<f64>() / times_us.len() as f64;
    let squares = times_us.iter().map(|us| (us.ln() - mean).powi(2));
    (squares.sum(), times_us.len().saturating_sub(1))
}

/// The part of the rounds' variance that their median has: of many rounds π/2 times what their mean has.
fn of_median(rounds: usize) -> f64 {
    let more = if rounds > 2 {
        std::f64::consts::FRAC_PI_2
    } else {
        1.0
    };
    more / rounds as f64
}

/// Compares what was measured now, in two rounds or more, with then; `tolerance` is the part by which a time may differ and be the
/// same. Nothing, where there is too little to compare.
pub fn compare(
    old: &Record,
    new: &Record,
    variances: &Variances,
    tolerance: f64,
) -> Option<Comparison> {
    /// The clock's step, in microseconds: nobody knows a time better.
    const STEP_US: f64 = 0.001;
    let positive = |times: &[f64]| times.iter().all(|us| us.is_finite() && *us > 0.0);
    let (then_us, now_us) = (&old.rounds_us, &new.rounds_us);
    let is_whole = positive(&[old.median_us]) && positive(then_us) && positive(now_us);
    if !is_whole || now_us.len() < 2 || !new.correct {
        return None;
    }
    let (mut sum, mut freedom) = squares(now_us);
    let (basis, of_then, own) = match then_us.len() {
        0 | 1 => {
            let distance = (old.q3_us - old.q1_us).max(STEP_US) / old.median_us;
            let error = 1.25 / 1.35 * distance / (old.iterations as f64).sqrt();
            let error = if error.is_finite() {
                error
            } else {
                return None;
            };
            (Basis::Quartiles, 1.0, error * error)
        }
        rounds => {
            let (more, further) = squares(then_us);
            (sum, freedom) = (sum + more, freedom + further);
            (Basis::Rounds, of_median(rounds), 0.0)
        }
    };
    let mut variance = sum / freedom as f64;
    if let Some((of_all, freedom_of_all)) = variances.0.get(&(new.ranks, new.bytes)) {
        variance = variance.max(*of_all);
        freedom = freedom.max(*freedom_of_all);
    }
    let step = STEP_US / old.median_us.min(new.median_us);
    let variance = variance.max(step * step / 12.0);
    let error = (variance * (of_median(now_us.len()) + of_then) + own).sqrt();
    let log = (new.median_us / old.median_us).ln();
    let half = student::exceeded(0.025, freedom) * error;
    let least = tolerance.ln_1p();
    Some(Comparison {
        ratio: log.exp(),
        low: (log - half).exp(),
        high: (log + half).exp(),
        basis,
        slower: student::above((log - least) / error, freedom),
        faster: student::above((-log - least) / error, freedom),
    })
}

/// Which of so many probabilities are small although there are so many (Holm, *A simple sequentially rejective multiple test
/// procedure*, 1979): that any of those is so by chance alone happens in `often` of all cases at most.
pub fn holm(probabilities: &[f64], often: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut small = vec![false; probabilities.len()];
    for (place, at) in order.iter().enumerate() {
        if probabilities[*at] * (probabilities.len() - place) as f64 > often {
            break;
        }
        small[*at] = true;
    }
    small
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A record of an allreduce of 64 bytes among two ranks.
    pub fn record(median_us: f64, quartiles_us: [f64; 2], rounds_us: &[f64]) -> Record {
        let text = r#"{"collective": "allreduce", "algorithm": "ring", "ranks": 2, "bytes": 64, "total_bytes": 64, "root": 0,
            "iterations": 400, "min_us": 1, "median_us": 1, "p99_us": 1, "q1_us": 1, "q3_us": 1, "rank_min_us": 1,
            "rank_avg_us": 1, "rank_max_us": 1, "correct": true, "transport": "shm", "machine": "m", "version": "0.1.0"}"#;
        let record: Record = serde_json::from_str(text).expect("it is a record");
        Record {
            median_us,
            q1_us: quartiles_us[0],
            q3_us: quartiles_us[1],
            rounds_us: rounds_us.to_vec(),
            ..record
        }
    }

    #[test]
    fn rounds_of_both_are_compared_by_students_t() {
        let then = record(10.0, [9.0, 11.0], &[9.0, 10.0, 11.0]);
        let now = record(20.0, [18.0, 22.0], &[18.0, 20.0, 22.0]);
        let found = compare(&then, &now, &Variances::default(), 0.0).expect("it can be compared");
        assert_eq!(found.basis, Basis::Rounds);
        assert!((found.ratio - 2.0).abs() < 1e-12);
        // Of logarithms 2.1972, 2.3026, 2.3979 the variance is 0.010076; its root times the root of π/3 is 0.10272, and t of 4
        // degrees of freedom 2.776.
        let half = 2.776_f64 * 0.102_72;
        assert!((found.low - 2.0 * (-half).exp()).abs() < 1e-3, "{found:?}");
        assert!((found.high - 2.0 * half.exp()).abs() < 1e-3, "{found:?}");
        // t is ln 2 / 0.10272 = 6.748.
        assert!((found.slower - student::above(6.748, 4)).abs() < 1e-6);
        assert!((found.slower + found.faster - 1.0).abs() < 1e-9);
    }

    #[test]
    fn without_earlier_rounds_quartiles_stand_for_them() {
        let then = record(10.0, [9.0, 11.0], &[]);
        let now = record(10.0, [9.0, 11.0], &[10.0, 10.0]);
        // The variance of other cells of that size: 0.01, when their median is made a mean.
        let own = 0.02 * (7.0_f64 / 9.0).powi(3);
        let others = record(1.0, [1.0, 1.0], &[1.0, own.sqrt().exp()]);
        let variances = Variances::of([&others, &others].into_iter());
        let found = compare(&then, &now, &variances, 0.0).expect("it can be compared");
        assert_eq!(found.basis, Basis::Quartiles);
        // 1.25/1.35 · 0.2 / 20, and 0.01 · (1/2 + 1); t of 2 degrees of freedom is 4.303.
        let own = 1.25 / 1.35 * 0.01;
        let half = 4.3027 * (own * own + 0.015_f64).sqrt();
        assert!((found.high - half.exp()).abs() < 1e-3, "{found:?}");
        assert!((found.slower - 0.5).abs() < 1e-9);
    }

    #[test]
    fn what_is_tolerated_is_no_regression_and_what_cannot_be_compared_is_not() {
        let then = record(10.0, [9.9, 10.1], &[10.0, 10.01, 9.99]);
        let now = record(10.4, [10.3, 10.5], &[10.4, 10.41, 10.39]);
        let of = |tolerance| compare(&then, &now, &Variances::default(), tolerance);
        assert!(of(0.0).expect("it can be").slower < 1e-4);
        assert!(of(0.05).expect("it can be").slower > 0.99);
        let none = Variances::default();
        let once = record(10.0, [9.0, 11.0], &[]);
        assert_eq!(compare(&then, &once, &none, 0.0), None);
        let nothing = record(f64::NAN, [f64::NAN; 2], &[]);
        assert_eq!(compare(&nothing, &now, &none, 0.0), None);
    }

    #[test]
    fn holm_asks_more_of_the_least_likely() {
        // 0.01 · 4 and 0.013 · 3 are less than 0.05, 0.03 · 2 is not, and what comes behind it is not asked.
        let found = holm(&[0.03, 0.01, 0.04, 0.013], 0.05);
        assert_eq!(found, [false, true, false, true]);
        assert_eq!(holm(&[], 0.05), Vec::<bool>::new());
        assert_eq!(holm(&[0.04], 0.05), [true]);
    }
}
