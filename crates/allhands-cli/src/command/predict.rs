//! `allhands predict`: what algorithms take on a machine whose parameters are known, beside what was measured.

mod measured;

use super::bench::cell::Record as Measured;
use super::figures::cells::{self, Cell, Time};
use super::figures::{bandwidth, decision};
use super::simulate::machine::Machine;
use crate::ranks::Ranks;
use crate::sizes::say;
use crate::{names, output, sizes};
use allhands_core::algorithm::{self, Algorithm, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::Nodes;
use allhands_core::schedule::Shape;
use anyhow::{Context, ensure};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Predict what algorithms take on a machine, and say how good that is
///
/// The machine's file is what `allhands calibrate` writes, or any other that `allhands simulate` reads. Every algorithm is
/// predicted in its default setting, at every size, and the fastest comes first. With --measured it is the cells of a
/// file that `allhands bench --json` has written that are predicted: each one's error is |predicted - measured| by
/// measured, and the table says how many of them are below 10, 15 and 20 %, collective by collective. Of several
/// runs (files, or the rounds of `bench --rounds`) the median of the medians is what was measured, and the last line says of how many
/// cells one run errs no more than that of the others: no prediction can do better. Cells whose runs are more than
/// 5 % apart (or, of one file, are uncertain by more: an interval that holds in 95 of 100 cases) are told apart too.
///
/// --plot draws, for each collective, which algorithm is the fastest by size and number of ranks, and the bandwidth against the
/// number of ranks at the size that is nearest to 32K, as predicted and, with --measured, as measured; where the prediction takes
/// another than what was measured to be the fastest, a map says by how much longer that takes.
///
/// Keys of --json: collective, algorithm, machine, version, ranks, bytes, predicted_us; with --measured also
/// measured_us, uncertain (a part of it) and error.
///
/// Exit status 2 when the arguments are wrong.
///
/// Examples:
///   allhands predict allreduce broadcast --machine machine.toml -n 2 --bytes 64,4K,1M
///   allhands predict --machine machine.toml --measured times.json
///   allhands predict allreduce --machine t3e-900 -n 2-32 --bytes 8,512,4K,32K,256K --plot figures
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Only these collectives
    #[arg(value_parser = names::collective)]
    collectives: Vec<Collective>,

    /// The machine: a name of those that are built in, or FILE.toml; FILE.toml:2x4 says its nodes
    #[arg(long)]
    machine: String,

    /// Numbers of ranks: 8, 2,4,8, 1-64 or 1..=64
    #[arg(long, short = 'n', default_value = "8", conflicts_with = "measured")]
    ranks: Ranks,

    /// Sizes, such as 8,64K,64KiB,1MB (all powers of 2): a block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise
    #[arg(long, value_delimiter = ',', value_parser = sizes::of_elements, default_values = ["64", "4K", "256K"], conflicts_with = "measured")]
    bytes: Vec<usize>,

    /// Predict the cells of these files, as `allhands bench --json` writes them, and compare; several are several runs
    #[arg(long, value_name = "FILE.json", value_delimiter = ',')]
    measured: Vec<PathBuf>,

    /// Draw maps of what is the fastest, and bandwidths, as SVG files in this folder
    #[arg(long, value_name = "FOLDER")]
    plot: Option<PathBuf>,

    #[command(flatten)]
    json: output::Json,
}

/// The length of an element.
const ELEMENT_BYTES: usize = 8;

/// A median that is more uncertain than this part of it is told apart.
const UNCERTAIN_MOST: f64 = 0.05;

/// What is predicted, and what was measured.
#[derive(Clone, Debug, Serialize)]
struct Record {
    collective: &'static str,
    algorithm: String,
    machine: String,
    version: &'static str,
    ranks: u32,
    bytes: usize,
    predicted_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uncertain: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<f64>,
}

