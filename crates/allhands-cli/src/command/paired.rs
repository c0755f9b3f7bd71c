//! Paired rounds: several sequences of calls measured by turns, so that what disturbs the machine disturbs all of them.

use super::bench::cell::{self, Among, By, Cell, Least};
use anyhow::{Context, ensure};
use std::time::{Duration, Instant};

/// What is measured by turns.
pub struct Runner {
    pub calls: Vec<Cell>,
    pub by: By,
    /// The median of each round, in microseconds.
    pub rounds_us: Vec<f64>,
}

impl Runner {
    /// Calls that have not been measured yet.
    pub fn new(calls: Vec<Cell>, by: By) -> Runner {
        let rounds_us = Vec::new();
        Runner {
            calls,
            by,
            rounds_us,
        }
    }

    /// The median of the medians of rounds from `first` on, of which `step - 1` are left out between two.
    pub fn us(&self, first: usize, step: usize) -> f64 {
        median(self.rounds_us.iter().copied().skip(first).step_by(step))
    }
}

/// One round of all: each is measured for its share of `share`, by `least` calls at least.
///
/// # Errors
/// What failed, and why.
pub fn round(
    runners: &mut [Runner],
    among: &mut Among,
    (share, least): (Duration, Least),
) -> anyhow::Result<()> {
    let each = share / runners.len().max(1) as u32;
    for runner in runners {
        let record = cell::measure_calls((&runner.calls, runner.by), among, (each, least));
        let name = || runner.calls[0].name();
        if let Some(why) = &record.failure {
            anyhow::bail!("{} {}: {why}", record.collective, name());
        }
        ensure!(record.iterations > 0, "{}: nothing was measured", name());
        runner.rounds_us.push(record.median_us);
    }
    Ok(())
}

/// Rounds until about `budget` is over, of which there are `fewest` at least, each by `least` calls of everything at least; all ranks make as
/// many.
///
/// # Errors
/// What failed, and why.
pub fn rounds(
    runners: &mut [Runner],
    among: &mut Among,
    (budget, fewest, most): (Duration, usize, usize),
    least: Least,
) -> anyhow::Result<()> {
    let begin = Instant::now();
    for at in 0..most {
        let left = budget.saturating_sub(begin.elapsed());
        let goes_on = agreed(among, at < fewest || !left.is_zero())?;
        if !goes_on {
            break;
        }
        let share = budget / most as u32;
        round(runners, among, (share, least))?;
    }
    Ok(())
}

/// What rank 0 says.
///
/// # Errors
/// What keeps it from saying so.
pub fn agreed(among: &Among, own: bool) -> anyhow::Result<bool> {
    Ok(agreed_place(among, usize::from(own))? > 0)
}

/// Where something is in an order, as rank 0 has it.
///
/// # Errors
/// What keeps it from saying so.
pub fn agreed_place(among: &Among, own: usize) -> anyhow::Result<usize> {
    let mut said = [own as u64];
    among.comm.broadcast(&mut said, 0)?;
    Ok(said[0] as usize)
}

/// The median; not a number of nothing.
pub fn median(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    match times.len() {
        0 => f64::NAN,
        many if many % 2 == 0 => (times[middle - 1] + times[middle]) / 2.0,
        _ => times[middle],
    }
}

/// How many times as long one takes as another, round by round, and the interval that has it in 95 of 100 cases: of few rounds the
/// geometric mean (Student's t of the logarithms), of six and more the pseudomedian (Hodges and Lehmann 1963, by Wilcoxon's signed ranks), as one
/// round that was disturbed makes a mean of any number of them uncertain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub middle: f64,
    pub least: f64,
    pub most: f64,
}

/// Two-sided 97.5 % quantiles of Student's t by degrees of freedom, from 1 on; beyond, that of the normal distribution.
const T: [f64; 20] = [
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13,
    2.12, 2.11, 2.10, 2.09, 2.09,
];

/// Wilcoxon's signed ranks of six pairs and more: the greatest sum that 25 of 1000 cases have, or fewer; beyond, that of the normal
/// distribution.
const W: [usize; 15] = [0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 29, 34, 40, 46, 52];
const FEWEST_RANKS: usize = 6;

