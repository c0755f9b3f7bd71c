//! A cell of the benchmark: one algorithm at one size, run until its time is up.

use super::spread::Spread;
use super::workload::Workload;
use allhands::{Error, operation, threads};
use allhands_core::algorithm::Algorithm;
use allhands_core::call::Collective;
use serde::Serialize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What to measure.
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
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    pub collective: &'static str,
    pub algorithm: String,
    pub ranks: u32,
    pub bytes: usize,
    pub total_bytes: usize,
    pub root: u32,
    pub iterations: usize,
    pub min_us: f64,
    pub median_us: f64,
    pub p99_us: f64,
    pub correct: bool,
    /// The layout, if it is not regular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Iterations that are run but not timed.
const WARM_UP: usize = 2;
/// The fewest timed iterations, however long they take.
const LEAST: usize = 3;
/// Enough for a median and a p99.
const MOST: usize = 2000;

/// The times of all iterations, filled in by the ranks.
struct Clock {
    origin: Instant,
    /// For each iteration: the first start and the last end, in nanoseconds from the origin.
    spans: Vec<(AtomicU64, AtomicU64)>,
    stop: AtomicBool,
    failure: Mutex<Option<String>>,
}

/// Measures a cell for about `budget`.
pub fn measure(cell: &Cell, budget: Duration) -> Record {
    let fresh = || (AtomicU64::new(u64::MAX), AtomicU64::new(0));
    let clock = Clock {
        origin: Instant::now(),
        spans: (0..WARM_UP + MOST).map(|_| fresh()).collect(),
        stop: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    let done = threads::run(cell.ranks as usize, |comm| {
        run_rank(cell, &comm, &clock, budget)
    });
    let failure = match done {
        Err(error) => Some(error.to_string()),
        Ok(ranks) => ranks
            .into_iter()
            .find_map(Result::err)
            .map(|error| error.to_string()),
    };
    let failure = clock
        .failure
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .or(failure);
    let span = |(start, end): &(AtomicU64, AtomicU64)| {
        let (start, end) = (start.load(Ordering::Relaxed), end.load(Ordering::Relaxed));
        end.checked_sub(start).map(|ns| ns as f64 / 1000.0)
    };
    let mut times: Vec<f64> = clock.spans.iter().skip(WARM_UP).map_while(span).collect();
    times.sort_by(f64::total_cmp);
    let at = |q: f64| {
        times
            .get(((times.len() as f64 - 1.0) * q).round() as usize)
            .copied()
            .unwrap_or(f64::NAN)
    };
    let name = match cell.parameters.as_str() {
        "" => cell.algorithm.name.to_string(),
        parameters => format!("{}:{parameters}", cell.algorithm.name),
    };
    Record {
        collective: cell.algorithm.collective.name(),
        algorithm: name,
        ranks: cell.ranks,
        bytes: cell.bytes,
        total_bytes: total_bytes(cell),
        root: cell.root,
        iterations: times.len(),
        min_us: at(0.0),
        median_us: at(0.5),
        p99_us: at(0.99),
        correct: failure.is_none() && !times.is_empty(),
        layout: (cell.spread != Spread::Regular).then(|| cell.spread.to_string()),
        failure,
    }
}

/// The bytes of data that all ranks have, before or after the call, whichever is more on one rank.
fn total_bytes(cell: &Cell) -> usize {
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

fn run_rank(
    cell: &Cell,
    comm: &allhands::Communicator,
    clock: &Clock,
    budget: Duration,
) -> Result<(), Error> {
    let mut workload = Workload::new(cell, comm.rank(), comm.size());
    let name = format!("{}:{}", cell.algorithm.name, cell.parameters);
    let begin = Instant::now();
    for (iteration, (start, end)) in clock.spans.iter().enumerate() {
        workload.fill(iteration as u64);
        let operation = workload.operation().algorithm(&name);
        comm.barrier()?;
        let started = clock.origin.elapsed().as_nanos() as u64;
        comm.run(operation)?;
        let ended = clock.origin.elapsed().as_nanos() as u64;
        start.fetch_min(started, Ordering::Relaxed);
        end.fetch_max(ended, Ordering::Relaxed);
        if let Some(wrong) = workload.wrong(iteration as u64) {
            let mut failure = clock
                .failure
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            failure.get_or_insert(format!(
                "rank {}, iteration {iteration}: {wrong}",
                comm.rank()
            ));
        }
        // One rank decides, before a barrier, so that all see the same.
        if comm.rank() == 0 && iteration + 1 >= WARM_UP + LEAST && begin.elapsed() > budget {
            clock.stop.store(true, Ordering::Relaxed);
        }
        comm.run(operation::barrier())?;
        if clock.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(())
}
