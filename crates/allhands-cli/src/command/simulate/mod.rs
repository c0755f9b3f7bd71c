//! `allhands simulate`: calls run in virtual time on the model of a machine.

mod cell;
pub(super) mod machine;

use super::bench::report;
use crate::ranks::Ranks;
use crate::{names, output};
use allhands_core::algorithm::{self, Algorithm};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::Nodes;
use allhands_core::schedule::{Extent, Layout, Moving, Plan, PlanItem, PlanOp, Shape};
use anyhow::{Context, ensure};
use machine::Machine;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Run calls in virtual time, on the model of a machine
///
/// The same interpreter that takes calls further on real transports does so here; how long everything takes,
/// the machine's file says. The same arguments give the same times, to the picosecond. Elements are of 8 bytes.
/// Flat machines: hockney and loggp. Cell processors: cell (8 ranks), cell-blade (16), cell-cluster and roadrunner (blades
/// under further levels). Or a file of your own like theirs.
///
/// Exit status 2 when the arguments are wrong.
///
/// Examples:
///   allhands simulate allreduce --machine hockney --ranks 64 --bytes 8,64K
///   allhands simulate broadcast --machine cell-blade --ranks 16 --bytes 64,32K
///   allhands simulate alltoall --machine loggp --algorithm pairwise -n 1024 --bytes 8 --json times.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The collective
    #[arg(value_parser = names::collective)]
    collective: Collective,

    /// The machine: hockney, loggp, cell, cell-blade, cell-cluster, roadrunner, or FILE.toml
    #[arg(long)]
    machine: String,

    /// The algorithm, NAME or NAME:key=value,…, or all
    #[arg(long, default_value = "all")]
    algorithm: String,

    /// Numbers of ranks: 8, 2,4,8, 1-64 or 1..=64
    #[arg(long, short = 'n', default_value = "8")]
    ranks: Ranks,

    /// Sizes, such as 8,1K,1M: a block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise
    #[arg(long, value_delimiter = ',', value_parser = super::bench::bytes, default_values = ["8", "1K", "64K"])]
    bytes: Vec<usize>,

    /// Which ranks share a node: one, 4x4 (4 nodes of 4 ranks), 2x2x4 (levels, outermost first) or 3,5,2
    #[arg(long, default_value_t)]
    nodes: Nodes,

    /// The root
    #[arg(long, default_value_t = 0)]
    root: u32,

    /// Write a JSON array of {collective, algorithm, machine, ranks, bytes, completion_us, messages, events, wall_s, peak_bytes} ('-': standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Serialize)]
struct Record {
    collective: &'static str,
    algorithm: String,
    machine: String,
    ranks: u32,
    bytes: usize,
    completion_us: f64,
    messages: u64,
    events: u64,
    wall_s: f64,
    /// The most memory that the program has had so far, if the system says.
    peak_bytes: Option<u64>,
}

