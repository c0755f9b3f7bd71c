//! Quiet: whether anything else runs on the machine, and the patience to wait until nothing does.
//!
//! Between turns all groups sleep, so whatever is runnable besides the conductor is foreign. A turn that is not quiet
//! before and after is worth little: a compiler at the same time makes a library that sleeps while it waits slower a
//! hundredfold, and one that spins a fewfold.

use std::fs;
use std::time::{Duration, Instant};

/// How long ranks may take to fall asleep after a turn.
const SETTLE: Duration = Duration::from_millis(1);
/// How often to look.
const LOOK: Duration = Duration::from_millis(20);
/// How often one turn may be repeated.
const REPEATS: usize = 3;

/// What is left of the patience, and what came of it.
#[derive(Debug)]
pub struct Quiet {
    patience: Duration,
    /// Turns that count.
    turns: usize,
    /// Those of them that were disturbed.
    disturbed: usize,
}

impl Quiet {
    /// Patience to wait for so long in all.
    pub fn new(patience: Duration) -> Self {
        Self {
            patience,
            turns: 0,
            disturbed: 0,
        }
    }

    /// Takes a turn when it is quiet, and again when it was not until the end; gives the time that was lost besides.
    pub fn during<T, E>(
        &mut self,
        mut turn: impl FnMut() -> Result<T, E>,
        has_to_end: impl Fn() -> bool,
    ) -> (Result<T, E>, Duration) {
        let before = self.patience;
        self.turns += 1;
        for repeat in 0.. {
            let begun_quiet = self.wait(&has_to_end);
            let start = Instant::now();
            let result = turn();
            std::thread::sleep(SETTLE);
            let is_quiet = begun_quiet && is_quiet();
            if is_quiet || result.is_err() || repeat == REPEATS || self.patience.is_zero() {
                self.disturbed += usize::from(!is_quiet);
                return (result, before - self.patience);
            }
            self.patience = self.patience.saturating_sub(start.elapsed());
        }
        unreachable!("the loop ends by its repeats");
    }

    /// Waits until nothing else runs; whether that came true.
    fn wait(&mut self, has_to_end: impl Fn() -> bool) -> bool {
        let start = Instant::now();
        while !is_quiet() {
            if start.elapsed() >= self.patience || has_to_end() {
                self.patience = self.patience.saturating_sub(start.elapsed());
                return false;
            }
            std::thread::sleep(LOOK);
        }
        self.patience = self.patience.saturating_sub(start.elapsed());
        true
    }

    /// What to tell the user.
    pub fn verdict(&self) -> String {
        let share = self.disturbed as f64 / self.turns.max(1) as f64;
        match self.disturbed {
            0 => format!("all {} turns were quiet: nothing else ran", self.turns),
            disturbed => format!(
                "WARNING: {disturbed} of {} turns ({:.0} %) were disturbed by other processes; measure on a quiet machine",
                self.turns,
                100.0 * share
            ),
        }
    }
}

fn is_quiet() -> bool {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    running(&load).is_none_or(|running| running <= 1)
}

/// How many threads are runnable, the reader among them: `2` of `0.01 0.05 0.03 2/81 512`.
fn running(load: &str) -> Option<usize> {
    let counts = load.split_whitespace().nth(3)?;
    counts.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runnable_are_the_first_of_the_fourth_field() {
        assert_eq!(running("3.21 2.00 1.00 7/123 4567\n"), Some(7));
        assert_eq!(running(""), None);
    }

    #[test]
    fn without_patience_a_turn_is_taken_once_and_without_waiting() {
        let mut quiet = Quiet::new(Duration::ZERO);
        let mut turns = 0;
        let (result, lost) = quiet.during(
            || {
                turns += 1;
                Err::<(), &str>("late")
            },
            || false,
        );
        assert_eq!((turns, result, lost), (1, Err("late"), Duration::ZERO));
        assert!(quiet.verdict().contains("turns"));
    }
}
