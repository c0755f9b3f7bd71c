//! `allhands verify`: proofs for numbers of ranks and roots.

mod cases;
mod file;
mod machine;
mod none;

use crate::ranks::Ranks;
use crate::{names, output};
use allhands_core::algorithm::{Algorithm, Requirement};
use allhands_core::call::Collective;
use allhands_core::machine::{Fabrics, Nodes, Torus};
use allhands_core::schedule::Shape;
use allhands_core::verify::{self, Proof, Report};
use cases::{Case, LEFT_OUT, cases};
use indicatif::{ProgressBar, ProgressStyle};
use machine::Machine;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Prove that algorithms are right for numbers of ranks and roots
///
/// Every send meets its receive; it ends even when nothing is buffered; each contribution counts
/// exactly once and in order; nothing is read before it is written; no two operations in flight
/// touch the same bytes; and steps, volume and work are what the algorithm claims. With up to
/// 64 ranks the lowered form, which is what runs, is run on real elements too.
///
/// Of more than 16 ranks, a root whose schedules are those for another root with all ranks turned round by the distance between
/// the two, which is looked up operation by operation, is not run again; the last line but one says how many there are.
///
/// Keys of --json: collective, algorithm, parameters, ranks, root, turned_from, nodes, torus, ports, ok, steps, volume, work,
/// bound_steps, bound_volume.
///
/// A file of schedules in their text form (those in testdata/schedules are examples; the documentation of
/// allhands_core::schedule::text has the grammar) is proved as it stands: laws 1 to 5, over two calls in a row if it has
/// windows, what its line `claims` says, and the lowered form. What its lines `test` and `expect` say is for tests alone.
///
/// Exit status 1 when a proof fails, 2 when the arguments or the file are wrong.
///
/// Examples:
///   allhands verify --ranks 1..=64 --all-roots
///   allhands verify allreduce --algorithm hierarchical --ranks 16 --nodes 4x4
///   allhands verify broadcast --torus 4x4x2:torus --all-roots
///   allhands verify --machine bluegene-l:4x4x4:torus
///   allhands verify allgather --algorithm bruck:radix=4 --ranks 13 --json proofs.json
///   allhands verify mine.sched
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Only this collective; or a file of schedules, FILE.sched, instead of registered algorithms
    #[arg(value_name = "COLLECTIVE|FILE", value_parser = subject)]
    what: Option<Subject>,

    /// Only this algorithm, NAME or NAME:key=value,… (without parameters: every registered setting)
    #[arg(long, requires = "what")]
    algorithm: Option<String>,

    /// Numbers of ranks: 8, 2,4,8, 1-64 or 1..=64 (of more than 16 numbers, unless an algorithm is named, every 15th beyond 64 ranks
    /// where ranks have windows, or a message or a step for each other rank)
    /// [default: 1..=16]
    #[arg(long, short = 'n')]
    ranks: Option<Ranks>,

    /// Only these nodes: one, 4x4 (4 nodes of 4 ranks), 2x2x4 (levels, outermost first) or 3,5,2 (otherwise each algorithm
    /// that asks for nodes on several; rooted ones beyond 16 ranks on another for each root, and all beyond 64 ranks on nodes of
    /// two, with the default setting)
    #[arg(long)]
    nodes: Option<Nodes>,

    /// Only algorithms that ask for a mesh or torus, on this one and its ranks: 4x4x2 (a torus from 512 nodes on), 4x4x4:torus,
    /// 8x8x8:mesh or 8x4x4:x (only x wraps around); rank = x + X·(y + Y·z) (otherwise on several)
    #[arg(long, conflicts_with = "ranks")]
    torus: Option<Torus>,

    /// Only algorithms that ask for what this machine has, on all its ranks, with every root: bluegene-l:4x4x2,
    /// bluegene-l:8x8x8:mesh, bluegene-l:4x4x4:torus
    #[arg(long, conflicts_with_all = ["ranks", "torus"])]
    machine: Option<Machine>,

    /// Every root (otherwise the first rank and one in the middle; beyond 64 ranks only that one)
    #[arg(long)]
    all_roots: bool,

    #[command(flatten)]
    json: output::Json,

    /// Print only failures and the last line
    #[arg(long, short)]
    quiet: bool,
}

/// What is to be proved.
#[derive(Clone, Debug)]
enum Subject {
    /// Registered algorithms.
    Collective(Collective),
    /// Schedules of one's own.
    File(PathBuf),
}