/// Predicts, and prints it.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let machine = Machine::find(&arguments.machine)?;
    arguments.json.check()?;
    arguments
        .plot
        .as_deref()
        .map_or(Ok(()), output::check_folder)?;
    let mut out = arguments.json.beside();
    writeln!(out, "{}: {}\n", machine.name, machine.about)?;
    let (records, cells) = match &arguments.measured[..] {
        paths @ [_, ..] => {
            let (records, cells, of_runs) = compared(arguments, &machine, measured::read(paths)?)?;
            print_errors(&mut out, &records, of_runs)?;
            (records, cells)
        }
        [] => {
            let asked = (&arguments.ranks.0[..], &arguments.bytes[..]);
            let records = all(&arguments.collectives, &machine, asked)?;
            print(&mut out, &records)?;
            let cells = records.iter().map(Record::cell).collect();
            (records, cells)
        }
    };
    if let Some(folder) = &arguments.plot {
        let many = draw(folder, &cells)?;
        writeln!(out, "\n{many} figures in {}", folder.display())?;
    }
    arguments.json.write(&records)?;
    Ok(ExitCode::SUCCESS)
}

impl Record {
    fn cell(&self) -> Cell {
        Cell {
            place: self.machine.clone(),
            collective: self.collective.to_string(),
            algorithm: self.algorithm.clone(),
            ranks: self.ranks,
            bytes: self.bytes,
            measured: None,
            predicted_us: Some(self.predicted_us),
        }
    }
}

/// Draws maps and bandwidths; how many.
fn draw(folder: &Path, cells: &[Cell]) -> anyhow::Result<usize> {
    let mut names: Vec<String> = Vec::new();
    for group in cells::by_collective(cells) {
        let figures = decision::maps(&group).into_iter();
        for figure in figures.chain(bandwidth::chart(&group)) {
            // The same of another place has the same name.
            let again = names.iter().filter(|name| **name == figure.name).count();
            let last = if again > 0 {
                format!("-{}", again + 1)
            } else {
                String::new()
            };
            let path = folder.join(format!("{}{last}.svg", figure.name));
            std::fs::write(&path, figure.svg.standalone(&figure.title))
                .with_context(|| format!("cannot write {}", path.display()))?;
            names.push(figure.name);
        }
    }
    Ok(names.len())
}

/// What every algorithm would take, as cells.
pub fn forecast(machine: &Machine, ranks: &[u32], bytes: &[usize]) -> anyhow::Result<Vec<Cell>> {
    let records = all(&[], machine, (ranks, bytes))?;
    Ok(records.iter().map(Record::cell).collect())
}

/// The nodes of so many ranks: as the machine says, else one each where ranks share no memory.
fn nodes(machine: &Machine, ranks: u32) -> Nodes {
    match (&machine.nodes, machine.shares_memory()) {
        (Some(nodes), _) => nodes.clone(),
        (None, true) => Nodes::one(),
        (None, false) => Nodes::of_sizes(&vec![1; ranks as usize]),
    }
}

/// Every algorithm that fits, in its default setting, the fastest first.
fn all(
    collectives: &[Collective],
    machine: &Machine,
    (ranks, bytes): (&[u32], &[usize]),
) -> anyhow::Result<Vec<Record>> {
    let collectives = match collectives {
        [] => Collective::ALL.to_vec(),
        some => some.to_vec(),
    };
    let mut records = Vec::new();
    for collective in collectives {
        for ranks in ranks {
            machine.admits(*ranks)?;
            for bytes in bytes {
                let mut here = Vec::new();
                for algorithm in algorithm::of(collective) {
                    let call = Call::new(collective, *ranks);
                    let shape = names::shape(algorithm, call, "")?.on(nodes(machine, *ranks));
                    if fits(machine, algorithm, &shape) {
                        let us = predicted_us(machine, algorithm, &shape, *bytes)?;
                        here.push(record(machine, (algorithm.name, &call), *bytes, us));
                    }
                }
                here.sort_by(|a, b| a.predicted_us.total_cmp(&b.predicted_us));
                records.extend(here);
            }
        }
    }
    Ok(records)
}

