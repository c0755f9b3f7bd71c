//! A call on a machine: an algorithm's plans, from its first rank's start to its last one's end.

use super::{Job, Machine};
use allhands_core::algorithm::Algorithm;
use allhands_core::schedule::{Layout, Plan, Shape};
use allhands_core::simulate::Outcome;
use anyhow::Context;

impl Machine {
    /// When the last rank is done with a call of `bytes` bytes in elements of so many, in microseconds.
    ///
    /// # Errors
    /// What keeps the call from its end.
    pub fn completes_us(
        &self,
        what: (&Algorithm, &Shape),
        size: (usize, usize),
    ) -> anyhow::Result<f64> {
        Ok(self.call(what, size)?.completion_ps() as f64 / 1e6)
    }

    /// What comes of a call of `bytes` bytes in elements of so many.
    ///
    /// # Errors
    /// What keeps it from its end.
    pub fn call(
        &self,
        (algorithm, shape): (&Algorithm, &Shape),
        (bytes, element_bytes): (usize, usize),
    ) -> anyhow::Result<Outcome> {
        let layout = Layout::regular(shape.call.collective, bytes / element_bytes);
        let plans: Result<Vec<Plan>, _> = (0..shape.ranks())
            .map(|rank| {
                let schedule = algorithm.schedule(shape, rank);
                Plan::lower(&schedule, &shape.call, &layout, element_bytes)
            })
            .collect();
        let plans = plans.with_context(|| format!("{} {}", algorithm.collective, algorithm.name));
        self.outcome(Job {
            layer: algorithm.layer,
            plans: &plans?,
            nodes: &shape.nodes,
        })
    }
}
