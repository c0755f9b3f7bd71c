//! A cell of the benchmark: one algorithm at one size, run until its time is up.

use super::elements::Elements;
pub use super::record::Record;
use super::spread::Spread;
use super::starts::{Starts, now_ns};
use super::thinned::thinned;
use super::workload::Buffers;
pub use super::workload::By;
use crate::interrupt;
use allhands::operation::Operation;
use allhands::{Communicator, Error, Max, policy, threads};
use allhands_core::algorithm::Algorithm;
use allhands_core::call::Collective;
use allhands_core::machine::Torus;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What to measure.
#[derive(Clone)]
pub struct Cell {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// Its parameters, as typed.
    pub parameters: String,
    /// The number of ranks.
    pub ranks: u32,
    /// The root.
    pub root: u32,
    /// The size as the user types it.
    pub bytes: usize,
    /// The lengths of blocks around it.
    pub spread: Spread,
    /// Their type, and the operator.
    pub elements: Elements,
    /// Where the ranks are taken to be on a mesh or torus.
    pub torus: Option<Torus>,
    /// Whether every iteration has new buffers.
    pub fresh: bool,
}

impl Cell {
    /// A regular call with root 0, in the same buffers each time.
    pub fn regular(
        (algorithm, parameters): (&'static Algorithm, &str),
        ranks: u32,
        bytes: usize,
    ) -> Cell {
        Cell {
            algorithm,
            parameters: parameters.to_string(),
            ranks,
            root: 0,
            bytes,
            spread: Spread::Regular,
            elements: Elements::default(),
            torus: None,
            fresh: false,
        }
    }

    /// The algorithm as the user types it, with its parameters.
    pub fn name(&self) -> String {
        match self.parameters.as_str() {
            "" => self.algorithm.name.to_string(),
            parameters => format!("{}:{parameters}", self.algorithm.name),
        }
    }
}

/// Iterations that are run but not timed.
const WARM_UP: usize = 2;
/// The fewest timed iterations, however long they take, and those before them that are not timed.
#[derive(Clone, Copy, Debug)]
pub enum Least {
    /// One of each, where as many cells as there are must end in time.
    One,
    /// A median of three.
    Three,
}

impl Least {
    /// All iterations.
    pub const fn iterations(self) -> usize {
        match self {
            Least::One => 2,
            Least::Three => WARM_UP + 3,
        }
    }
}

/// Enough for a median and a p99.
const MOST: usize = 2000;

/// What one rank has measured, or all of them together.
#[derive(Clone, Debug, Default)]
struct Samples {
    /// For each iteration the time from the common start to the last rank's end, in nanoseconds.
    ns: Vec<u64>,
    /// The mean time to a rank's own end: the least of all ranks, the mean and the most, in nanoseconds.
    own_ns: [f64; 3],
    /// The median of rank 0's.
    first_ns: f64,
    /// This rank's own times, in rising order.
    rising_ns: Vec<u64>,
    failure: Option<String>,
}

/// Processes that measure together, and what records say of them.
pub struct Among {
    pub comm: Communicator,
    starts: Starts,
    transport: &'static str,
    hosts: Option<String>,
}

impl Among {
    /// Processes that share memory.
    pub fn near(comm: Communicator) -> Among {
        Among {
            comm,
            starts: Starts::Near,
            transport: "shm",
            hosts: None,
        }
    }