/// Reads a collective's name, or that of a file: what ends in `.sched`, or has a folder before it.
fn subject(text: &str) -> Result<Subject, String> {
    let is_file = text.ends_with(".sched") || text.contains(std::path::MAIN_SEPARATOR);
    if is_file {
        return Ok(Subject::File(text.into()));
    }
    let found = names::collective(text).map(Subject::Collective);
    found.map_err(|why| format!("{why} (a file of schedules ends in .sched)"))
}

impl Arguments {
    /// The collective that is named, if one is.
    fn collective(&self) -> Option<Collective> {
        match self.what {
            Some(Subject::Collective(collective)) => Some(collective),
            Some(Subject::File(_)) | None => None,
        }
    }

    /// Whether an algorithm asks for the torus or the machine that is named, if one is.
    fn asks_for_it(&self, algorithm: &Algorithm) -> bool {
        let torus = algorithm.requires.contains(&Requirement::Torus);
        if self.on_several_a_node() {
            return algorithm.layers.is_some();
        }
        match (&self.machine, self.torus) {
            (Some(_), _) => torus || algorithm.fabrics() != Fabrics::default(),
            (None, Some(_)) => torus,
            (None, None) => true,
        }
    }

    /// Those of the torus or the machine, or what is typed.
    fn numbers_of_ranks(&self) -> Vec<u32> {
        match self.place() {
            Some(_) if self.on_several_a_node() => vec![self.ranks_on_nodes()],
            Some(torus) => vec![torus.ranks()],
            None => match &self.ranks {
                Some(ranks) => ranks.0.clone(),
                None => (1..=16).collect(),
            },
        }
    }

    /// The torus that is named, or that of the machine.
    fn place(&self) -> Option<Torus> {
        let machine = self.machine.as_ref().map(|machine| machine.torus);
        self.torus.or(machine)
    }

    /// The ranks on the nodes that are named: none, if nothing or `one` is.
    fn ranks_on_nodes(&self) -> u32 {
        let nodes = self.nodes.as_ref();
        nodes.map_or(0, |nodes| nodes.sizes(0).iter().sum())
    }

    /// Whether the nodes of the torus have several ranks.
    fn on_several_a_node(&self) -> bool {
        let ranks = self.ranks_on_nodes();
        self.place().is_some_and(|torus| torus.ranks() < ranks)
    }
}

