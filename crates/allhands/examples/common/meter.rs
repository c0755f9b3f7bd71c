//! The meter of an application's calls: how many of each kind and size there were, and what of the run's time they took.

use super::trace::Trace;
use super::{Failure, MESSAGES};
use allhands::{Communicator, Error};
use bytemuck::{Pod, Zeroable};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Calls of one kind whose sizes are between two powers of two, on one rank or on several.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Line {
    kind: [u8; 16],
    least_bytes: u64,
    most_bytes: u64,
    calls: u64,
    bytes: u64,
    time_ns: u64,
}

impl Line {
    fn new(kind: &str, bytes: usize, time: Duration) -> Line {
        let mut name = [0; 16];
        name[..kind.len()].copy_from_slice(kind.as_bytes());
        let bytes = bytes as u64;
        Line {
            kind: name,
            least_bytes: bytes,
            most_bytes: bytes,
            calls: 1,
            bytes,
            time_ns: time.as_nanos() as u64,
        }
    }

    /// Sizes up to the same power of two stand in one line.
    fn key(&self) -> ([u8; 16], u64) {
        (self.kind, self.most_bytes.max(1).next_power_of_two())
    }

    fn add(&mut self, other: &Line) {
        self.least_bytes = self.least_bytes.min(other.least_bytes);
        self.most_bytes = self.most_bytes.max(other.most_bytes);
        self.calls += other.calls;
        self.bytes += other.bytes;
        self.time_ns += other.time_ns;
    }

    fn name(&self) -> String {
        let length = self.kind.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(&self.kind[..length.unwrap_or(16)]).into_owned()
    }
}

/// Lines by kind and size.
#[derive(Default)]
struct Lines(BTreeMap<([u8; 16], u64), Line>);

impl Lines {
    fn add(&mut self, line: &Line) {
        let there = self.0.entry(line.key());
        there.and_modify(|sum| sum.add(line)).or_insert(*line);
    }
}

/// The calls of one rank since the meter was made.
pub struct Meter<'a> {
    comm: &'a Communicator,
    begun: Instant,
    lines: Lines,
    /// If the calls are to be written down.
    trace: Option<Trace>,
}

impl<'a> Meter<'a> {
    /// Begins when all ranks are there; writes down what is called, if there is a file for that.
    pub fn new(comm: &'a Communicator, file: Option<&Path>) -> Result<Meter<'a>, Failure> {
        let trace = file.map(|path| Trace::create(comm, path)).transpose()?;
        comm.barrier()?;
        Ok(Meter {
            comm,
            begun: Instant::now(),
            lines: Lines::default(),
            trace,
        })
    }

    /// Makes a call to which this rank hands so many bytes, of an alltoall v so many for each rank, and takes its time.
    pub fn call<T>(
        &mut self,
        kind: &'static str,
        bytes: &[usize],
        call: impl FnOnce(&Communicator) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        let result = call(self.comm)?;
        let took = begun.elapsed();
        self.lines.add(&Line::new(kind, bytes.iter().sum(), took));
        if let Some(trace) = self.trace.as_mut().filter(|_| kind != MESSAGES) {
            trace.add(kind, bytes);
        }
        Ok(result)
    }

    /// Ends the run: rank 0 prints what its calls took, as the mean of all ranks, and writes the trace.
    pub fn report(self) -> Result<(), Failure> {
        let run_ns = self.begun.elapsed().as_nanos() as u64;
        if let Some(trace) = self.trace {
            trace.write(self.comm)?;
        }
        let mine: Vec<Line> = self.lines.0.into_values().collect();
        let runs_ns = self.comm.gather_value(run_ns, 0)?;
        let (Some(all), Some(runs_ns)) = (self.comm.gather_vec(&mine, 0)?, runs_ns) else {
            return Ok(());
        };
        let mut lines = Lines::default();
        all.elements().iter().for_each(|line| lines.add(line));
        let ranks = self.comm.size() as f64;
        print_lines(&lines, ranks, runs_ns.iter().sum::<u64>() as f64 / ranks);
        Ok(())
    }
}

fn print_lines(lines: &Lines, ranks: f64, run_ns: f64) {
    let in_calls_ns = lines.0.values().map(|line| line.time_ns).sum::<u64>() as f64 / ranks;
    println!(
        "{:.3} s, of which {:.1} % in calls, waiting for other ranks included; a rank's mean of {ranks}:",
        run_ns / 1e9,
        100.0 * in_calls_ns / run_ns
    );
    println!(
        "{:<15} {:>15} {:>9} {:>12} {:>10} {:>10} {:>7}",
        "kind", "bytes a call", "calls", "bytes", "seconds", "us a call", "share"
    );
    for line in lines.0.values() {
        let size = match line.least_bytes == line.most_bytes {
            true => line.most_bytes.to_string(),
            false => format!("{}-{}", line.least_bytes, line.most_bytes),
        };
        println!(
            "{:<15} {size:>15} {:>9.1} {:>12.0} {:>10.6} {:>10.1} {:>6.1}%",
            line.name(),
            line.calls as f64 / ranks,
            line.bytes as f64 / ranks,
            line.time_ns as f64 / ranks / 1e9,
            line.time_ns as f64 / line.calls as f64 / 1e3,
            100.0 * line.time_ns as f64 / ranks / run_ns,
        );
    }
}