    /// Processes between which there is a network.
    pub fn far(
        comm: Communicator,
        starts: Starts,
        transport: &'static str,
        hosts: Option<String>,
    ) -> Among {
        Among {
            comm,
            starts,
            transport,
            hosts,
        }
    }
}

/// Measures a cell for about `budget` among threads of this process.
pub fn measure(cell: &Cell, budget: (Duration, Least)) -> Record {
    let done = threads::run(cell.ranks as usize, |comm| {
        let calls = (std::slice::from_ref(cell), By::Name);
        run_rank(calls, &comm, &mut Starts::Near, budget)
    });
    let samples = match done {
        Err(error) => Samples {
            failure: Some(error.to_string()),
            ..Samples::default()
        },
        Ok(ranks) => ranks.into_iter().next().unwrap_or_default(),
    };
    record(cell, samples, "threads")
}

/// Measures a cell for about `budget` among processes, each of which calls this; what rank 0 gets is of all.
pub fn measure_among(cell: &Cell, among: &mut Among, budget: (Duration, Least)) -> Record {
    measure_calls((std::slice::from_ref(cell), By::Name), among, budget)
}

/// Measures calls that are made one after another, from a common start to the last rank's end of the last one; the record is that of the
/// first cell otherwise.
///
/// # Panics
/// Without a cell.
pub fn measure_calls(calls: (&[Cell], By), among: &mut Among, budget: (Duration, Least)) -> Record {
    let cell = &calls.0[0];
    let Among {
        comm,
        starts,
        transport,
        hosts,
    } = among;
    let samples = run_rank(calls, comm, starts, budget);
    let nodes = comm.nodes();
    let is_apart =
        matches!(starts, Starts::Far(_)) || nodes.innermost(comm.size() as u32).len() > 1;
    Record {
        hosts: hosts.clone(),
        nodes: is_apart.then(|| nodes.to_string()),
        clock_us: starts.take_wrong_by_us(),
        ..record(cell, samples, transport)
    }
}

/// How many of so many iterations are not counted.
fn warm_up(iterations: usize) -> usize {
    if iterations >= Least::Three.iterations() {
        WARM_UP
    } else {
        // A single one that counts is better than none.
        iterations.saturating_sub(1).min(1)
    }
}

fn record(cell: &Cell, samples: Samples, transport: &'static str) -> Record {
    let Samples {
        ns,
        own_ns,
        first_ns,
        rising_ns,
        failure,
    } = samples;
    let timed = ns.iter().skip(warm_up(ns.len()));
    let mut times: Vec<f64> = timed.map(|ns| *ns as f64 / 1e3).collect();
    let own_us = own_ns.map(|ns| if times.is_empty() { f64::NAN } else { ns / 1e3 });
    times.sort_by(f64::total_cmp);
    let at = |q: f64| {
        times
            .get(((times.len() as f64 - 1.0) * q).round() as usize)
            .copied()
            .unwrap_or(f64::NAN)
    };
    Record {
        collective: cell.algorithm.collective.name().into(),
        algorithm: cell.name(),
        ranks: cell.ranks,
        bytes: cell.bytes,
        total_bytes: total_bytes(cell),
        root: cell.root,
        iterations: times.len(),
        min_us: at(0.0),
        median_us: at(0.5),
        p99_us: at(0.99),
        q1_us: at(0.25),
        q3_us: at(0.75),
        rank_min_us: own_us[0],
        rank_avg_us: own_us[1],
        rank_max_us: own_us[2],
        first_us: first_ns / 1e3,
        spread_us: [
            thinned(times.iter().copied()),
            thinned(rising_ns.iter().map(|ns| *ns as f64 / 1e3)),
        ],
        correct: failure.is_none() && !times.is_empty(),
        transport: transport.into(),
        hosts: None,
        nodes: None,
        clock_us: None,
        machine: machine().into(),
        version: env!("CARGO_PKG_VERSION").into(),
        layout: (cell.spread != Spread::Regular).then(|| cell.spread.to_string()),
        element: cell.elements.element().map(Into::into),
        operator: cell.elements.operator().map(Into::into),
        torus: cell.torus.map(|torus| torus.to_string()),
        fresh: cell.fresh,
        rounds_us: Vec::new(),
        failure,
    }
}

/// The bytes of data that all ranks have, before or after the call, whichever is more on one rank.
pub fn total_bytes(cell: &Cell) -> usize {
    match cell.algorithm.collective {
        Collective::Scatter | Collective::Gather | Collective::Allgather | Collective::Alltoall => {
            cell.bytes * cell.ranks as usize
        }
        Collective::Barrier
        | Collective::Broadcast
        | Collective::ReduceScatter
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => cell.bytes,
    }
}

/// One rank's part: iterations until rank 0 says that the time is up.
fn run_rank(
    calls: (&[Cell], By),
    comm: &Communicator,
    starts: &mut Starts,
    (budget, least): (Duration, Least),
) -> Samples {
    /// More calls that count for nothing than these are not waited for, where others have no more.
    const MISSED: usize = 50;
    let mut samples = Samples::default();
    if let Err(error) = comm.set_torus(calls.0[0].torus) {
        samples.failure = Some(error.to_string());
        return samples;
    }
    let begin = Instant::now();
    let goes_on = |made: usize, counted: usize| {
        let may_go_on = || begin.elapsed() < budget && !interrupt::is_asked();
        let is_little = counted < least.iterations() && made < least.iterations() + MISSED;
        is_little || (counted < WARM_UP + MOST && may_go_on())
    };
    if let Err(error) = iterate(calls, comm, (starts, &mut samples), &goes_on) {
        samples.failure.get_or_insert(error.to_string());
    }
    if samples.ns.is_empty() {
        let says = "no call began on all ranks at the moment that was agreed on: right would be ranks with cores of their own";
        samples.failure.get_or_insert(says.into());
    }
    samples
}

/// Calls, each from a start of all ranks to its end and the check of what came out; `goes_on` says by how many there were, and how many
/// of these count, whether there is to be another.
fn iterate(
    (cells, by): (&[Cell], By),
    comm: &Communicator,
    (starts, samples): (&mut Starts, &mut Samples),
    goes_on: &dyn Fn(usize, usize) -> bool,
) -> Result<(), Error> {
    let buffers = |cell: &Cell| cell.elements.buffers(cell, comm.rank(), comm.size());
    let mut workloads: Vec<Box<dyn Buffers>> = cells.iter().map(buffers).collect();
    let name = |cell: &Cell| format!("{}:{}", cell.algorithm.name, cell.parameters);
    let names: Vec<String> = cells.iter().map(name).collect();
    let mut wrong = None;
    for iteration in 0.. {
        if cells[0].fresh {
            workloads = cells.iter().map(buffers).collect();
        }
        let filled = workloads.iter_mut().map(|workload| {
            workload.fill(iteration as u64);
            workload.operation()
        });
        // They are made beforehand: what they allocate is no part of a call.
        let operations: Vec<Operation<'_>> = match by {
            By::Name => filled
                .zip(&names)
                .map(|(operation, name)| operation.algorithm(name))
                .collect(),
            By::Policy | By::PolicyAndReduction => filled.collect(),
        };
        let Some(start) = starts.next(comm, goes_on(iteration, samples.ns.len()))? else {
            break;
        };
        for operation in operations {
            comm.run(operation)?;
        }
        if by == By::PolicyAndReduction {
            workloads
                .iter_mut()
                .for_each(|workload| workload.combine_own());
        }
        let end = now_ns();
        if starts.ended(comm)? {
            samples.ns.push(end.saturating_sub(start));
        }
        if let Some(what) = workloads
            .iter()
            .find_map(|workload| workload.wrong(iteration as u64))
        {
            wrong.get_or_insert(format!(
                "rank {}, iteration {iteration}: {what}",
                comm.rank()
            ));
        }
    }
    let first_wrong = gathered(comm, samples, wrong.is_some())?;
    comm.allreduce_in_place(&mut samples.ns, Max)?;
    if let Some(rank) = first_wrong {
        samples.failure = wrong.or(Some(format!("rank {rank} got a wrong result")));
    }
    Ok(())
}

