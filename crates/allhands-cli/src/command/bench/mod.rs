//! `allhands bench`: every algorithm on real data among real ranks, timed and checked.

pub(super) mod cell;
mod limit;
mod processes;
pub(super) mod report;
pub(super) mod spread;
mod workload;

use super::{memory, plot};
use crate::ranks::Ranks;
use crate::{names, output};
use allhands::launch::Nodes;
use allhands_core::algorithm::{self, Algorithm};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::Torus;
use cell::{Cell, Record};
use indicatif::{ProgressBar, ProgressStyle};
use spread::Spread;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Run algorithms on real data: check every result, show what is fastest
///
/// Ranks are threads of this process or, with --transport shm, processes. A time is from the
/// moment at which all ranks start (which rank 0 says beforehand) to the last rank's end of one call;
/// inputs are new in every iteration. The table has a row for each collective and size: the fastest
/// algorithm, its median time, and how much longer the others take. `bench limit` measures what calls
/// must at least cost on this machine: line exchanges, context switches, copies.
///
/// Exit status 1 when a result is wrong, 2 when the arguments are.
///
/// Examples:
///   allhands bench --quick
///   allhands bench allreduce broadcast --ranks 2,4 --bytes 8,64K --json times.json
///   allhands bench alltoall --layout random:1
///   allhands bench --transport shm -n 64 --time 60
///   allhands bench allreduce --transport shm -n 8 --nodes 2x4
///   allhands bench broadcast -n 8 --torus 4x2 --algorithm torus-trees
///   allhands bench limit -n 2,8
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Only these collectives; or `limit`
    #[arg(value_parser = subject)]
    collectives: Vec<Subject>,

    /// Only this algorithm, NAME or NAME:key=value,… (for one collective)
    #[arg(long)]
    algorithm: Option<String>,

    /// Numbers of ranks: 8, 2,4,8, 1-64 or 1..=64
    #[arg(long, short = 'n', default_value = "8")]
    ranks: Ranks,

    /// Sizes, such as 8,1K,1M: a block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise
    #[arg(long, value_delimiter = ',', value_parser = bytes, default_values = ["8", "64", "512", "4K", "32K", "256K", "1M"])]
    bytes: Vec<usize>,

    /// The root
    #[arg(long, default_value_t = 0)]
    root: u32,

    /// The lengths of blocks: regular, uneven (a ramp from nothing to twice the size), random:SEED (up to twice the size)
    #[arg(long, default_value = "regular")]
    layout: Spread,

    /// What ranks are: threads of this process, or processes that share memory (shm)
    #[arg(long, default_value = "threads")]
    transport: Transport,

    /// Pretend nodes, with --transport shm: 2x4 is two of four ranks each
    #[arg(long, value_name = "NODESxRANKS")]
    nodes: Option<Nodes>,

    /// Pretend a mesh or torus of all ranks, for algorithms that ask for one: 4x2 (a mesh below 512 nodes), 4x2x2:torus, 4x2:x
    #[arg(long)]
    torus: Option<Torus>,

    /// Every registered setting of each algorithm, not its default alone
    #[arg(long)]
    settings: bool,

    /// New buffers in every iteration
    #[arg(long)]
    fresh: bool,

    /// Seconds for everything
    #[arg(long, value_name = "S", default_value_t = 100.0)]
    time: f64,

    /// Three sizes in under 15 seconds
    #[arg(long)]
    quick: bool,

    /// Write a JSON array of {collective, algorithm, ranks, bytes, total_bytes, root, iterations, min_us, median_us, p99_us, correct} ('-': standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Where the plots go, one SVG for each collective and number of ranks
    #[arg(long, value_name = "FOLDER", default_value = "target/bench")]
    plots: PathBuf,
}

/// What ranks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Transport {
    /// Threads of this process.
    Threads,
    /// Processes that share memory.
    Shm,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// A collective.
    Of(Collective),
    /// What this machine allows.
    Limit,
}

fn subject(text: &str) -> Result<Subject, String> {
    match text {
        "limit" => Ok(Subject::Limit),
        _ => names::collective(text).map(Subject::Of),
    }
}

