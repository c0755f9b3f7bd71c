//! `allhands bench`: every algorithm on real data among real ranks, timed and checked.

mod cell;
mod plot;
mod report;
mod spread;
mod workload;

use crate::ranks::Ranks;
use crate::{names, output};
use allhands_core::algorithm::{self, Algorithm};
use allhands_core::call::{Call, Collective};
use cell::{Cell, Record};
use indicatif::{ProgressBar, ProgressStyle};
use spread::Spread;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Run algorithms on real data: check every result, show what is fastest
///
/// Ranks are threads of this process. A time is from the first rank's start to the last rank's
/// end of one call; starts are synchronised by a barrier, inputs are new in every iteration. The
/// table has a row for each collective and size: the fastest algorithm, its median time, and how
/// much longer the others take.
///
/// Exit status 1 when a result is wrong, 2 when the arguments are.
///
/// Examples:
///   allhands bench --quick
///   allhands bench allreduce broadcast --ranks 2,4 --bytes 8,64K --json times.json
///   allhands bench alltoall --layout random:1
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Only these collectives
    #[arg(value_parser = names::collective)]
    collectives: Vec<Collective>,

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

/// Reads `8`, `4K` or `1M`: a number of bytes.
fn bytes(text: &str) -> Result<usize, String> {
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
    let rows = rows(arguments)?;
    let cells: usize = rows.iter().map(Vec::len).sum();
    anyhow::ensure!(
        cells > 0,
        "no algorithm fits; allhands list prints what each requires"
    );
    let seconds = if arguments.quick {
        arguments.time.min(11.0)
    } else {
        arguments.time
    };
    let (start, budget) = (Instant::now(), Duration::from_secs_f64(seconds));
    let bar = progress_bar(cells);
    let mut out: Box<dyn Write> = match &arguments.json {
        Some(path) if path == std::path::Path::new("-") => Box::new(std::io::stderr()),
        _ => Box::new(std::io::stdout().lock()),
    };
    report::head(&mut out, &arguments.ranks.0)?;
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
    if let Some(path) = &arguments.json {
        output::write_json(path, &records)?;
    }
    let plots = plot::all(&arguments.plots, &records)?;
    let wrong = records.iter().filter(|r| !r.correct).count();
    report::tail(&mut out, &records, plots, &arguments.plots, start.elapsed())?;
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
    let mut collectives = arguments.collectives.clone();
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

/// The cells to measure: a row for each collective, number of ranks and size.
fn rows(arguments: &Arguments) -> anyhow::Result<Vec<Vec<Cell>>> {
    let collectives = collectives(arguments)?;
    let sizes = if arguments.quick {
        vec![8, 4 << 10, 256 << 10]
    } else {
        arguments.bytes.clone()
    };
    let mut rows = Vec::new();
    for &ranks in &arguments.ranks.0 {
        anyhow::ensure!(
            ranks <= 256,
            "ranks are threads here: at most 256, not {ranks}"
        );
        anyhow::ensure!(
            arguments.root < ranks,
            "--root {}: the ranks are 0 to {}",
            arguments.root,
            ranks - 1
        );
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
                    let shape = names::shape(algorithm, call, &parameters)?;
                    if algorithm.admits(&shape).is_ok() {
                        row.push(Cell {
                            algorithm,
                            parameters,
                            ranks,
                            root,
                            bytes,
                            spread: arguments.layout,
                        });
                    }
                }
                rows.push(row);
            }
        }
    }
    rows.retain(|row| !row.is_empty());
    Ok(rows)
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
            .map(|a| (a, String::new()))
            .collect(),
    })
}