/// What ranks tell one another at the end: of their times to their own ends the least mean, the mean and the most, and the first
/// rank's median, for `samples`; and which rank is the first with a wrong result.
fn gathered(
    comm: &Communicator,
    samples: &mut Samples,
    is_wrong: bool,
) -> Result<Option<usize>, Error> {
    let mut timed = samples.ns[warm_up(samples.ns.len())..].to_vec();
    let mean = timed.iter().sum::<u64>() as f64 / timed.len().max(1) as f64;
    timed.sort_unstable();
    let median = timed.get(timed.len() / 2).map_or(f64::NAN, |ns| *ns as f64);
    let mut all = vec![[0.0; 3]; comm.size()];
    let own = [mean, median, f64::from(u8::from(is_wrong))];
    comm.allgather(&own, all.as_flattened_mut())?;
    let means = || all.iter().map(|[mean, ..]| *mean);
    samples.own_ns = [
        means().fold(f64::INFINITY, f64::min),
        means().sum::<f64>() / comm.size() as f64,
        means().fold(0.0, f64::max),
    ];
    samples.first_ns = all[0][1];
    samples.rising_ns = timed;
    Ok(all.iter().position(|[.., wrong]| *wrong > 0.0))
}

/// This machine's name.
fn machine() -> &'static str {
    static MACHINE: OnceLock<String> = OnceLock::new();
    MACHINE.get_or_init(policy::machine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands_core::algorithm;

    #[test]
    fn a_record_of_a_failure_can_be_handed_on() {
        let barrier = algorithm::find(Collective::Barrier, "dissemination").expect("it is there");
        let cell = Cell::regular((barrier, ""), 2, 8);
        let failure = Some("rank 1 got a wrong result".to_string());
        let failed = record(
            &cell,
            Samples {
                failure,
                ..Samples::default()
            },
            "threads",
        );
        let text = serde_json::to_string(&failed).expect("it is written");
        let read: Record = serde_json::from_str(&text).expect("it is read");
        assert!(read.median_us.is_nan() && !read.correct);
        assert_eq!(read.failure, failed.failure);
    }
}