/// The ratio of paired times.
///
/// # Errors
/// That there are fewer than two pairs.
pub fn ratio(pairs: impl Iterator<Item = (f64, f64)>) -> anyhow::Result<Ratio> {
    let logs: Vec<f64> = pairs.map(|(one, other)| (one / other).ln()).collect();
    if let Some(more) = logs.len().checked_sub(FEWEST_RANKS) {
        return Ok(by_ranks(&logs, W.get(more).copied()));
    }
    let many = logs.len() as f64;
    let freedom = logs.len().checked_sub(2).context("two rounds at least")?;
    let mean = logs.iter().sum::<f64>() / many;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let error = (squares / (many - 1.0) / many).sqrt();
    let half = error * T.get(freedom).copied().unwrap_or(1.96);
    Ok(Ratio {
        middle: mean.exp(),
        least: (mean - half).exp(),
        most: (mean + half).exp(),
    })
}

/// The ratio by the means of any two of the logarithms, of which so many are left out at each end.
fn by_ranks(logs: &[f64], left_out: Option<usize>) -> Ratio {
    let each = logs.iter().enumerate();
    let two = each.flat_map(|(at, one)| logs[at..].iter().map(move |other| (one + other) / 2.0));
    let mut means: Vec<f64> = two.collect();
    means.sort_by(f64::total_cmp);
    let many = logs.len() as f64;
    let normal = || {
        let deviation = (many * (many + 1.0) * (2.0 * many + 1.0) / 24.0).sqrt();
        (many * (many + 1.0) / 4.0 - 1.96 * deviation) as usize
    };
    let left_out = left_out.unwrap_or_else(normal);
    Ratio {
        middle: median(means.iter().copied()).exp(),
        least: means[left_out].exp(),
        most: means[means.len() - 1 - left_out].exp(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_pairs() {
        let same = [(1.0, 1.0), (5.0, 5.0), (2.0, 2.0)];
        let one = ratio(same.into_iter()).expect("there are pairs");
        assert_eq!((one.middle, one.least, one.most), (1.0, 1.0, 1.0));
        // Each round is twice as slow as the one before, for both.
        let double = [(2.2, 1.0), (3.8, 2.0), (8.4, 4.0), (15.6, 8.0)];
        let two = ratio(double.into_iter()).expect("there are pairs");
        assert!((two.middle - 2.034).abs() < 0.001, "{two:?}");
        assert!(two.least > 1.8 && two.most < 2.3, "{two:?}");
        assert!(ratio([(1.0, 1.0)].into_iter()).is_err());
    }

    #[test]
    fn a_round_that_was_disturbed_makes_no_ratio_uncertain() {
        let mut pairs = [1.3, 1.4, 1.5, 1.35, 1.45, 1.5, 1.4, 1.3].map(|time| (time, 1.0));
        let found = ratio(pairs.into_iter()).expect("there are pairs");
        assert!(found.least > 1.3 && found.most < 1.5, "{found:?}");
        pairs[3].0 = 40.0;
        let found = ratio(pairs.into_iter()).expect("there are pairs");
        assert!(found.least > 1.3 && found.middle < 1.6, "{found:?}");
        // Of twenty rounds and more as well, where it is the other that was disturbed.
        let many = (0..24).map(|at| (1.2 + f64::from(at % 5) * 0.05, 1.0));
        let many = many.chain([(1.3, 20.0)]);
        let found = ratio(many).expect("there are pairs");
        assert!(found.least > 1.2 && found.most < 1.4, "{found:?}");
        // Of six none may be the other way round.
        let six = [1.3, 1.4, 1.5, 1.35, 1.45, 0.9].map(|time| (time, 1.0));
        assert!(ratio(six.into_iter()).expect("there are pairs").least < 1.0);
    }

    #[test]
    fn medians_are_of_every_other_round() {
        let mut runner = Runner::new(Vec::new(), By::Policy);
        runner.rounds_us = vec![1.0, 10.0, 3.0, 30.0, 2.0];
        assert_eq!(runner.us(0, 2), 2.0);
        assert_eq!(runner.us(1, 2), 20.0);
        assert!(median(std::iter::empty()).is_nan());
    }
}
