//! `allhands predict`: what algorithms take on a machine whose parameters are known, beside what was measured.

mod compared;
mod errors;
mod measured;
mod table;
mod without;

use super::bench::ask::Ask;
use super::bench::team::{Team, Transport};
use super::figures::cells::{self, Cell};
use super::figures::{bandwidth, decision};
use super::simulate::machine::Machine;
use super::simulate::machine::left_out::LeftOut;
use crate::sizes::say;
use crate::{names, output, sizes};
use allhands_core::algorithm::{self, Algorithm, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::Nodes;
use allhands_core::schedule::Shape;
use anyhow::{Context, ensure};
pub use compared::beside;
use compared::{combining, compared};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use without::{Gap, Without};

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
/// --table writes what is predicted to be the fastest among ranks that share memory as a table like those of `allhands tune`: in the place
/// of such a one (`allhands tune --help`) it chooses, without anything having been measured but the machine's parameters.
///
/// --compare measures these cells at once, as `allhands bench` does, among the ranks of --transport, --hosts and -n, for --time
/// seconds, and goes on as with --measured.
///
/// --without contention and --gap saturation leave out of a calibrated machine what C 7.2 says that other models lack: that
/// messages wait for one another's part of what they share, and that a gap is what several peers wait for at one port. Saturation
/// is the usual gap: what a further message to one peer takes. Beside --measured or --compare a second table then has the errors
/// of the whole model, of each that is left out, and of both; which are the largest is said of what is asked for.
///
/// Keys of --json: collective, algorithm, machine, version, ranks, bytes, predicted_us; with --measured or --compare also
/// measured_us, uncertain (a part of it) and error; type and operator, where they are not the usual ones; with --without or --gap also whole_us, the whole model's prediction, and,
/// where it was measured, whole_error.
///
/// Exit status 2 when the arguments are wrong.
///
/// Examples:
///   allhands predict allreduce broadcast --machine machine.toml -n 2 --bytes 64,4K,1M
///   allhands predict --machine machine.toml --measured times.json
///   allhands predict --machine machine.toml --measured times.json --without contention --gap saturation
///   allhands predict allreduce --machine machine.toml -n 2 --operator max --type bf16
///   allhands predict allreduce --machine machine.toml --compare --transport shm -n 2 --time 20
///   allhands predict allreduce --machine machine.toml --compare --transport shm -n 2 --time 20 --type bf16
///   allhands predict --machine machine.toml -n 2 --bytes 8,512,4K,32K,256K,1M --table model.toml
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

    #[command(flatten)]
    team: Team,

    /// Sizes, such as 8,64K,64KiB,1MB (all powers of 2): a block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise
    #[arg(long, value_delimiter = ',', value_parser = sizes::of_elements, default_values = ["64", "4K", "256K"], conflicts_with = "measured")]
    bytes: Vec<usize>,

    /// Predict the cells of these files, as `allhands bench --json` writes them, and compare; several are several runs
    #[arg(
        long,
        value_name = "FILE.json",
        value_delimiter = ',',
        conflicts_with = "ranks"
    )]
    measured: Vec<PathBuf>,

    /// Measure as well, as `allhands bench` does, and compare
    #[arg(long, conflicts_with = "measured")]
    compare: bool,

    /// With --compare: seconds for all that is measured
    #[arg(long, value_name = "S", default_value_t = 90.0, requires = "compare")]
    time: f64,

    /// Leave this out of a cluster's model
    #[arg(long, value_enum, value_name = "WHAT")]
    without: Option<Without>,

    /// Which gap a cluster's model goes by: what several peers wait for, or what one saturates
    #[arg(long, value_enum, default_value = "peers")]
    gap: Gap,

    /// Combine by this operator, of a machine whose file tells how long that takes: sum, product, min, max, "bitwise and" [default: sum]
    #[arg(long, value_name = "NAME", conflicts_with = "measured")]
    operator: Option<String>,

    /// Combine elements of this type: f64, f32, f16, bf16, u8, u64, i32, i64 [default: any of 8 bytes]
    #[arg(long = "type", value_name = "NAME", conflicts_with = "measured")]
    element: Option<String>,

    /// Draw maps of what is the fastest, and bandwidths, as SVG files in this folder
    #[arg(long, value_name = "FOLDER")]
    plot: Option<PathBuf>,

    /// Write what is predicted to be the fastest as a table that chooses
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["measured", "compare"])]
    table: Option<PathBuf>,

    #[command(flatten)]
    json: output::Json,
}

impl Arguments {
    fn left_out(&self) -> LeftOut {
        LeftOut {
            contention: self.without == Some(Without::Contention),
            peers: self.gap == Gap::Saturation,
        }
    }
}

