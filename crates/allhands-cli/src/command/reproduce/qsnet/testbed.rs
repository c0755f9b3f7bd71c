//! The simulated testbed: four nodes of four ranks with two rails (Q 6), or a part of it, and what is timed there.

use super::super::times::{self, Times};
use crate::command::simulate::machine::{Job, Machine};
use crate::names;
use allhands_core::algorithm::{Algorithm, Layer};
use allhands_core::call::{Call, Collective};
use allhands_core::choose::{Policy, Question, choose};
use allhands_core::machine::Nodes;
use allhands_core::schedule::{BROADCAST_PORT, Builder, Layout, Plan, Schedule, Shape, Units};
use anyhow::{Context as _, anyhow, ensure};

/// What is timed that is no algorithm: what the policy `elan` takes, which is Quadrics' library …
pub const ELAN: &str = "elan";
/// … and the broadcast of the hardware alone.
pub const HARDWARE: &str = "hardware";

/// How much of the testbed has ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum On {
    /// One node.
    Node,
    /// All four, with as many ranks each (Q 7.4).
    Nodes,
}

impl times::On for On {
    fn name(self) -> &'static str {
        match self {
            On::Node => "a node",
            On::Nodes => "4 nodes",
        }
    }
}

/// A call: its bytes are a block, or the vector of a broadcast.
pub type Place = times::Place<On>;

impl Place {
    /// The nodes, and ranks of each.
    fn nodes(self) -> (u32, u32) {
        match self.on {
            On::Node => (1, self.ranks),
            On::Nodes => (4, self.ranks / 4),
        }
    }
}

/// The testbed, for every way of using it.
pub struct Testbed {
    both: Machine,
    one: Machine,
    chained: Machine,
    tports: Machine,
    times: Times<On>,
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
            times: Times::default(),
        }
    }

    fn timed_us(&self, place: Place, algorithm: &str) -> anyhow::Result<f64> {
        let (collective, bytes) = (place.collective, place.bytes);
        // A broadcast has one buffer, at the root too.
        let call = Call {
            in_place: collective == Collective::Broadcast,
            ..Call::new(collective, place.ranks)
        };
        let (many, ranks_each) = place.nodes();
        let nodes = Nodes::even(many, ranks_each);
        match algorithm {
            HARDWARE => self.hardware_us(call, nodes, bytes),
            ELAN => {
                let choice = choose(&Policy::Elan, &Question::new(call, bytes), &|_, _, _| 0.0);
                let choice = choice.map_err(|error| anyhow!("{error}"))?;
                let way = match collective {
                    Collective::Alltoall => Way::BothRails,
                    _ if bytes <= CHAINED_UP_TO_BYTES => Way::Chained,
                    _ => Way::Tports,
                };
                self.run_us(choice.algorithm, &choice.shape.on(nodes), way, bytes)
            }
            typed => {
                let (algorithm, parameters) = names::algorithm(collective, typed)?;
                let shape = names::shape(algorithm, call, parameters)?.on(nodes);
                algorithm.admits(&shape)?;
                let us = self.run_us(algorithm, &shape, Way::BothRails, bytes)?;
                let moves = f64::from(local_moves(collective, algorithm.name));
                let moved_us = match moves {
                    0.0 => 0.0,
                    _ => self.copies_us(ranks_each, u64::from(place.ranks) * bytes)?,
                };
                Ok(us + moves * moved_us)
            }
        }
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
        let (algorithm, parameters) = names::algorithm(collective, name)?;
        let call = Call::new(collective, ranks);
        let shape = names::shape(algorithm, call, parameters)?.on(nodes);
        self.run_us(algorithm, &shape, way, bytes)
    }

    fn run_us(
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
        let (any, parameters) = names::algorithm(call.collective, "one-to-all")?;
        let shape = names::shape(any, call, parameters)?.on(nodes);
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
        let (any, parameters) = names::algorithm(Collective::Scan, "linear")?;
        let shape = names::shape(any, Call::new(Collective::Scan, ranks), parameters)?;
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

impl times::Testbed<On> for Testbed {
    fn time_us(&self, place: Place, algorithm: &'static str) -> anyhow::Result<f64> {
        ensure!(
            place.on == On::Node || place.ranks.is_multiple_of(4),
            "{} ranks on four nodes; right would be a multiple of 4",
            place.ranks
        );
        self.times.or_else((place, algorithm), || {
            let us = self.timed_us(place, algorithm);
            us.with_context(|| format!("{algorithm}, {} ranks", place.ranks))
        })
    }
}

/// How often each rank moves all of its blocks in its own memory, in Bruck's algorithms as Q has them: once behind an allgather (Q 5.1.2),
/// and once before an alltoall and once behind it (Q 5.1.3). Ours have blocks where they belong, and move none. All ranks of a
/// node do it at the same time, at the start or the end, so what it takes adds to the time of all.
fn local_moves(collective: Collective, algorithm: &str) -> u32 {
    match (collective, algorithm) {
        (Collective::Allgather, "bruck") => 1,
        (Collective::Alltoall, "bruck") => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::times::Testbed as _;
    use super::*;

    fn place(collective: Collective, ranks: u32, bytes: u64) -> Place {
        Place {
            on: On::Nodes,
            collective,
            ranks,
            bytes,
        }
    }

    #[test]
    fn bruck_moves_its_blocks_as_in_the_paper() {
        let testbed = Testbed::of(Machine::find("multirail-smp").expect("it is there"));
        let us = |place, algorithm| testbed.time_us(place, algorithm).expect("it is timed");
        let bare_us = |collective, ranks_each| {
            let (ranks, nodes) = (4 * ranks_each, Nodes::even(4, ranks_each));
            let bruck = (collective, "bruck:ports=2");
            let us = testbed.algorithm_us(bruck, (ranks, nodes), Way::BothRails, 512);
            us.expect("it is timed")
        };
        for (collective, moves) in [(Collective::Allgather, 1.0), (Collective::Alltoall, 2.0)] {
            for ranks_each in [1, 2, 4] {
                let ranks = 4 * ranks_each;
                let copies_us = testbed.copies_us(ranks_each, 512 * u64::from(ranks));
                let expected = bare_us(collective, ranks_each) + moves * copies_us.expect("timed");
                let place = place(collective, ranks, 512);
                assert!((us(place, "bruck:ports=2") - expected).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn what_cannot_be_timed_is_named() {
        let testbed = Testbed::of(Machine::find("multirail-smp").expect("it is there"));
        let error = |place, algorithm| {
            let error = testbed.time_us(place, algorithm).unwrap_err();
            format!("{error:#}")
        };
        let uneven = error(place(Collective::Gather, 6, 8), "direct");
        assert!(uneven.contains("a multiple of 4"), "{uneven}");
        let unknown = error(place(Collective::Gather, 4, 8), "nowhere");
        assert!(unknown.contains("nowhere"), "{unknown}");
    }
}
