//! The testbed: T's three machines, a process a node, and what is timed there.

use super::super::times::{self, Times};
use crate::command::simulate::machine::{Job, Machine};
use crate::names;
use allhands_core::algorithm::Layer;
use allhands_core::call::{Call, Collective};
use allhands_core::schedule::{Builder, Layout, Plan, Schedule, Shape, Units};
use anyhow::Context;

/// The machines of T 4 and 5, by the names of their models.
pub const MACHINES: [&str; 3] = ["myrinet-2000", "ibm-sp", "t3e-900"];

/// One of the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum On {
    /// The Linux clusters at Argonne (T 4) and Heidelberg (T 5.5).
    Myrinet,
    /// The IBM SP at San Diego.
    Sp,
    /// The Cray T3E 900 at Stuttgart.
    T3e,
}

impl times::On for On {
    fn name(self) -> &'static str {
        match self {
            On::Myrinet => "Myrinet",
            On::Sp => "SP",
            On::T3e => "T3E",
        }
    }
}

/// A call on one of them: its bytes are all that is gathered, a message of an alltoall, otherwise the vector.
pub type Place = times::Place<On>;

/// A pattern of T 4.1.3's benchmark `b_eff`: every rank sends one message, and receives one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// To the next rank.
    Nearest,
    /// To the rank whose number differs in this one bit, as in a step of recursive doubling.
    Exchange(u32),
    /// To the rank a third of all further.
    Third,
}

/// The machines, and the times that they gave.
pub struct Testbed {
    machines: [Machine; 3],
    times: Times<On>,
}

impl Testbed {
    /// The machines, in the order of [`MACHINES`].
    pub fn of(machines: [Machine; 3]) -> Testbed {
        let times = Times::default();
        Testbed { machines, times }
    }

    fn machine(&self, on: On) -> &Machine {
        &self.machines[on as usize]
    }

    fn timed_us(&self, place: Place, algorithm: &str) -> anyhow::Result<f64> {
        let Place {
            collective, ranks, ..
        } = place;
        let (algorithm, parameters) = names::algorithm(collective, algorithm)?;
        // MPI's broadcast has one buffer, at the root too.
        let call = Call {
            in_place: collective == Collective::Broadcast,
            ..Call::new(collective, ranks)
        };
        let shape = names::shape(algorithm, call, parameters)?;
        algorithm.admits(&shape)?;
        let (elements, element_bytes) = elements(place);
        let layout = Layout::regular(collective, elements);
        let world = algorithm.world(&shape);
        let us = self.schedules_us((place.on, &shape), &world, (&layout, element_bytes))?;
        let copy = self.machine(place.on).processor()?.copy;
        Ok(us + copy.of(permuted_bytes(place, algorithm.name)) as f64 / 1e6)
    }

    fn schedules_us(
        &self,
        (on, shape): (On, &Shape),
        schedules: &[Schedule],
        (layout, element_bytes): (&Layout, usize),
    ) -> anyhow::Result<f64> {
        let lower = |own| Plan::lower(own, &shape.call, layout, element_bytes);
        let plans: Result<Vec<Plan>, _> = schedules.iter().map(lower).collect();
        let job = Job {
            layer: Layer::PointToPoint,
            plans: &plans?,
            nodes: &shape.nodes,
        };
        Ok(self.machine(on).outcome(job)?.completion_ps() as f64 / 1e6)
    }

    /// How long a pattern takes with messages of `bytes` bytes, in microseconds.
    ///
    /// # Errors
    /// None, as long as the machine is right.
    pub fn pattern_us(
        &self,
        on: On,
        pattern: Pattern,
        (ranks, bytes): (u32, u64),
    ) -> anyhow::Result<f64> {
        // Any call whose ranks have a vector each.
        let (algorithm, _) = names::algorithm(Collective::Scan, "linear")?;
        let shape = names::shape(algorithm, Call::new(Collective::Scan, ranks), "")?;
        let neighbours = pattern.neighbours(ranks);
        let schedule = |rank: u32| {
            let mut b = Builder::new(shape.clone(), rank, 1, false);
            let (input, came) = (b.input(), b.scratch(Units::Slots, 1));
            let (to, from) = neighbours(rank);
            b.send(to, input);
            b.recv(from, came);
            b.finish()
        };
        let schedules: Vec<Schedule> = (0..ranks).map(schedule).collect();
        let layout = Layout::regular(Collective::Scan, bytes as usize);
        self.schedules_us((on, &shape), &schedules, (&layout, 1))
    }
}