/// Reads `8`, `4K` or `1M`: a number of bytes.
pub(super) fn bytes(text: &str) -> Result<usize, String> {
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => text
            .strip_suffix(['M', 'm'])
            .map_or((text, 1), |digits| (digits, 1 << 20)),
    };
    let wrong =
        || format!("'{text}' is no size; type 8, 4K or 1M, up to 256M, in multiples of 8 bytes");
    let bytes: usize = digits
        .parse::<usize>()
        .ok()
        .and_then(|n| n.checked_mul(unit))
        .ok_or_else(wrong)?;
    if bytes.is_multiple_of(8) && bytes <= 256 << 20 {
        Ok(bytes)
    } else {
        Err(wrong())
    }
}

/// Runs the benchmark; exit status 1 if any result is wrong.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if arguments.collectives.contains(&Subject::Limit) {
        anyhow::ensure!(
            arguments.collectives.len() == 1,
            "limit stands alone, as in: allhands bench limit -n 2,8"
        );
        return limit::run(&arguments.ranks.0);
    }
    match arguments.transport {
        Transport::Threads => {
            anyhow::ensure!(
                arguments.nodes.is_none(),
                "--nodes pretends nodes among processes: add --transport shm"
            );
            among_threads(arguments)
        }
        Transport::Shm => processes::run(arguments),
    }
}

fn among_threads(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(ranks) = arguments.ranks.0.iter().find(|ranks| **ranks > 256) {
        anyhow::bail!("ranks are threads here: at most 256, not {ranks}");
    }
    let Rows {
        cells: rows,
        left_out,
    } = rows(arguments)?;
    let cells: usize = rows.iter().map(Vec::len).sum();
    anyhow::ensure!(
        cells > 0 || !left_out.is_empty(),
        "no algorithm fits; allhands list prints what each requires"
    );
    let (start, budget) = (Instant::now(), budget(arguments));
    let bar = progress_bar(cells);
    let mut out = table(arguments);
    report::head(&mut out, &arguments.ranks.0, "threads")?;
    let mut records: Vec<Record> = Vec::with_capacity(cells);
    for row in &rows {
        let first = records.len();
        for cell in row {
            // What is left is shared among the cells that are left, so late cells are not starved.
            let left = budget.saturating_sub(start.elapsed()) / (cells - records.len()) as u32;
            records.push(cell::measure(cell, left));
            bar.inc(1);
        }
        let row = &records[first..];
        bar.suspend(|| report::row(&mut out, row).and_then(|()| out.flush()))?;
    }
    bar.finish_and_clear();
    finish(arguments, &mut out, &records, &left_out, start)
}

/// The time for everything.
fn budget(arguments: &Arguments) -> Duration {
    let quick = if arguments.quick { 11.0 } else { f64::INFINITY };
    Duration::from_secs_f64(arguments.time.min(quick))
}

/// Where the table goes: to standard output, unless JSON goes there.
fn table(arguments: &Arguments) -> Box<dyn Write> {
    match &arguments.json {
        Some(path) if path == std::path::Path::new("-") => Box::new(std::io::stderr()),
        _ => Box::new(std::io::stdout().lock()),
    }
}