/// Simulates everything and prints it.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let machine = Machine::find(&arguments.machine)?;
    for &ranks in &arguments.ranks.0 {
        machine.admits(ranks)?;
    }
    let mut out: Box<dyn Write> = match &arguments.json {
        Some(path) if path == Path::new("-") => Box::new(std::io::stderr()),
        _ => Box::new(std::io::stdout().lock()),
    };
    writeln!(out, "{}: {}\n", machine.name, machine.about)?;
    writeln!(
        out,
        "{:<32}{:>8}{:>10}{:>15}{:>12}{:>12}{:>9}",
        arguments.collective, "ranks", "bytes", "completion µs", "messages", "events", "wall s"
    )?;
    let mut records = Vec::new();
    for &ranks in &arguments.ranks.0 {
        let call = call(arguments, ranks)?;
        let candidates = candidates(arguments, call)?;
        for &bytes in &arguments.bytes {
            for (algorithm, shape, name) in &candidates {
                let record = match simulated(&machine, algorithm, shape, name, bytes) {
                    // Among all, one that is too large is no reason to leave out the others.
                    Err(error) if arguments.algorithm == "all" && error.is::<TooLarge>() => {
                        writeln!(
                            out,
                            "{name:<32}{ranks:>8}{:>10}  left out: {error}",
                            report::size(bytes)
                        )?;
                        continue;
                    }
                    done => done?,
                };
                writeln!(
                    out,
                    "{:<32}{:>8}{:>10}{:>15.2}{:>12}{:>12}{:>9.3}",
                    record.algorithm,
                    ranks,
                    report::size(bytes),
                    record.completion_us,
                    record.messages,
                    record.events,
                    record.wall_s
                )?;
                records.push(record);
            }
        }
    }
    if let Some(file) = &arguments.json {
        output::write_json(file, &records)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn call(arguments: &Arguments, ranks: u32) -> anyhow::Result<Call> {
    let root = arguments.root;
    ensure!(
        root < ranks,
        "the root is {root}; with {ranks} ranks it is one of 0..{ranks}"
    );
    let root = if arguments.collective.rooted() {
        root
    } else {
        0
    };
    Ok(Call {
        root,
        ..Call::new(arguments.collective, ranks)
    })
}

/// An algorithm with a shape, as it is typed.
type Candidate = (&'static Algorithm, Shape, String);

/// The algorithm that is named, or all in their default setting that fit.
fn candidates(arguments: &Arguments, call: Call) -> anyhow::Result<Vec<Candidate>> {
    if arguments.algorithm != "all" {
        let (algorithm, parameters) = names::algorithm(call.collective, &arguments.algorithm)?;
        let shape = names::shape(algorithm, call, parameters)?.on(arguments.nodes.clone());
        algorithm.admits(&shape)?;
        return Ok(vec![(algorithm, shape, arguments.algorithm.clone())]);
    }
    let mut all = Vec::new();
    for algorithm in algorithm::of(call.collective) {
        let shape = names::shape(algorithm, call, "")?.on(arguments.nodes.clone());
        if algorithm.admits(&shape).is_ok() {
            all.push((algorithm, shape, algorithm.name.to_string()));
        }
    }
    ensure!(!all.is_empty(), "no algorithm fits");
    Ok(all)
}

/// The plans of all ranks are too large to be simulated.
#[derive(Debug)]
struct TooLarge {
    /// The bytes that they would take.
    needed: u64,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the plans of all ranks take about {} GiB, and {} are the most: take fewer ranks, or an algorithm that does less on each",
            self.needed >> 30,
            MOST_BYTES >> 30
        )
    }
}

impl std::error::Error for TooLarge {}

/// What the plans of all ranks may take together.
const MOST_BYTES: u64 = 12 << 30;

/// About what a plan takes, with what the simulator keeps beside it.
fn held(plan: &Plan) -> u64 {
    /// Of an operation: itself, its lane, and when it is done.
    const OPERATION_BYTES: usize = size_of::<PlanOp>() + 48;
    let bytes = 512
        + plan.ops.len() * OPERATION_BYTES
        + plan.items.len() * size_of::<PlanItem>()
        + plan.extents.len() * size_of::<Extent>()
        // The rule, and where it stands.
        + plan.moving.len() * (size_of::<Moving>() + size_of::<Extent>());
    bytes as u64
}

/// The length of an element.
const ELEMENT_BYTES: usize = 8;

fn simulated(
    machine: &Machine,
    algorithm: &Algorithm,
    shape: &Shape,
    name: &str,
    bytes: usize,
) -> anyhow::Result<Record> {
    let (start, call) = (Instant::now(), shape.call);
    let layout = Layout::regular(call.collective, bytes / ELEMENT_BYTES);
    let lower = |rank| {
        Plan::lower(
            &algorithm.schedule(shape, rank),
            &call,
            &layout,
            ELEMENT_BYTES,
        )
    };
    let what = || format!("{} {name}", call.collective);
    let needed = held(&lower(call.root).with_context(what)?) * u64::from(call.ranks);
    if needed > MOST_BYTES {
        return Err(TooLarge { needed }.into());
    }
    let plans: Result<Vec<Plan>, _> = (0..call.ranks).map(lower).collect();
    let plans = plans.with_context(what)?;
    let outcome = machine.simulate(&plans)?;
    Ok(Record {
        collective: call.collective.name(),
        algorithm: name.to_string(),
        machine: machine.name.clone(),
        ranks: call.ranks,
        bytes,
        completion_us: outcome.completion_ps() as f64 / 1e6,
        messages: outcome.messages,
        events: outcome.events,
        wall_s: start.elapsed().as_secs_f64(),
        peak_bytes: peak_bytes(),
    })
}

/// The most memory that this program has had, where the system says.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}