impl Pattern {
    /// Whom a rank of so many sends to, and whom it receives from.
    fn neighbours(self, ranks: u32) -> impl Fn(u32) -> (u32, u32) {
        let around = move |rank: u32, step: u32| {
            ((rank + step) % ranks, (rank + ranks - step % ranks) % ranks)
        };
        move |rank| match self {
            Pattern::Nearest => around(rank, 1),
            Pattern::Exchange(bit) => (rank ^ bit, rank ^ bit),
            Pattern::Third => around(rank, ranks / 3),
        }
    }
}

impl times::Testbed<On> for Testbed {
    fn time_us(&self, place: Place, algorithm: &'static str) -> anyhow::Result<f64> {
        self.times.or_else((place, algorithm), || {
            let us = self.timed_us(place, algorithm);
            us.with_context(|| format!("{algorithm}, {} ranks", place.ranks))
        })
    }
}

/// How many bytes each rank copies besides, in Bruck's algorithms as T has them: once to shift what was gathered (T 4.1.2), and of an
/// alltoall once before it and once behind (T 4.3). Ours have blocks where they belong and copy none. All ranks copy at the same time, at the
/// end or the start, so what they take adds to the time of all.
fn permuted_bytes(place: Place, algorithm: &str) -> u64 {
    match (place.collective, algorithm) {
        (Collective::Allgather, "bruck") => place.bytes,
        (Collective::Alltoall, "bruck") => 2 * place.bytes * u64::from(place.ranks),
        _ => 0,
    }
}

/// How many elements a block, or a vector, of a size of T's has, and how long they are: reductions are of doubles.
fn elements(place: Place) -> (usize, usize) {
    const DOUBLE_BYTES: usize = 8;
    let bytes = place.bytes as usize;
    match place.collective {
        Collective::Allgather => (bytes / place.ranks as usize, 1),
        Collective::Reduce | Collective::Allreduce | Collective::ReduceScatter => {
            (bytes / DOUBLE_BYTES, DOUBLE_BYTES)
        }
        Collective::Barrier
        | Collective::Broadcast
        | Collective::Scatter
        | Collective::Gather
        | Collective::Alltoall
        | Collective::Scan
        | Collective::Exscan => (bytes, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::times::Testbed as _;
    use super::*;

    fn place(collective: Collective, ranks: u32, bytes: u64) -> Place {
        Place {
            on: On::T3e,
            collective,
            ranks,
            bytes,
        }
    }

    #[test]
    fn sizes_are_counted_as_in_the_paper() {
        let of = |collective| elements(place(collective, 64, 4096));
        assert_eq!(of(Collective::Allgather), (64, 1));
        assert_eq!(of(Collective::Alltoall), (4096, 1));
        assert_eq!(of(Collective::Reduce), (512, 8));
    }

    #[test]
    fn bruck_permutes_in_the_paper() {
        let of = |collective, name| permuted_bytes(place(collective, 64, 4096), name);
        assert_eq!(of(Collective::Allgather, "bruck"), 4096);
        assert_eq!(of(Collective::Alltoall, "bruck"), 2 * 64 * 4096);
        assert_eq!(of(Collective::Allgather, "ring"), 0);
    }

    /// On T's own model an exchange of all costs α + nβ (T 3).
    #[test]
    fn a_step_of_all_takes_what_the_model_says() {
        let machines = MACHINES.map(|name| Machine::find(name).expect("it is there"));
        let testbed = Testbed::of(machines);
        for pattern in [Pattern::Nearest, Pattern::Exchange(8), Pattern::Third] {
            let us = testbed.pattern_us(On::T3e, pattern, (16, 3000));
            let us = us.expect("it can be simulated");
            assert!((us - 19.0).abs() < 0.01, "{us}");
        }
        let call = place(Collective::Allreduce, 8, 3000);
        let twice = [(); 2].map(|()| testbed.time_us(call, "recursive-doubling").ok());
        assert_eq!(twice[0], twice[1]);
        let error = testbed.time_us(call, "nowhere").unwrap_err();
        assert!(format!("{error:#}").contains("nowhere"), "{error:#}");
    }
}