/// Writes what comes after the table; the exit status says whether every result was right.
fn finish(
    arguments: &Arguments,
    out: &mut dyn Write,
    records: &[Record],
    left_out: &[String],
    start: Instant,
) -> anyhow::Result<ExitCode> {
    if let Some(path) = &arguments.json {
        output::write_json(path, records)?;
    }
    let right = records.iter().filter(|record| record.correct);
    let points = right.map(|record| plot::Point {
        collective: &record.collective,
        ranks: record.ranks,
        algorithm: &record.algorithm,
        bytes: record.bytes,
        us: record.median_us,
    });
    let plots = plot::all(&arguments.plots, "median µs", points)?;
    let wrong = records.iter().filter(|r| !r.correct).count();
    report::all_left_out(out, left_out)?;
    report::tail(out, records, plots, &arguments.plots, start.elapsed())?;
    Ok(if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn progress_bar(cells: usize) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} cells, {eta} left");
    ProgressBar::new(cells as u64)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// The collectives to measure: those that were named, or all that fit.
fn collectives(arguments: &Arguments) -> anyhow::Result<Vec<Collective>> {
    let named = |subject: &Subject| match subject {
        Subject::Of(collective) => Some(*collective),
        Subject::Limit => None,
    };
    let mut collectives: Vec<_> = arguments.collectives.iter().filter_map(named).collect();
    let irregular = arguments.layout != Spread::Regular;
    if collectives.is_empty() {
        collectives.extend(Collective::ALL);
        collectives.retain(|c| !irregular || spread::has_irregular(*c));
    }
    if let Some(collective) = collectives.iter().find(|c| !spread::has_irregular(**c)) {
        anyhow::ensure!(
            !irregular,
            "--layout {}: {collective} has no irregular form; scatter, gather, allgather, alltoall and reduce-scatter have",
            arguments.layout
        );
    }
    anyhow::ensure!(
        arguments.algorithm.is_none() || collectives.len() == 1,
        "--algorithm needs one collective, as in: allhands bench allreduce --algorithm ring"
    );
    Ok(collectives)
}

/// What is to be measured, and what is not.
struct Rows {
    /// The cells: a row for each collective, number of ranks and size.
    cells: Vec<Vec<Cell>>,
    /// What would need more memory than the machine lends, in words.
    left_out: Vec<String>,
}

/// The cells to measure, those that the machine's memory holds.
fn rows(arguments: &Arguments) -> anyhow::Result<Rows> {
    let collectives = collectives(arguments)?;
    let sizes = if arguments.quick {
        vec![8, 4 << 10, 256 << 10]
    } else {
        arguments.bytes.clone()
    };
    let most_bytes = memory::most();
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for &ranks in &arguments.ranks.0 {
        anyhow::ensure!(
            arguments.root < ranks,
            "--root {}: the ranks are 0 to {}",
            arguments.root,
            ranks - 1
        );
        if let Some(torus) = arguments.torus {
            torus.check(ranks)?;
        }
        for &collective in &collectives {
            let sizes = if collective == Collective::Barrier {
                vec![0]
            } else {
                sizes.clone()
            };
            let root = if collective.rooted() {
                arguments.root
            } else {
                0
            };
            let call = Call {
                root,
                ..Call::new(collective, ranks)
            };
            for bytes in sizes {
                let mut row = Vec::new();
                for (algorithm, parameters) in candidates(arguments, collective)? {
                    let shape =
                        names::shape(algorithm, call, &parameters)?.on_torus(arguments.torus);
                    if algorithm.admits(&shape).is_err() {
                        continue;
                    }
                    let cell = Cell {
                        algorithm,
                        parameters,
                        ranks,
                        root,
                        bytes,
                        spread: arguments.layout,
                        torus: arguments.torus,
                        fresh: arguments.fresh,
                    };
                    let held = memory::of_call(algorithm, &shape, bytes);
                    if held <= most_bytes {
                        row.push(cell);
                    } else {
                        left_out.push(report::left_out(&cell, held, most_bytes));
                    }
                }
                rows.push(row);
            }
        }
    }
    rows.retain(|row| !row.is_empty());
    Ok(Rows {
        cells: rows,
        left_out,
    })
}

fn candidates(
    arguments: &Arguments,
    collective: Collective,
) -> anyhow::Result<Vec<(&'static Algorithm, String)>> {
    Ok(match &arguments.algorithm {
        Some(text) => {
            let (algorithm, parameters) = names::algorithm(collective, text)?;
            vec![(algorithm, parameters.to_string())]
        }
        None => algorithm::of(collective)
            .flat_map(|a| {
                let most = if arguments.settings { usize::MAX } else { 1 };
                let settings = a.settings.iter().take(most);
                settings.map(move |setting| (a, (*setting).to_string()))
            })
            .collect(),
    })
}
