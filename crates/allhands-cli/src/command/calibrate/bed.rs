//! The test bed: where microbenchmarks run, on ranks of this world or on a simulated machine.

use super::budget::Budget;
use super::sample::{Run, Sample};
use crate::command::bench::cell::{self, Among, Cell, Least};
use crate::command::simulate::machine::Machine;
use allhands_core::algorithm::{Algorithm, microbenchmark};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::Nodes;
use anyhow::{Context, ensure};
use std::time::{Duration, Instant};

/// The length of an element.
const ELEMENT_BYTES: usize = 8;

/// What is measured: a microbenchmark, with its parameters, and the length of its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// Hears what is to be asked, before it is.
    ///
    /// # Errors
    /// That there is no time for it.
    fn expect(&mut self, _questions: Vec<Question>) -> anyhow::Result<()> {
        Ok(())
    }

    /// Whether there is time for what is to be asked of messages of so many bytes, and of all that are shorter; all ranks hear the same.
    ///
    /// # Errors
    /// When ranks fail.
    fn has_time_for(&mut self, _bytes: u64) -> anyhow::Result<bool> {
        Ok(true)
    }

    /// Whether there is time to ask these, too, which nobody has heard of before.
    ///
    /// # Errors
    /// When ranks fail.
    fn has_time_for_more(&mut self, _questions: &[Question]) -> anyhow::Result<bool> {
        Ok(true)
    }

    /// Whether these are asked again, of which the quieter answer counts, as hosts are disturbed for minutes, and what disturbs them is
    /// no part of them. They have time of their own.
    fn asks_again(&mut self, _questions: Vec<Question>) -> bool {
        false
    }

    /// For how many seconds in all there would be time for everything, where there is not.
    fn would_take_s(&self) -> Option<f64> {
        None
    }
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
            ..Sample::default()
        })
    }
}

/// Ranks that measure together; all of them ask the same.
pub struct Real {
    /// The same ranks, once or several times, each time with memory of its own: where that lies decides by up to a third what short
    /// messages take, so each question is asked of all, and the median goes.
    pub among: Vec<Among>,
    /// What there is time for; rank 0's counts.
    pub budget: Budget,
    /// The time in which what is short is asked again, in seconds; 0 where it is not.
    pub again_s: f64,
}

impl Real {
    /// What rank 0 says, on all ranks.
    fn of_first(&self, is_so: bool) -> anyhow::Result<bool> {
        let mut said = [u64::from(is_so)];
        self.among[0].comm.broadcast(&mut said, 0)?;
        Ok(said[0] == 1)
    }

    /// Asks once or twice, to learn how long that takes; in seconds for each time.
    fn probe(&mut self, question: &Question) -> anyhow::Result<f64> {
        let begin = Instant::now();
        let algorithm = question.algorithm()?;
        let cell = (algorithm, &*question.parameters(algorithm));
        let cell = Cell::regular(cell, self.ranks().1, question.bytes);
        let record = cell::measure_among(&cell, &mut self.among[0], (Duration::ZERO, Least::One));
        let why = record.failure.as_deref().unwrap_or("nothing was measured");
        ensure!(record.iterations > 0, "{}: {why}", question.name);
        Ok(begin.elapsed().as_secs_f64() / Least::One.iterations() as f64)
    }
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
        let share = self.budget.next(question) / self.among.len() as u32;
        let begin = Instant::now();
        let (mut runs, mut times) = (Vec::new(), 0);
        for among in &mut self.among {
            let record = cell::measure_among(&cell, among, (share, Least::Three));
            let why = record.failure.as_deref().unwrap_or("nothing was measured");
            ensure!(record.iterations > 0, "{}: {why}", question.name);
            // Those before that do not count.
            times += record.iterations + Least::Three.iterations() - 3;
            runs.push(Run::of(&record));
        }
        self.budget.learn(question, begin.elapsed(), times);
        Ok(Sample::of(&runs))
    }

    fn expect(&mut self, questions: Vec<Question>) -> anyhow::Result<()> {
        for probe in Budget::probes(&questions) {
            if self.of_first(self.budget.is_cheap(&probe))? {
                // The first calls have more to do, and clocks are compared now and then.
                let mut seconds = f64::INFINITY;
                for _ in 0..3 {
                    seconds = seconds.min(self.probe(&probe)?);
                }
                self.budget.probed(&probe, seconds);
            }
        }
        let wanted = self.budget.expect(questions, self.among.len());
        // Where there is no time to ask all, one that is asked well is better.
        while self.among.len() > 1 && self.of_first(self.among.len() > wanted)? {
            self.among.pop();
        }
        let fits = self.of_first(self.budget.has_time_for(Budget::SHORT_BYTES))?;
        ensure!(
            fits,
            "--time {:.0}: even messages of up to {} bytes, three times each, take longer: right would be --time {:.0}, which is enough for all lengths, or fewer ranks",
            self.budget.seconds(),
            Budget::SHORT_BYTES,
            self.budget.would_take_s()
        );
        Ok(())
    }

    fn has_time_for(&mut self, bytes: u64) -> anyhow::Result<bool> {
        self.of_first(self.budget.has_time_for(bytes))
    }

    fn has_time_for_more(&mut self, questions: &[Question]) -> anyhow::Result<bool> {
        self.of_first(self.budget.has_time_for_more(questions))
    }

    fn asks_again(&mut self, questions: Vec<Question>) -> bool {
        if self.again_s == 0.0 {
            return false;
        }
        self.budget.begin_again(questions, self.again_s);
        true
    }

    fn would_take_s(&self) -> Option<f64> {
        Some(self.budget.would_take_s())
    }
}
