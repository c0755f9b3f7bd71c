//! The laboratory: calls run on the model.

use super::super::super::simulate::machine::{Job, Machine};
use super::super::super::simulate::soon::Soon;
use crate::names;
use allhands::policy::predict;
use allhands_core::algorithm::Algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{self, Policy, Question};
use allhands_core::machine::Torus;
use allhands_core::schedule::{Layout, Plan, PlanItem, Shape};
use allhands_core::simulate::Observer;
use anyhow::{Context, anyhow};

/// The length of an element.
const ELEMENT_BYTES: usize = 8;

/// The model, and what runs on it.
pub struct Laboratory {
    machine: Machine,
    /// The same where the floating-point units combine what they take from the network on its way to memory (B 3.1).
    floating: Machine,
    /// The same where nothing is new to processors: what a message takes beside its packets, it takes in its first turn.
    settled: Machine,
}

/// An algorithm of its own, or the one that MPICH2 would take.
#[derive(Clone, Copy)]
pub enum Taken<'a> {
    /// As it is typed.
    Named(&'a str),
    /// The same, for floating-point numbers.
    Floating(&'a str),
    /// The same, on a machine on which messages begin for nothing.
    Settled(&'a str),
    /// By T's cutoffs.
    Mpich,
}

/// A call that is to be simulated.
pub struct Experiment<'a> {
    pub collective: Collective,
    pub algorithm: Taken<'a>,
    pub torus: Torus,
    /// A block for each pair of an alltoall, otherwise the vector.
    pub bytes: u64,
}

impl Laboratory {
    pub fn of(machine: Machine) -> Laboratory {
        Laboratory {
            floating: machine.combining_for_nothing(),
            settled: machine.beginning_for_nothing(),
            machine,
        }
    }

    /// Whether its algorithm serves a call on that partition.
    pub fn serves(&self, experiment: &Experiment<'_>) -> anyhow::Result<bool> {
        let (algorithm, shape) = experiment.algorithm_and_shape()?;
        let machine = self.machine.on(experiment.torus);
        let (torus, fabrics) = machine.place(experiment.torus.ranks())?;
        Ok(algorithm
            .admits(&shape.on_torus(torus).with(fabrics))
            .is_ok())
    }

    /// How long a call takes, in microseconds.
    pub fn time_us(&self, experiment: &Experiment<'_>) -> anyhow::Result<f64> {
        self.run_us(experiment, &|plan| plan, &mut Soon)
    }

    /// How long a call takes among many, one right behind the other, in microseconds.
    pub fn each_us(&self, experiment: &Experiment<'_>) -> anyhow::Result<f64> {
        const CALLS: u32 = 9;
        let once_us = self.time_us(experiment)?;
        let all_us = self.run_us(experiment, &|plan| again(plan, CALLS), &mut Soon)?;
        Ok((all_us - once_us) / f64::from(CALLS - 1))
    }

    /// How long the plans of a call take, changed by `change`, while somebody looks on.
    pub fn run_us<O: Observer>(
        &self,
        experiment: &Experiment<'_>,
        change: &dyn Fn(Plan) -> Plan,
        observer: &mut O,
    ) -> anyhow::Result<f64> {
        let (collective, torus) = (experiment.collective, experiment.torus);
        let machine = match experiment.algorithm {
            Taken::Floating(_) => &self.floating,
            Taken::Settled(_) => &self.settled,
            Taken::Named(_) | Taken::Mpich => &self.machine,
        };
        let machine = machine.on(torus);
        let (algorithm, shape) = experiment.algorithm_and_shape()?;
        let (_, fabrics) = machine.place(torus.ranks())?;
        let shape = shape.on_torus(Some(torus)).with(fabrics);
        algorithm.admits(&shape)?;
        let layout = Layout::regular(collective, experiment.bytes as usize / ELEMENT_BYTES);
        let lower = |rank| {
            let schedule = algorithm.schedule(&shape, rank);
            let plan = Plan::lower(&schedule, &shape.call, &layout, ELEMENT_BYTES)?;
            Ok(change(plan))
        };
        let plans: anyhow::Result<Vec<Plan>> = (0..torus.ranks()).map(lower).collect();
        let job = Job {
            layer: algorithm.layer,
            plans: &plans?,
            nodes: &shape.nodes,
        };
        let run = machine
            .simulate(job, observer, None)
            .with_context(|| format!("{collective} {} on {torus}", algorithm.name))?;
        Ok(run.outcome.completion_ps() as f64 / 1e6)
    }
}

impl Experiment<'_> {
    /// The name of the algorithm that is taken.
    pub fn algorithm_name(&self) -> anyhow::Result<&'static str> {
        Ok(self.algorithm_and_shape()?.0.name)
    }

    /// What runs.
    pub fn algorithm_and_shape(&self) -> anyhow::Result<(&'static Algorithm, Shape)> {
        let call = Call {
            // MPI's broadcast has one buffer.
            in_place: self.collective == Collective::Broadcast,
            ..Call::new(self.collective, self.torus.ranks())
        };
        match self.algorithm {
            Taken::Named(text) | Taken::Floating(text) | Taken::Settled(text) => {
                let (algorithm, parameters) = names::algorithm(self.collective, text)?;
                Ok((algorithm, names::shape(algorithm, call, parameters)?))
            }
            Taken::Mpich => {
                let question = Question::new(call, self.bytes);
                let choice = choose::choose(&Policy::Mpich2005, &question, &predict);
                let choice = choice.map_err(|error| anyhow!("{error}"))?;
                Ok((choice.algorithm, choice.shape))
            }
        }
    }
}

/// The plan of so many calls, one right behind the other; of several strands, each goes on by itself.
fn again(plan: Plan, calls: u32) -> Plan {
    let (mut plan, mut items) = (plan, Vec::new());
    let ops = plan.ops.len() as u32;
    for strand in &mut plan.strands {
        let own = &plan.items[strand.0 as usize..strand.1 as usize];
        let start = items.len() as u32;
        for call in 0..calls {
            items.extend(own.iter().map(|item| PlanItem {
                start: item.start + call * ops,
                end: item.end + call * ops,
                ..*item
            }));
        }
        *strand = (start, items.len() as u32);
    }
    plan.items = items.into();
    plan.ops = plan.ops.repeat(calls as usize).into();
    plan
}