fn fits(machine: &Machine, algorithm: &Algorithm, shape: &Shape) -> bool {
    let windows = algorithm.requires.contains(&Requirement::Window);
    (machine.shares_memory() || !windows) && algorithm.admits(shape).is_ok()
}

fn record(
    machine: &Machine,
    (algorithm, call): (&str, &Call),
    bytes: usize,
    predicted_us: f64,
) -> Record {
    Record {
        collective: call.collective.name(),
        algorithm: algorithm.to_string(),
        machine: machine.name.clone(),
        version: env!("CARGO_PKG_VERSION"),
        ranks: call.ranks,
        bytes,
        predicted_us,
        measured_us: None,
        uncertain: None,
        error: None,
    }
}

/// What a call takes on the machine, in microseconds.
pub fn predicted_us(
    machine: &Machine,
    algorithm: &Algorithm,
    shape: &Shape,
    bytes: usize,
) -> anyhow::Result<f64> {
    machine.completes_us((algorithm, shape), (bytes, ELEMENT_BYTES))
}

/// What a cell that was measured takes as the machine predicts it; nothing, where the machine does not serve it.
///
/// # Errors
/// What of the cell nobody knows.
fn of_measured(machine: &Machine, cell: &Measured) -> anyhow::Result<Option<(Call, f64)>> {
    let collective = names::collective(&cell.collective).map_err(anyhow::Error::msg)?;
    let call = Call {
        root: cell.root,
        ..Call::new(collective, cell.ranks)
    };
    let (algorithm, parameters) = names::algorithm(collective, &cell.algorithm)?;
    let shape = names::shape(algorithm, call, parameters)?.on(nodes(machine, cell.ranks));
    if !fits(machine, algorithm, &shape) {
        return Ok(None);
    }
    let us = predicted_us(machine, algorithm, &shape, cell.bytes)?;
    Ok(Some((call, us)))
}

/// What was measured as a cell of figures, with what the machine predicts if there is one; what this version does not know, or what
/// has blocks of different lengths, which no model has, is not predicted.
pub fn beside(machine: Option<&Machine>, cell: &Measured) -> anyhow::Result<Cell> {
    let collective = names::collective(&cell.collective);
    let is_known = collective.is_ok_and(|of| names::algorithm(of, &cell.algorithm).is_ok());
    let machine = machine.filter(|_| is_known && cell.layout.is_none());
    let predicted = machine
        .map(|machine| of_measured(machine, cell))
        .transpose()?;
    Ok(Cell {
        place: cells::place(cell),
        collective: cell.collective.to_string(),
        algorithm: cell.algorithm.clone(),
        ranks: cell.ranks,
        bytes: cell.bytes,
        measured: Time::of(cell),
        predicted_us: predicted.flatten().map(|(_, us)| us),
    })
}

/// What was measured, each cell with its prediction, as records and for figures; and by how much single runs err of the others.
fn compared(
    arguments: &Arguments,
    machine: &Machine,
    measured: Vec<measured::Cell>,
) -> anyhow::Result<(Vec<Record>, Vec<Cell>, Vec<f64>)> {
    let (mut records, mut cells, mut of_runs) = (Vec::new(), Vec::new(), Vec::new());
    for measured in measured {
        let cell = measured.record();
        let collective = names::collective(&cell.collective).map_err(anyhow::Error::msg)?;
        let asked = &arguments.collectives;
        if !asked.is_empty() && !asked.contains(&collective) {
            continue;
        }
        let Some((call, us)) = of_measured(machine, &cell)? else {
            continue;
        };
        of_runs.extend(measured.errors_of_runs());
        records.push(Record {
            measured_us: Some(cell.median_us),
            uncertain: Some(measured.uncertain()),
            error: Some((us - cell.median_us).abs() / cell.median_us),
            ..record(machine, (&cell.algorithm, &call), cell.bytes, us)
        });
        cells.push(Cell {
            predicted_us: Some(us),
            ..beside(None, &cell)?
        });
    }
    ensure!(
        !records.is_empty(),
        "--measured: no cell that the machine {} could serve",
        machine.name
    );
    Ok((records, cells, of_runs))
}

