//! `allhands report`: one page of what other commands have measured and predicted.

mod guidelines;
mod input;
mod machine;
mod page;
mod peers;
mod regret;
mod times;

use super::figures::cells::Cell;
use super::predict;
use super::simulate::machine::Machine;
use crate::ranks::Ranks;
use crate::{output, sizes};
use anyhow::Context;
use input::Input;
use page::Page;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Make one page, an HTML file, of what other commands have measured and predicted
///
/// The files are what these wrote, told apart by what is in them: `allhands bench --json` (measured times), `allhands regret
/// --json` (what choices cost), `allhands guidelines --json` (calls that other calls are faster than), and
/// `cargo xtask compare --json` and `cargo xtask lab --json` (other libraries). With --machine there are the parameters of a
/// machine, as `allhands calibrate` has written them or any other that simulate reads, and predictions, as those of `allhands
/// predict`, beside every measured time; without measured times, of all algorithms at -n and --bytes.
///
/// The page has, as far as there is something: the machine and its parameters; for each collective latency by size, maps of
/// which algorithm is the fastest by size and number of ranks, measured beside predicted, and the bandwidth against the number of
/// ranks; regret; guidelines; other libraries. Below each plot are its numbers. The file needs nothing else, no network and no
/// script, and is the same for the same files.
///
/// Exit status 2 when the arguments are wrong, or a file is none of these.
///
/// Examples:
///   allhands report times.json --machine machine.toml -o report.html
///   allhands report --machine t3e-900 -n 2-16 --bytes 8,4K,32K,256K -o t3e.html
///   allhands report times.json regret.json guidelines.json target/compare.json -o report.html
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Files of records, in any order
    files: Vec<PathBuf>,

    /// The machine: a name of those that are built in, or FILE.toml; FILE.toml:2x4 says its nodes
    #[arg(long)]
    machine: Option<String>,

    /// Numbers of ranks of predictions, where nothing was measured
    #[arg(long, short = 'n', default_value = "2,4,8", requires = "machine")]
    ranks: Ranks,

    /// Sizes of predictions, where nothing was measured
    #[arg(long, value_delimiter = ',', value_parser = sizes::of_elements, default_values = ["8", "64", "512", "4K", "32K", "256K"], requires = "machine")]
    bytes: Vec<usize>,

    /// What stands on top of the page
    #[arg(long, default_value = "Collective communication")]
    title: String,

    /// Where the page goes
    #[arg(long, short = 'o', value_name = "FILE.html")]
    output: PathBuf,
}

/// Reads the files, and writes the page.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        !arguments.files.is_empty() || arguments.machine.is_some(),
        "there is nothing to report: right would be files that allhands bench --json and the like have written, or --machine"
    );
    output::check_file(&arguments.output)?;
    let machine = arguments
        .machine
        .as_deref()
        .map(Machine::find)
        .transpose()?;
    let mut input = Input::default();
    for file in &arguments.files {
        input.read(file)?;
    }
    let cells = cells(arguments, &input, machine.as_ref())?;
    let mut page = Page::new(&arguments.title);
    if let Some(machine) = &machine {
        machine::section(&mut page, machine, arguments.machine.as_deref())?;
    }
    times::sections(&mut page, &input.measured, &cells);
    regret::section(&mut page, &input.regrets);
    guidelines::section(&mut page, &input.guidelines);
    peers::section(&mut page, &input.peers);
    let text = page.finish();
    std::fs::write(&arguments.output, text)
        .with_context(|| format!("cannot write {}", arguments.output.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// What was measured, with predictions; or predictions alone.
fn cells(
    arguments: &Arguments,
    input: &Input,
    machine: Option<&Machine>,
) -> anyhow::Result<Vec<Cell>> {
    match (machine, &input.measured[..]) {
        (Some(machine), []) => predict::forecast(machine, &arguments.ranks.0, &arguments.bytes),
        (machine, measured) => {
            let mut cells: Vec<Cell> = Vec::new();
            let mut places: HashMap<_, usize> = HashMap::new();
            for record in measured.iter().filter(|record| record.correct) {
                let cell = predict::beside(machine, record)?;
                let of = (cell.collective.clone(), cell.algorithm.clone());
                let of = (cell.place.clone(), of, cell.ranks, cell.bytes);
                // Of what was measured twice the last counts, as the page says.
                match places.get(&of) {
                    Some(at) => cells[*at] = cell,
                    None => {
                        places.insert(of, cells.len());
                        cells.push(cell);
                    }
                }
            }
            Ok(cells)
        }
    }
}
