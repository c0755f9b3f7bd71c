//! The pace: how long each cell may take, so that all of them end in time on any machine.
//!
//! A cell cannot take less than the two calls that it is worth nothing without; how long these take, a guess says, which is
//! corrected by what such cells took on this machine. What cells that come later need is kept for them; the rest is shared.

use super::cell::{Least, Record};
use std::time::{Duration, Instant};

/// What has not begun after so many times the budget, and this many seconds, is left out.
const SLACK: f64 = 1.2;
const SLACK_S: f64 = 1.0;

/// Time for all cells.
pub struct Pace {
    start: Instant,
    budget: f64,
    /// The guess of the least that each cell takes, in seconds, of those that are to come in reverse order.
    to_come: Vec<f64>,
    /// The sum of these.
    sum: f64,
    /// The seconds of all guesses that were followed by a cell, and of what these cells would have taken with two calls.
    learned: [f64; 2],
    /// By how much guesses are wrong here.
    factor: f64,
}

impl Pace {
    /// `least` is a guess of the least seconds of each cell.
    pub fn new(budget: Duration, least: impl DoubleEndedIterator<Item = f64>) -> Pace {
        let to_come: Vec<f64> = least.rev().collect();
        Pace {
            start: Instant::now(),
            budget: budget.as_secs_f64(),
            sum: to_come.iter().sum(),
            to_come,
            learned: [0.0; 2],
            factor: 1.0,
        }
    }

    /// How long the next cell may take; `None` if the time has long been up.
    pub fn next(&mut self) -> Option<Duration> {
        self.next_at(self.start.elapsed().as_secs_f64())
    }

    fn next_at(&mut self, elapsed: f64) -> Option<Duration> {
        let cells = self.to_come.len();
        let own = self.to_come.pop()?;
        let left = self.budget - elapsed;
        let spare = left - self.factor * self.sum;
        self.sum -= own;
        let share = self.factor * own + spare / cells as f64;
        let is_time = elapsed < SLACK * self.budget + SLACK_S;
        is_time.then(|| Duration::from_secs_f64(share.max(0.0)))
    }

    /// Learns from a cell of which two calls take `took`, of which the guess was `least` seconds.
    pub fn learn(&mut self, least: f64, took: Duration) {
        /// Shorter ones are mostly the starting of threads.
        const TELLING: f64 = 0.01;
        let took = took.as_secs_f64();
        if took >= TELLING {
            self.learned[0] += least;
            self.learned[1] += took;
            // The long ones, which tell most, count most.
            self.factor = self.learned[1] / self.learned[0];
        }
    }
}

/// How long two calls of a cell take, the least that one needs, by how long all of its calls took: those that count, and one before them.
pub fn two_calls(record: &Record, took: Duration) -> Duration {
    took * Least::One.iterations() as u32 / (1 + record.iterations) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When cells end whose two calls take `slow` times the guess, and which take all the time they are given.
    fn end(budget: f64, guesses: &[f64], slow: f64) -> (f64, usize) {
        let mut pace = Pace::new(Duration::from_secs_f64(budget), guesses.iter().copied());
        let (mut elapsed, mut measured) = (0.0, 0);
        for guess in guesses {
            let Some(share) = pace.next_at(elapsed) else {
                break;
            };
            let least = guess * slow;
            let share = share.as_secs_f64();
            pace.learn(*guess, Duration::from_secs_f64(least));
            elapsed += share.max(least);
            measured += 1;
        }
        (elapsed, measured)
    }

    #[test]
    fn the_time_is_kept_on_fast_and_slow_machines() {
        let guesses: Vec<f64> = (0..700).map(|i| [0.002, 0.01, 0.1][i % 3]).collect();
        for slow in [0.1, 1.0, 2.0, 3.0] {
            let (end, measured) = end(100.0, &guesses, slow);
            assert!(end < 101.0, "{slow}: {end}");
            assert_eq!(measured, 700, "{slow}");
        }
        // Where even two calls each are too much, the last cells are left out.
        let (end, measured) = end(100.0, &guesses, 10.0);
        assert!(
            end < 123.0 && (200..700).contains(&measured),
            "{end} {measured}"
        );
    }
}
