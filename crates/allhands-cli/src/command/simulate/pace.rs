//! The pace of this machine at simulating: what the runs of this command so far took, by which to say how long the next one takes.

use crate::output;
use allhands_core::schedule::Plan;
use std::time::Duration;

/// From so many operations on a run is announced: even a fast machine needs seconds for them.
const MANY: usize = 10_000_000;

/// Runs with fewer operations in all say little of the pace.
const ENOUGH: usize = 100_000;

/// What the runs so far were, and took.
#[derive(Default)]
pub struct Pace {
    operations: usize,
    time: Duration,
}

impl Pace {
    /// How many operations a run has.
    pub fn operations(plans: &[Plan]) -> usize {
        plans.iter().map(|plan| plan.ops.len()).sum()
    }

    /// Says beforehand that a run has very many operations, and, if runs before it tell, about how long they take.
    pub fn announce(&self, what: &str, operations: usize) {
        if operations >= MANY {
            output::complain(&format!("{what} has {}", self.say(operations)));
        }
    }

    fn say(&self, operations: usize) -> String {
        match self.needs(operations) {
            Some(time) => format!(
                "{operations} operations: about {:.0} s at the pace of the runs before it",
                time.as_secs_f64()
            ),
            None => format!("{operations} operations, which may take long"),
        }
    }

    /// What so many operations take at the pace so far, if that is known.
    fn needs(&self, operations: usize) -> Option<Duration> {
        let share = operations as f64 / self.operations as f64;
        (self.operations >= ENOUGH).then(|| self.time.mul_f64(share))
    }

    /// Learns what a run took.
    pub fn learn(&mut self, operations: usize, time: Duration) {
        self.operations += operations;
        self.time += time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_runs_before() {
        let mut pace = Pace::default();
        assert_eq!(pace.say(MANY), "10000000 operations, which may take long");
        pace.learn(ENOUGH - 1, Duration::from_millis(90));
        assert_eq!(pace.needs(MANY), None, "too few operations tell nothing");
        pace.learn(900_001, Duration::from_millis(910));
        assert_eq!(pace.needs(MANY), Some(Duration::from_secs(10)));
        let said = pace.say(MANY);
        assert_eq!(
            said,
            "10000000 operations: about 10 s at the pace of the runs before it"
        );
    }
}
