//! The laboratory: calls run on the model, whole, or as much of them as tells the rest.

use super::super::super::simulate::machine::{Job, Machine};
use crate::names;
use allhands_core::call::{Call, Collective};
use allhands_core::machine::Torus;
use allhands_core::schedule::{Layout, OpKind, Plan};
use anyhow::Context;

/// The length of an element.
const ELEMENT_BYTES: usize = 8;

/// What a full packet carries.
const PAYLOAD_BYTES: u64 = 240;

/// The most hops of packets that are simulated one by one for an entry.
const MOST_HOPS: f64 = 5e8;

/// The most ranks whose all-to-all is simulated as a whole: beyond, its plans are too large.
const MOST_RANKS: u32 = 2048;

/// About as many hops are simulated where a part tells the rest.
const PART_HOPS: f64 = 8e7;

/// The packets of the two messages by which longer ones are told.
const PART_PACKETS: [u64; 2] = [8, 16];

/// The model, and what runs on it.
pub struct Laboratory {
    machine: Machine,
}

/// A call that is to be simulated.
pub struct Experiment<'a> {
    pub collective: Collective,
    /// As it is typed.
    pub algorithm: &'a str,
    pub torus: Torus,
    /// A block for each pair of an all-to-all, otherwise the vector.
    pub bytes: u64,
}

impl Laboratory {
    pub fn new() -> anyhow::Result<Laboratory> {
        let machine = Machine::find("bluegene-l")?;
        Ok(Laboratory { machine })
    }

    /// How long a call takes, in microseconds.
    pub fn time_us(&self, experiment: &Experiment<'_>) -> anyhow::Result<f64> {
        self.part_us(experiment, u32::MAX)
    }

    /// How long it takes if every rank sends to so many others only, the first in its order.
    fn part_us(&self, experiment: &Experiment<'_>, peers: u32) -> anyhow::Result<f64> {
        let &Experiment {
            collective, torus, ..
        } = experiment;
        let machine = self.machine.on(torus);
        let ranks = torus.ranks();
        let (_, fabrics) = machine.place(ranks)?;
        let call = Call::new(collective, ranks);
        let (algorithm, parameters) = names::algorithm(collective, experiment.algorithm)?;
        let shape = names::shape(algorithm, call, parameters)?;
        let shape = shape.on_torus(Some(torus)).with(fabrics);
        algorithm.admits(&shape)?;
        let layout = Layout::regular(collective, experiment.bytes as usize / ELEMENT_BYTES);
        let lower = |rank| {
            let schedule = algorithm.schedule(&shape, rank);
            let plan = Plan::lower(&schedule, &call, &layout, ELEMENT_BYTES)?;
            Ok(if peers < ranks {
                first(plan, peers)
            } else {
                plan
            })
        };
        let plans: anyhow::Result<Vec<Plan>> = (0..ranks).map(lower).collect();
        let job = Job {
            algorithm: algorithm.name,
            plans: &plans?,
            nodes: &shape.nodes,
        };
        let outcome = machine
            .outcome(job)
            .with_context(|| format!("{collective} {} on {torus}", experiment.algorithm))?;
        Ok(outcome.completion_ps() as f64 / 1e6)
    }

    /// How long the permuted all-to-all of `bytes` bytes a pair takes, in microseconds, and whether that was simulated as a whole.
    pub fn all_to_all_us(&self, torus: Torus, bytes: u64) -> anyhow::Result<(f64, bool)> {
        let whole = hops(torus, bytes, torus.ranks() - 1) <= MOST_HOPS;
        let time_us = if whole && torus.ranks() <= MOST_RANKS {
            self.time_us(&permuted(torus, bytes))?
        } else {
            self.told_us(torus, bytes)?
        };
        Ok((time_us, whole))
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

fn permuted(torus: Torus, bytes: u64) -> Experiment<'static> {
    Experiment {
        collective: Collective::Alltoall,
        algorithm: "permuted",
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

/// The plan of an all-to-all that posts everything at once, with its first `peers` sends and receives only.
fn first(plan: Plan, peers: u32) -> Plan {
    let (mut sends, mut receives) = (0, 0);
    let mut plan = plan;
    plan.ops.retain(|op| {
        let count = match op.kind {
            OpKind::Send { .. } => &mut sends,
            OpKind::Recv { .. } => &mut receives,
            _ => return false,
        };
        *count += 1;
        *count <= peers
    });
    for item in &mut plan.items {
        item.end = plan.ops.len() as u32;
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
        assert!((full_packets(256) - 1.125).abs() < 1e-9);
        assert!((hops(torus, 240, 63) - 64.0 * 63.0 * 3.0).abs() < 1e-9);
    }
}
