//! The test bed: where microbenchmarks run, on ranks of this world or on a simulated machine.

use crate::command::bench::cell::{self, Among, Cell, Least};
use crate::command::simulate::machine::Machine;
use allhands_core::algorithm::{Algorithm, microbenchmark};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::Nodes;
use anyhow::{Context, ensure};
use std::time::Duration;

/// The length of an element.
const ELEMENT_BYTES: usize = 8;

/// What is measured: a microbenchmark, with its parameters, and the length of its messages.
#[derive(Clone, Debug)]
pub struct Question {
    pub collective: Collective,
    pub name: &'static str,
    /// `PEER` and `MANY`, as far as it has them.
    pub peer: Option<u32>,
    pub many: u32,
    pub bytes: usize,
}

impl Question {
    fn algorithm(&self) -> anyhow::Result<&'static Algorithm> {
        let found = microbenchmark::find(self.collective, self.name);
        found.with_context(|| format!("there is no microbenchmark {}", self.name))
    }

    /// What the microbenchmark is told, of what it has keys for.
    fn parameters(&self, algorithm: &Algorithm) -> String {
        let said = [("peer", self.peer), ("many", Some(self.many))];
        let said = said.into_iter().filter_map(|(key, value)| {
            let has = algorithm.keys.iter().any(|known| known.name == key);
            value.filter(|_| has).map(|value| format!("{key}={value}"))
        });
        said.collect::<Vec<_>>().join(",")
    }
}

/// A time, in microseconds, and how certain it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// The median of how long it takes until all ranks are done.
    pub us: f64,
    /// The same until rank 0 is.
    pub own_us: f64,
    /// Half of the interval that has it in 95 of 100 cases: 1.57 times the distance of the quartiles by the root of how many there are
    /// (McGill, Tukey, Larsen 1978).
    pub more_or_less_us: f64,
}

/// The median of what was found each time, and how far the times were from one another: of several the interval that has theirs.
fn median(samples: &[Sample]) -> Sample {
    let of = |time: fn(&Sample) -> f64| {
        let mut times: Vec<f64> = samples.iter().map(time).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let (us, own_us, within) = (of(|s| s.us), of(|s| s.own_us), of(|s| s.more_or_less_us));
    let middle = samples.len() / 2;
    let [first, last] = [us.len() / 4, us.len() - 1 - us.len() / 4].map(|at| us[at]);
    let between_us = 1.57 * (last - first) / (us.len() as f64).sqrt();
    Sample {
        us: us[middle],
        own_us: own_us[middle],
        more_or_less_us: within[middle].max(between_us),
    }
}

/// Where microbenchmarks run.
pub trait Bed {
    /// The nodes, and how many ranks there are.
    fn ranks(&self) -> (Nodes, u32);

    /// Whether messages of a node are what processors copy, from memory that they share.
    fn shares_memory(&self) -> bool;

    /// How long it takes from the common start until all ranks are done.
    ///
    /// # Errors
    /// What keeps it from its end.
    fn time(&mut self, question: &Question) -> anyhow::Result<Sample>;
}

/// A machine that is simulated.
pub struct Simulated<'a> {
    pub machine: &'a Machine,
    pub nodes: Nodes,
    pub ranks: u32,
}

impl Bed for Simulated<'_> {
    fn ranks(&self) -> (Nodes, u32) {
        (self.nodes.clone(), self.ranks)
    }

    fn shares_memory(&self) -> bool {
        self.machine.shares_memory()
    }

    fn time(&mut self, question: &Question) -> anyhow::Result<Sample> {
        let algorithm = question.algorithm()?;
        let call = Call::new(question.collective, self.ranks);
        let shape = algorithm.shape(call, &question.parameters(algorithm))?;
        let shape = shape.on(self.nodes.clone());
        let size = (question.bytes, ELEMENT_BYTES);
        let outcome = self.machine.call((algorithm, &shape), size)?;
        Ok(Sample {
            us: outcome.completion_ps() as f64 / 1e6,
            own_us: outcome.ends_ps[0] as f64 / 1e6,
            more_or_less_us: 0.0,
        })
    }
}

/// Ranks that measure together; all of them ask the same.
pub struct Real {
    /// The same ranks, once or several times, each time with memory of its own: where that lies decides by up to a third what short
    /// messages take, so each question is asked of all, and the median goes.
    pub among: Vec<Among>,
    /// For how long each question is measured.
    pub share: Duration,
}

impl Bed for Real {
    fn ranks(&self) -> (Nodes, u32) {
        let comm = &self.among[0].comm;
        (comm.nodes(), comm.size() as u32)
    }

    fn shares_memory(&self) -> bool {
        true
    }

    fn time(&mut self, question: &Question) -> anyhow::Result<Sample> {
        let algorithm = question.algorithm()?;
        let parameters = question.parameters(algorithm);
        let cell = Cell::regular((algorithm, &parameters), self.ranks().1, question.bytes);
        let share = self.share / self.among.len() as u32;
        let mut samples = Vec::new();
        for among in &mut self.among {
            let record = cell::measure_among(&cell, among, (share, Least::Three));
            let why = record.failure.as_deref().unwrap_or("nothing was measured");
            ensure!(record.iterations > 0, "{}: {why}", question.name);
            samples.push(Sample {
                us: record.median_us,
                own_us: record.first_us,
                more_or_less_us: 1.57 * (record.q3_us - record.q1_us)
                    / (record.iterations as f64).sqrt(),
            });
        }
        Ok(median(&samples))
    }
}
