//! The simulated testbed: four nodes of four ranks with two rails (Q 6), or a part of it, and what is timed there.

use crate::command::simulate::machine::{Job, Machine};
use allhands_core::algorithm::{self, Algorithm, Layer};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{Policy, Question, choose};
use allhands_core::machine::Nodes;
use allhands_core::schedule::{BROADCAST_PORT, Builder, Layout, Plan, Schedule, Shape, Units};
use anyhow::{Context, anyhow};

/// Who is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// What the policy `elan` takes: Quadrics' library.
    Elan,
    /// An algorithm with parameters.
    Algorithm(&'static str, &'static str),
    /// The broadcast of the hardware alone.
    Hardware,
}

/// Nodes, and ranks of each.
pub type On = (u32, u32);

/// All of the testbed.
pub const WHOLE: On = (4, 4);

/// The testbed, for every way of using it.
pub struct Testbed {
    both: Machine,
    one: Machine,
    chained: Machine,
    tports: Machine,
}

/// How the interfaces are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Puts by both rails.
    BothRails,
    /// Puts by one.
    OneRail,
    /// Puts by one rail that interfaces chain.
    Chained,
    /// Tports by both rails: messages are announced and fetched.
    Tports,
}

/// Up to this size `elan_gather` chains puts on one rail; beyond it its messages are Tports', which stripe (Q 3.1). Of
/// `elan_alltoall` neither is said, and it has both rails, as Q 1 says that there is a multi-rail one now; on one rail it would be
/// slower still.
const CHAINED_UP_TO_BYTES: u64 = 4096;

impl Testbed {
    /// The testbed, of the built-in machine or a changed one.
    pub fn of(both: Machine) -> Testbed {
        Testbed {
            one: both.with_rails(|rails| rails.use_one_rail()),
            chained: both.with_rails(|rails| {
                rails.use_one_rail();
                rails.chain();
            }),
            tports: both.with_rails(|rails| rails.announce()),
            both,
        }
    }

    /// The time of a call of all ranks of some nodes with blocks, or a vector, of `bytes` bytes, in microseconds.
    ///
    /// # Errors
    /// If the policy or the algorithm does not serve the call.
    pub fn call_us(
        &self,
        who: Who,
        (collective, on): (Collective, On),
        bytes: u64,
    ) -> anyhow::Result<f64> {
        // A broadcast has one buffer, at the root too.
        let call = Call {
            in_place: collective == Collective::Broadcast,
            ..Call::new(collective, on.0 * on.1)
        };
        let nodes = Nodes::even(on.0, on.1);
        let policy = match who {
            Who::Elan => Policy::Elan,
            Who::Algorithm(name, parameters) => Policy::Fixed {
                name: name.to_string(),
                parameters: parameters.to_string(),
            },
            Who::Hardware => return self.hardware_us(call, nodes, bytes),
        };
        let choice = choose(&policy, &Question::new(call, bytes), &|_, _, _| 0.0);
        let choice = choice.map_err(|error| anyhow!("{error}"))?;
        let way = match who {
            Who::Elan if collective == Collective::Alltoall => Way::BothRails,
            Who::Elan if bytes <= CHAINED_UP_TO_BYTES => Way::Chained,
            Who::Elan => Way::Tports,
            Who::Algorithm(..) | Who::Hardware => Way::BothRails,
        };
        self.time_us(choice.algorithm, &choice.shape.on(nodes), way, bytes)
    }

    /// The time of an algorithm among `ranks` ranks on some nodes, with root 0, in microseconds.
    ///
    /// # Errors
    /// If there is no such algorithm, or it cannot be run.
    pub fn algorithm_us(
        &self,
        (collective, name): (Collective, &str),
        (ranks, nodes): (u32, Nodes),
        way: Way,
        bytes: u64,
    ) -> anyhow::Result<f64> {
        let found = algorithm::find(collective, name);
        let algorithm = found.with_context(|| format!("there is no {collective} {name}"))?;
        let shape = algorithm.shape(Call::new(collective, ranks), "")?.on(nodes);
        self.time_us(algorithm, &shape, way, bytes)
    }

    fn time_us(
        &self,
        algorithm: &Algorithm,
        shape: &Shape,
        way: Way,
        bytes: u64,
    ) -> anyhow::Result<f64> {
        self.schedules_us(&algorithm.world(shape), shape, way, bytes)
    }

    fn schedules_us(
        &self,
        schedules: &[Schedule],
        shape: &Shape,
        way: Way,
        bytes: u64,
    ) -> anyhow::Result<f64> {
        let layout = Layout::regular(shape.call.collective, bytes as usize);
        let lower = |schedule| Plan::lower(schedule, &shape.call, &layout, 1);
        let plans: Result<Vec<Plan>, _> = schedules.iter().map(lower).collect();
        let machine = match way {
            Way::BothRails => &self.both,
            Way::OneRail => &self.one,
            Way::Chained => &self.chained,
            Way::Tports => &self.tports,
        };
        let job = Job {
            layer: Layer::PointToPoint,
            plans: &plans?,
            nodes: &shape.nodes,
        };
        Ok(machine.outcome(job)?.completion_ps() as f64 / 1e6)
    }

    /// The time of a broadcast that rank 0 hands to the hardware.
    fn hardware_us(&self, call: Call, nodes: Nodes, bytes: u64) -> anyhow::Result<f64> {
        let found = algorithm::find(call.collective, "one-to-all");
        let found = found.context("there is no such broadcast")?;
        let shape = found.shape(call, "")?.on(nodes);
        let schedule = |rank| {
            let mut b = Builder::new(shape.clone(), rank, 1, false);
            let (input, output) = (b.input(), b.output());
            for to in (1..call.ranks).filter(|_| rank == 0) {
                b.port(u32::from(BROADCAST_PORT)).send(to, input);
            }
            match rank {
                0 => b.copy(input, output),
                _ => b.port(u32::from(BROADCAST_PORT)).recv(0, output),
            }
            b.finish()
        };
        let schedules: Vec<Schedule> = (0..call.ranks).map(schedule).collect();
        self.schedules_us(&schedules, &shape, Way::BothRails, bytes)
    }

    /// The time in which `ranks` ranks of one node each copy `bytes` bytes to a section of shared memory (Q 4.2's k-memcpy), in
    /// microseconds.
    ///
    /// # Errors
    /// None, as long as the machine is right.
    pub fn copies_us(&self, ranks: u32, bytes: u64) -> anyhow::Result<f64> {
        // Any call whose ranks have a vector each.
        let shape = algorithm::find(Collective::Scan, "linear")
            .context("there is no linear scan")?
            .shape(Call::new(Collective::Scan, ranks), "")?;
        let schedule = |rank| {
            let mut b = Builder::new(shape.clone(), rank, 1, false);
            let (input, section) = (b.input(), b.window(Units::Slots, 1));
            b.copy(input, section);
            b.finish()
        };
        let schedules: Vec<Schedule> = (0..ranks).map(schedule).collect();
        self.schedules_us(&schedules, &shape, Way::BothRails, bytes)
    }
}
