//! The pace: how long each cell may take, so that all of them end in time on any machine.
//!
//! A cell cannot take less than the two calls that it is worth nothing without; how long these take, a guess says, which is
//! corrected by what such cells took on this machine: those of short messages, and those of long ones, apart. What cells that come later
//! need, and of short calls a few more, is kept for them; the rest is shared.

use super::cell::{Least, Record};
use std::time::{Duration, Instant};

/// What has not begun after so many times the budget, and this many seconds, is left out.
const SLACK: f64 = 1.2;
const SLACK_S: f64 = 1.0;

/// A guess of the seconds that two calls of a cell take.
#[derive(Clone, Copy, Debug)]
pub struct Guess {
    /// Whatever their length: with what is around them.
    pub start_s: f64,
    /// For the bytes.
    pub bytes_s: f64,
}

impl Guess {
    fn seconds(self) -> f64 {
        self.start_s + self.bytes_s
    }

    /// How long the cell is to have: one call tells less of a cell the shorter it is.
    fn wanted_s(self) -> f64 {
        /// So many times two calls, but no longer than this.
        const MORE: f64 = 5.0;
        const MOST_S: f64 = 0.1;
        (MORE * self.seconds()).min(MOST_S).max(self.seconds())
    }

    /// Which of the two it is wrong by, for the most part.
    fn part(self) -> usize {
        usize::from(self.bytes_s > self.start_s)
    }
}

/// Time for all cells.
pub struct Pace {
    start: Instant,
    budget: f64,
    /// The guesses for the cells that are to come, in reverse order.
    to_come: Vec<Guess>,
    /// Of guesses that are short calls' and long ones'.
    parts: [Part; 2],
}

/// The guesses of one kind, in seconds.
#[derive(Clone, Copy, Default)]
struct Part {
    /// The sums of those that are to come, and of what they want.
    to_come: f64,
    wanted: f64,
    /// The sum of those that were followed by a cell, and of what these cells took with two calls.
    learned: [f64; 2],
}

impl Part {
    /// By how much guesses are wrong here.
    fn factor(&self) -> f64 {
        // The long ones, which tell most, count most.
        match self.learned {
            [guessed, took] if guessed > 0.0 => took / guessed,
            _ => 1.0,
        }
    }
}

impl Pace {
    /// `least` is a guess for each cell.
    pub fn new(budget: Duration, least: impl DoubleEndedIterator<Item = Guess>) -> Pace {
        let mut pace = Pace {
            start: Instant::now(),
            budget: budget.as_secs_f64(),
            to_come: least.rev().collect(),
            parts: [Part::default(); 2],
        };
        for guess in &pace.to_come {
            let part = &mut pace.parts[guess.part()];
            part.to_come += guess.seconds();
            part.wanted += guess.wanted_s();
        }
        pace
    }

    /// How long the next cell may take; `None` if the time has long been up.
    pub fn next(&mut self) -> Option<Duration> {
        self.next_at(self.start.elapsed().as_secs_f64())
    }

    fn next_at(&mut self, elapsed: f64) -> Option<Duration> {
        let cells = self.to_come.len();
        let own = self.to_come.pop()?;
        let all = |of: fn(&Part) -> f64| -> f64 {
            self.parts.iter().map(|part| part.factor() * of(part)).sum()
        };
        let (least, wanted) = (all(|part| part.to_come), all(|part| part.wanted));
        let left = self.budget - elapsed;
        // Nobody has what he wants before all have what they need.
        let granted = ((left - least) / (wanted - least).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let spare = (left - wanted).max(0.0);
        let part = &mut self.parts[own.part()];
        part.to_come -= own.seconds();
        part.wanted -= own.wanted_s();
        let own = own.seconds() + granted * (own.wanted_s() - own.seconds());
        let share = part.factor() * own + spare / cells as f64;
        let is_time = elapsed < SLACK * self.budget + SLACK_S;
        is_time.then(|| Duration::from_secs_f64(share.max(0.0)))
    }

    /// Learns from a cell of which two calls take `took`, for which there was this guess.
    pub fn learn(&mut self, guess: Guess, took: Duration) {
        /// Shorter ones are mostly the starting of threads.
        const TELLING: f64 = 0.01;
        let took = took.as_secs_f64();
        if took >= TELLING {
            let learned = &mut self.parts[guess.part()].learned;
            learned[0] += guess.seconds();
            learned[1] += took;
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

    /// When cells end whose two calls take `slow` times the guess, of short calls and of long ones, and which take all the time they are
    /// given, and how many are measured.
    fn end(budget: f64, guesses: &[Guess], slow: [f64; 2]) -> (f64, usize) {
        let mut pace = Pace::new(Duration::from_secs_f64(budget), guesses.iter().copied());
        let (mut elapsed, mut measured) = (0.0, 0);
        for guess in guesses {
            let Some(share) = pace.next_at(elapsed) else {
                break;
            };
            let least = guess.seconds() * slow[guess.part()];
            let share = share.as_secs_f64();
            pace.learn(*guess, Duration::from_secs_f64(least));
            elapsed += share.max(least);
            measured += 1;
        }
        (elapsed, measured)
    }

    fn guesses() -> Vec<Guess> {
        let bytes_s = |cell: usize| [0.0, 0.008, 0.098][cell % 3];
        let guess = |cell| Guess {
            start_s: 0.002,
            bytes_s: bytes_s(cell),
        };
        (0..700).map(guess).collect()
    }

    #[test]
    fn the_time_is_kept_on_fast_and_slow_machines() {
        for slow in [0.1, 1.0, 2.0, 3.0] {
            let (end, measured) = end(100.0, &guesses(), [slow; 2]);
            assert!(end < 101.0, "{slow}: {end}");
            assert_eq!(measured, 700, "{slow}");
        }
        // Where even two calls each are too much, the last cells are left out.
        let (end, measured) = end(100.0, &guesses(), [10.0; 2]);
        assert!(
            end < 123.0 && (200..700).contains(&measured),
            "{end} {measured}"
        );
    }

    #[test]
    fn short_calls_say_nothing_of_long_ones() {
        // Short ones take twenty times as long as was guessed, of which long ones know nothing.
        let mut pace = Pace::new(Duration::from_secs(100), guesses().into_iter());
        let first = pace.next_at(0.0).unwrap().as_secs_f64();
        for _ in 0..10 {
            pace.learn(guesses()[0], Duration::from_millis(40));
        }
        let second = pace.next_at(0.04).unwrap().as_secs_f64();
        // 233 short ones want 0.19 s more each, which is missing.
        let expected = first + 0.04 - 233.0 * 0.19 / 699.0;
        assert!((second - expected).abs() < 0.002, "{first} {second}");
        let (end, measured) = end(100.0, &guesses(), [20.0, 2.0]);
        assert!(end < 101.0 && measured == 700, "{end} {measured}");
    }
}