/// How many ranks there are, if nothing says it.
const RANKS: u32 = 8;

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
    /// The type of the elements and the operator, if they are not the usual ones.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    element: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operator: Option<String>,
    /// What the whole model predicts, where a part of it is left out, and its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_error: Option<f64>,
    /// For each that may be left out, what it is, and the error without it.
    #[serde(skip)]
    damages: Vec<(LeftOut, f64)>,
}

/// Predicts, and prints it.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    // Ranks on other hosts may have no such file.
    let measured = match (arguments.compare, &arguments.measured[..]) {
        (true, _) => match asked(arguments).records()? {
            Some(records) => Some(measured::of_runs(vec![records])),
            None => return Ok(ExitCode::SUCCESS),
        },
        (false, []) => None,
        (false, paths) => Some(measured::read(paths)?),
    };
    let whole = Machine::find(&arguments.machine)?;
    let machine = whole.leaving_out(arguments.left_out())?;
    arguments.json.check()?;
    arguments
        .plot
        .as_deref()
        .map_or(Ok(()), output::check_folder)?;
    arguments
        .table
        .as_deref()
        .map_or(Ok(()), output::check_file)?;
    let mut out = arguments.json.beside();
    writeln!(out, "{}: {}\n", machine.name, machine.about)?;
    let (records, cells) = match measured {
        Some(measured) => {
            let (records, cells, of_runs) = compared(arguments, &whole, measured)?;
            errors::print_errors(&mut out, &records, of_runs)?;
            (records, cells)
        }
        None => {
            let (ranks, bytes) = sizes_of(arguments)?;
            let names = (arguments.operator.as_deref(), arguments.element.as_deref());
            let (whole, machine) = (combining(&whole, names)?, combining(&machine, names)?);
            let beside = arguments.left_out().is_any().then_some(&whole);
            let machines = (&machine, beside);
            let mut records = all(&arguments.collectives, machines, (&ranks, bytes))?;
            for record in &mut records {
                record.element.clone_from(&arguments.element);
                record.operator.clone_from(&arguments.operator);
            }
            print(&mut out, &records)?;
            if let Some(file) = &arguments.table {
                table::write(file, &machine, &records)?;
                writeln!(out, "\nwrote {}", file.display())?;
            }
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

/// What is to be measured.
fn asked(arguments: &Arguments) -> Ask<'_> {
    Ask {
        team: &arguments.team,
        collectives: &arguments.collectives,
        bytes: &arguments.bytes,
        element: arguments.element.as_deref(),
        operator: arguments.operator.as_deref(),
        seconds: arguments.time,
    }
}

/// The numbers of ranks and the sizes, if none were measured.
fn sizes_of(arguments: &Arguments) -> anyhow::Result<(Vec<u32>, &[usize])> {
    let team = &arguments.team;
    let is_of_team = team.transport != Transport::Threads || !team.on.hosts.is_empty();
    ensure!(
        !is_of_team && team.nodes.is_none(),
        "--transport, --hosts and --nodes say among which ranks is measured: add --compare, or leave them out; which ranks share a node on a machine is said behind its name, as in machine.toml:2x4"
    );
    let ranks = team.ranks.as_ref().map(|ranks| ranks.0.clone());
    Ok((ranks.unwrap_or_else(|| vec![RANKS]), &arguments.bytes))
}

/// What every algorithm would take, as cells.
pub fn forecast(machine: &Machine, ranks: &[u32], bytes: &[usize]) -> anyhow::Result<Vec<Cell>> {
    let records = all(&[], (machine, None), (ranks, bytes))?;
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

/// Every algorithm that fits, in its default setting, the fastest first; beside it what the whole machine says, if that is another.
fn all(
    collectives: &[Collective],
    (machine, whole): (&Machine, Option<&Machine>),
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
                        let whole = whole.map(|on| predicted_us(on, algorithm, &shape, *bytes));
                        here.push(Record {
                            whole_us: whole.transpose()?,
                            ..record(machine, (algorithm.name, &call), *bytes, us)
                        });
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
        element: None,
        operator: None,
        whole_us: None,
        whole_error: None,
        damages: Vec::new(),
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

fn print(out: &mut dyn Write, records: &[Record]) -> std::io::Result<()> {
    let has_whole = records.iter().any(|record| record.whole_us.is_some());
    let whole = |words: String| if has_whole { words } else { String::new() };
    writeln!(
        out,
        "{:<16}{:<34}{:>6}{:>8}{:>16}{}",
        "collective",
        "algorithm",
        "ranks",
        "bytes",
        "predicted µs",
        whole(format!("{:>20}", "the whole model µs"))
    )?;
    for record in records {
        writeln!(
            out,
            "{:<16}{:<34}{:>6}{:>8}{:>16.2}{}",
            record.collective,
            record.algorithm,
            record.ranks,
            say(record.bytes),
            record.predicted_us,
            whole(format!("{:>20.2}", record.whole_us.unwrap_or(f64::NAN)))
        )?;
    }
    Ok(())
}
