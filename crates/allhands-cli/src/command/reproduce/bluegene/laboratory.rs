//! The laboratory: calls run on the model, whole, or as much of them as tells the rest.

use super::super::super::simulate::machine::{Job, Machine};
use crate::names;
use allhands::policy::predict;
use allhands_core::algorithm::Algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{self, Policy, Question};
use allhands_core::machine::Torus;
use allhands_core::schedule::{Layout, OpKind, Plan, PlanItem, PlanOp, Shape};
use anyhow::{Context, anyhow};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The length of an element.
const ELEMENT_BYTES: usize = 8;

/// What a full packet carries.
const PAYLOAD_BYTES: u64 = 240;

/// The most hops of packets that are simulated one by one for an entry.
const MOST_HOPS: f64 = 1.2e8;

/// The most ranks whose all-to-all is simulated as a whole: beyond, its plans are too large.
const MOST_RANKS: u32 = 2048;

/// About as many hops are simulated where a part tells the rest.
const PART_HOPS: f64 = 4e7;

/// The packets of the two messages by which longer ones are told.
const PART_PACKETS: [u64; 2] = [8, 16];

/// The model, and what runs on it.
pub struct Laboratory {
    machine: Machine,
    /// The same where the floating-point units combine what they take from the network on its way to memory (B 3.1).
    floating: Machine,
    /// What all-to-alls took by which others are told, by torus and bytes.
    known_us: RefCell<BTreeMap<(Torus, u64), f64>>,
}

/// How long an all-to-all takes, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    pub us: f64,
    /// Told by a part of it.
    pub told: bool,
    /// If it was simulated as a whole and is long, what a part would have told.
    pub would_be_told_us: Option<f64>,
}

/// An algorithm of its own, or the one that MPICH2 would take.
#[derive(Clone, Copy)]
pub enum Taken<'a> {
    /// As it is typed.
    Named(&'a str),
    /// The same, for floating-point numbers.
    Floating(&'a str),
    /// By T's cutoffs.
    Mpich,
}

/// A call that is to be simulated.
pub struct Experiment<'a> {
    pub collective: Collective,
    pub algorithm: Taken<'a>,
    pub torus: Torus,
    /// A block for each pair of an all-to-all, otherwise the vector.
    pub bytes: u64,
}

impl Laboratory {
    pub fn new() -> anyhow::Result<Laboratory> {
        let machine = Machine::find("bluegene-l")?;
        let floating = machine.combining_for_nothing();
        Ok(Laboratory {
            machine,
            floating,
            known_us: RefCell::default(),
        })
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
        self.run_us(experiment, &|plan| plan)
    }

    /// How long a call takes among many, one right behind the other, in microseconds.
    pub fn each_us(&self, experiment: &Experiment<'_>) -> anyhow::Result<f64> {
        const CALLS: u32 = 9;
        let once_us = self.time_us(experiment)?;
        let all_us = self.run_us(experiment, &|plan| again(plan, CALLS))?;
        Ok((all_us - once_us) / f64::from(CALLS - 1))
    }

    /// How long the plans of a call take, changed by `change`.
    fn run_us(
        &self,
        experiment: &Experiment<'_>,
        change: &dyn Fn(Plan) -> Plan,
    ) -> anyhow::Result<f64> {
        let (collective, torus) = (experiment.collective, experiment.torus);
        let machine = match experiment.algorithm {
            Taken::Floating(_) => &self.floating,
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
            algorithm: algorithm.name,
            plans: &plans?,
            nodes: &shape.nodes,
        };
        let outcome = machine
            .outcome(job)
            .with_context(|| format!("{collective} {} on {torus}", algorithm.name))?;
        Ok(outcome.completion_ps() as f64 / 1e6)
    }

    /// How long it takes if every rank sends to so many others only, the first in its order.
    fn part_us(&self, experiment: &Experiment<'_>, peers: u32) -> anyhow::Result<f64> {
        let ranks = experiment.torus.ranks() as usize;
        let (algorithm, shape) = experiment.algorithm_and_shape()?;
        // By receiver and sender, whether there is a message.
        let mut messages = vec![false; ranks * ranks];
        for from in 0..ranks {
            let schedule = algorithm.schedule(&shape, from as u32);
            let to = schedule.ops.iter().filter_map(|op| match op.kind {
                OpKind::Send { to, .. } => Some(to as usize),
                _ => None,
            });
            to.take(peers as usize)
                .for_each(|to| messages[to * ranks + from] = true);
        }
        self.run_us(experiment, &|plan| only(plan, &messages, ranks))
    }

    /// How long the permuted all-to-all of `bytes` bytes a pair takes.
    pub fn all_to_all(&self, torus: Torus, bytes: u64) -> anyhow::Result<Time> {
        let whole = hops(torus, bytes, torus.ranks() - 1) <= MOST_HOPS;
        if !whole || torus.ranks() > MOST_RANKS {
            return Ok(Time {
                us: self.told_us(torus, bytes)?,
                told: true,
                would_be_told_us: None,
            });
        }
        let us = self.time_us(&permuted(torus, bytes))?;
        let long = bytes.div_ceil(PAYLOAD_BYTES) > PART_PACKETS[1];
        let would_be_told_us = match long {
            true => Some(self.told_us(torus, bytes)?),
            false => None,
        };
        Ok(Time {
            us,
            told: false,
            would_be_told_us,
        })
    }

