//! The test bed: where microbenchmarks run, on ranks of this world or on a simulated machine.

use crate::command::bench::cell::{self, Among, Cell, Least};
use crate::command::bench::spread::Spread;
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
    /// The median.
    pub us: f64,
    /// Half of the interval that has it in 95 of 100 cases: 1.57 times the distance of the quartiles by the root of how many there are
    /// (McGill, Tukey, Larsen 1978).
    pub more_or_less_us: f64,
    /// How many there are.
    pub many: usize,
}

/// Where microbenchmarks run.
pub trait Bed {
    /// The nodes, and how many ranks there are.
    fn ranks(&self) -> (Nodes, u32);

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

    fn time(&mut self, question: &Question) -> anyhow::Result<Sample> {
        let algorithm = question.algorithm()?;
        let call = Call::new(question.collective, self.ranks);
        let shape = algorithm.shape(call, &question.parameters(algorithm))?;
        let shape = shape.on(self.nodes.clone());
        let size = (question.bytes, ELEMENT_BYTES);
        Ok(Sample {
            us: self.machine.completes_us((algorithm, &shape), size)?,
            more_or_less_us: 0.0,
            many: 1,
        })
    }
}

/// Ranks that measure together; all of them ask the same.
pub struct Real {
    pub among: Among,
    /// For how long each question is measured.
    pub share: Duration,
}

impl Bed for Real {
    fn ranks(&self) -> (Nodes, u32) {
        let comm = &self.among.comm;
        (comm.nodes(), comm.size() as u32)
    }

    fn time(&mut self, question: &Question) -> anyhow::Result<Sample> {
        let algorithm = question.algorithm()?;
        let cell = Cell {
            algorithm,
            parameters: question.parameters(algorithm),
            ranks: self.ranks().1,
            root: 0,
            bytes: question.bytes,
            spread: Spread::Regular,
            torus: None,
            fresh: false,
        };
        let record = cell::measure_among(&cell, &mut self.among, (self.share, Least::Three));
        let why = record.failure.as_deref().unwrap_or("nothing was measured");
        ensure!(record.iterations > 0, "{}: {why}", question.name);
        let many = record.iterations;
        Ok(Sample {
            us: record.median_us,
            more_or_less_us: 1.57 * (record.q3_us - record.q1_us) / (many as f64).sqrt(),
            many,
        })
    }
}