#[derive(Serialize)]
struct Record {
    collective: &'static str,
    algorithm: &'static str,
    parameters: String,
    ranks: u32,
    root: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    turned_from: Option<u32>,
    nodes: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    torus: Option<String>,
    ports: u32,
    ok: bool,
    steps: u32,
    volume: f64,
    work: f64,
    bound_steps: u32,
    bound_volume: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

/// Makes the proofs; exit status 1 if any fails.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    arguments.json.check()?;
    if let Some(Subject::File(path)) = &arguments.what {
        return file::run(path, arguments);
    }
    let (cases, left_out) = cases(arguments)?;
    let start = std::time::Instant::now();
    let records = prove(&cases, arguments.quiet);
    let failed = records.iter().filter(|r| !r.ok).count();
    arguments.json.write(&records)?;
    let mut out = arguments.json.beside();
    if !arguments.quiet {
        summary(&mut out, &records)?;
    }
    for record in records.iter().filter(|r| !r.ok).take(50) {
        let Record {
            collective,
            algorithm,
            parameters,
            ranks,
            root,
            nodes,
            torus,
            failure,
            ..
        } = record;
        let failure = failure.as_deref().unwrap_or_default();
        let torus = torus
            .iter()
            .map(|torus| format!(" torus {torus}"))
            .collect::<String>();
        writeln!(
            out,
            "FAILED {collective} {algorithm}:{parameters} ranks {ranks} root {root} nodes {nodes}{torus}: {failure}"
        )?;
    }
    if left_out > 0 {
        writeln!(out, "({left_out} left out: {LEFT_OUT})")?;
    }
    let turned = records.iter().filter(|r| r.turned_from.is_some()).count();
    if turned > 0 {
        writeln!(out, "({turned} by the proof for another root: {TURNED})")?;
    }
    let seconds = start.elapsed().as_secs_f64();
    writeln!(
        out,
        "{} proofs, {} passed, {failed} failed, in {seconds:.1} s",
        records.len(),
        records.len() - failed
    )?;
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Why some roots are not run, for the output.
const TURNED: &str =
    "their schedules are the same with all ranks turned round, operation by operation";

/// Proves all cases on all cores, in the order of the cases; those that differ in the root alone together.
fn prove(cases: &[Case], quiet: bool) -> Vec<Record> {
    let next = AtomicUsize::new(0);
    let jobs: Vec<&[Case]> = cases.chunk_by(Case::differs_in_root).collect();
    let bar = progress_bar(cases, quiet);
    let work = || {
        let mut mine = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at) else {
                return mine;
            };
            mine.push((at, prove_roots(job)));
            bar.inc(job.iter().map(cost).sum());
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut records: Vec<(usize, Vec<Record>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|w| {
                w.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    });
    bar.finish_and_clear();
    records.sort_by_key(|(at, _)| *at);
    records
        .into_iter()
        .flat_map(|(_, records)| records)
        .collect()
}

/// About what a proof costs beside others: what all ranks do, each with some of the others.
fn cost(case: &Case) -> u64 {
    u64::from(case.shape.ranks()).pow(2)
}

/// Says on a terminal how much is proved, and how long the rest takes at this pace.
fn progress_bar(cases: &[Case], quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {percent} % of {msg} proofs, {eta} left");
    let bar = ProgressBar::new(cases.iter().map(cost).sum());
    bar.set_message(cases.len().to_string());
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Proves cases that differ in the root alone.
fn prove_roots(cases: &[Case]) -> Vec<Record> {
    let shapes: Vec<Shape> = cases.iter().map(|case| case.shape.clone()).collect();
    let proofs = verify::verify_roots(cases[0].algorithm, &shapes);
    let both = cases.iter().zip(proofs);
    both.map(|(case, proof)| record(case, proof)).collect()
}

fn record(case: &Case, proof: Proof) -> Record {
    let failure = proof.report.as_ref().err().map(ToString::to_string);
    let nothing = Report {
        ports: 0,
        steps: 0,
        volume: 0.0,
        work: 0.0,
        bound_steps: 0,
        bound_volume: 0.0,
    };
    let Report {
        ports,
        steps,
        volume,
        work,
        bound_steps,
        bound_volume,
    } = proof.report.unwrap_or(nothing);
    Record {
        collective: case.algorithm.collective.name(),
        algorithm: case.algorithm.name,
        parameters: case.parameters.clone(),
        ranks: case.shape.ranks(),
        root: case.shape.call.root,
        turned_from: proof.turned_from,
        nodes: case.shape.nodes.to_string(),
        torus: case.shape.torus.map(|torus| torus.to_string()),
        ports,
        ok: failure.is_none(),
        steps,
        volume,
        work,
        bound_steps,
        bound_volume,
        failure,
    }
}

/// A line for each algorithm and setting: what was proved, and its cost at the largest number of ranks.
fn summary(out: &mut dyn Write, records: &[Record]) -> anyhow::Result<()> {
    let mut groups: std::collections::BTreeMap<_, Vec<&Record>> = std::collections::BTreeMap::new();
    for record in records {
        let collective = Collective::from_name(record.collective);
        groups
            .entry((collective, record.algorithm, &record.parameters))
            .or_default()
            .push(record);
    }
    let mut table = output::table(&[
        "collective",
        "algorithm",
        "parameters",
        "proofs",
        "ranks",
        "ports",
        "steps",
        "≥",
        "volume",
        "≥",
        "work",
    ]);
    for ((_, algorithm, parameters), group) in groups {
        let Some(largest) = group.iter().max_by_key(|r| r.ranks) else {
            continue;
        };
        let least = group.iter().map(|r| r.ranks).min().unwrap_or(0);
        let proofs = format!(
            "{}{}",
            group.len(),
            if group.iter().all(|r| r.ok) {
                ""
            } else {
                " FAILED"
            }
        );
        table.add_row([
            largest.collective.to_string(),
            algorithm.to_string(),
            parameters.clone(),
            proofs,
            format!("{least}..{}", largest.ranks),
            largest.ports.to_string(),
            largest.steps.to_string(),
            largest.bound_steps.to_string(),
            format!("{:.3}", largest.volume),
            format!("{:.3}", largest.bound_volume),
            format!("{:.3}", largest.work),
        ]);
    }
    writeln!(out, "{}", table.trim_fmt())?;
    writeln!(
        out,
        "(costs at the largest number of ranks, beside what none can beat; volume and work in multiples of the bytes)"
    )?;
    Ok(())
}