    /// The same, told by parts of it: from some lengths to longer ones, and from some peers to more, times grow evenly.
    pub fn told_us(&self, torus: Torus, bytes: u64) -> anyhow::Result<f64> {
        let [short, long] = PART_PACKETS;
        if bytes.div_ceil(PAYLOAD_BYTES) <= long {
            return self.to_all_us(torus, bytes);
        }
        let times = [short, long].map(|packets| self.to_all_us(torus, packets * PAYLOAD_BYTES));
        let [short_us, long_us] = times;
        let (short_us, long_us) = (short_us?, long_us?);
        let packet_us = (long_us - short_us) / (long - short) as f64;
        Ok(long_us + packet_us * (full_packets(bytes) - long as f64))
    }

    /// To all others, told by what it takes to some.
    fn to_all_us(&self, torus: Torus, bytes: u64) -> anyhow::Result<f64> {
        let known_us = self.known_us.borrow().get(&(torus, bytes)).copied();
        if let Some(known_us) = known_us {
            return Ok(known_us);
        }
        let us = self.new_to_all_us(torus, bytes)?;
        self.known_us.borrow_mut().insert((torus, bytes), us);
        Ok(us)
    }

    fn new_to_all_us(&self, torus: Torus, bytes: u64) -> anyhow::Result<f64> {
        let others = torus.ranks() - 1;
        let most = (PART_HOPS / hops(torus, bytes, 1)) as u32;
        if most >= others && others < MOST_RANKS {
            return self.time_us(&permuted(torus, bytes));
        }
        let (few, many) = (most.min(others) / 2, most.min(others));
        let few_us = self.part_us(&permuted(torus, bytes), few)?;
        let many_us = self.part_us(&permuted(torus, bytes), many)?;
        let each_us = (many_us - few_us) / f64::from(many - few);
        Ok(many_us + each_us * f64::from(others - many))
    }
}

impl Experiment<'_> {
    /// The name of the algorithm that is taken.
    pub fn algorithm_name(&self) -> anyhow::Result<&'static str> {
        Ok(self.algorithm_and_shape()?.0.name)
    }

    fn algorithm_and_shape(&self) -> anyhow::Result<(&'static Algorithm, Shape)> {
        let call = Call {
            // MPI's broadcast has one buffer.
            in_place: self.collective == Collective::Broadcast,
            ..Call::new(self.collective, self.torus.ranks())
        };
        match self.algorithm {
            Taken::Named(text) | Taken::Floating(text) => {
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

fn permuted(torus: Torus, bytes: u64) -> Experiment<'static> {
    Experiment {
        collective: Collective::Alltoall,
        algorithm: Taken::Named("permuted"),
        torus,
        bytes,
    }
}

/// How many full packets take as long on a link as a message's.
fn full_packets(bytes: u64) -> f64 {
    let rest = bytes % PAYLOAD_BYTES;
    let chunks = if rest == 0 {
        0
    } else {
        (rest + 16).div_ceil(32)
    };
    (bytes / PAYLOAD_BYTES) as f64 + chunks as f64 / 8.0
}

/// The hops of all packets of an all-to-all in which each rank sends to `peers` others, on shortest ways.
fn hops(torus: Torus, bytes: u64, peers: u32) -> f64 {
    let along = |dimension| {
        let n = f64::from(torus.extents()[dimension]);
        if torus.wraps(dimension) {
            n / 4.0
        } else {
            (n * n - 1.0) / (3.0 * n)
        }
    };
    let way: f64 = (0..3).map(along).sum();
    let packets = bytes.div_ceil(PAYLOAD_BYTES).max(1) as f64;
    f64::from(torus.ranks()) * f64::from(peers) * packets * way
}

/// The plan of an all-to-all that posts everything at once, with those messages only.
fn only(plan: Plan, messages: &[bool], ranks: usize) -> Plan {
    let mut plan = plan;
    let rank = plan.rank as usize;
    let stays = |op: &&PlanOp| match op.kind {
        OpKind::Send { to, .. } => messages[to as usize * ranks + rank],
        OpKind::Recv { from, .. } => messages[rank * ranks + from as usize],
        _ => false,
    };
    plan.ops = plan.ops.iter().filter(stays).copied().collect();
    for item in &mut plan.items {
        (item.start, item.end) = (0, plan.ops.len() as u32);
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_tell_the_rest() {
        let laboratory = Laboratory::new().expect("it is right");
        let torus = "4x4x4:torus".parse().expect("it is a torus");
        let whole = laboratory
            .time_us(&permuted(torus, 30_000))
            .expect("it ends");
        let told = laboratory.told_us(torus, 30_000).expect("it ends");
        assert!((told / whole - 1.0).abs() < 0.03, "{told} {whole}");
        // To half of the others: each rank has its share of messages.
        let half = laboratory
            .part_us(&permuted(torus, 960), 31)
            .expect("it ends");
        let all = laboratory.time_us(&permuted(torus, 960)).expect("it ends");
        assert!((0.4..0.7).contains(&(half / all)), "{half} {all}");
        assert!((full_packets(256) - 1.125).abs() < 1e-9);
        assert!((hops(torus, 240, 63) - 64.0 * 63.0 * 3.0).abs() < 1e-9);
    }
}