fn print(out: &mut dyn Write, records: &[Record]) -> std::io::Result<()> {
    writeln!(
        out,
        "{:<16}{:<34}{:>6}{:>8}{:>16}",
        "collective", "algorithm", "ranks", "bytes", "predicted µs"
    )?;
    for record in records {
        writeln!(
            out,
            "{:<16}{:<34}{:>6}{:>8}{:>16.2}",
            record.collective,
            record.algorithm,
            record.ranks,
            say(record.bytes),
            record.predicted_us
        )?;
    }
    Ok(())
}

/// Whether runs agree.
fn is_certain(record: &&Record) -> bool {
    record.uncertain.is_some_and(|part| part <= UNCERTAIN_MOST)
}

/// A line of the table: how many errors there are, how large they are, and how many cells are uncertain.
fn print_shares(
    out: &mut dyn Write,
    name: &str,
    mut errors: Vec<f64>,
    uncertain: Option<usize>,
) -> std::io::Result<()> {
    errors.sort_by(f64::total_cmp);
    let below = |most: f64| {
        let below = errors.iter().filter(|error| **error < most).count();
        100.0 * below as f64 / errors.len().max(1) as f64
    };
    let at = |place: usize| errors.get(place).map_or(f64::NAN, |error| 100.0 * error);
    writeln!(
        out,
        "{name:<16}{:>7}{:>10.1}{:>9.0}{:>9.0}{:>9.0}{:>12.0}{:>12}",
        errors.len(),
        at(errors.len() / 2),
        below(0.10),
        below(0.15),
        below(0.20),
        at(errors.len().saturating_sub(1)),
        uncertain.map_or(String::new(), |many| many.to_string()),
    )
}

/// How many errors of the cells are how large, collective by collective, and the largest.
fn print_errors(out: &mut dyn Write, records: &[Record], of_runs: Vec<f64>) -> std::io::Result<()> {
    /// So many of the largest are shown.
    const LARGEST: usize = 12;
    writeln!(
        out,
        "{:<16}{:>7}{:>10}{:>9}{:>9}{:>9}{:>12}{:>12}",
        "collective", "cells", "median %", "<10 %", "<15 %", "<20 %", "largest %", "uncertain"
    )?;
    let line = |out: &mut dyn Write, name: &str, is_in: &dyn Fn(&&Record) -> bool| {
        let these: Vec<&Record> = records.iter().filter(is_in).collect();
        let certain = these.iter().copied().filter(is_certain);
        let errors: Vec<f64> = certain.filter_map(|record| record.error).collect();
        let uncertain = these.len() - errors.len();
        match these.is_empty() {
            true => Ok(()),
            false => print_shares(out, name, errors, Some(uncertain)),
        }
    };
    for collective in Collective::ALL {
        let name = collective.name();
        line(out, name, &|record| record.collective == name)?;
    }
    line(out, "all", &|_| true)?;
    let uncertain = records.iter().filter(|record| !is_certain(record));
    let errors: Vec<f64> = uncertain.filter_map(|record| record.error).collect();
    if !errors.is_empty() {
        print_shares(out, "the uncertain", errors, None)?;
    }
    if !of_runs.is_empty() {
        print_shares(out, "one run of all", of_runs, None)?;
    }
    let mut largest: Vec<&Record> = records.iter().filter(is_certain).collect();
    largest.sort_by(|a, b| b.error.unwrap_or(0.0).total_cmp(&a.error.unwrap_or(0.0)));
    writeln!(out, "\nThe largest errors, of those that are certain:")?;
    for record in largest.iter().take(LARGEST) {
        writeln!(
            out,
            "{:<16}{:<30}{:>5} ranks{:>8}{:>12.2} µs predicted{:>12.2} measured{:>7.0} %",
            record.collective,
            record.algorithm,
            record.ranks,
            say(record.bytes),
            record.predicted_us,
            record.measured_us.unwrap_or(f64::NAN),
            100.0 * record.error.unwrap_or(f64::NAN)
        )?;
    }
    Ok(())
}
