//! `allhands guidelines`: performance guidelines, whether any call takes longer than others that do its work.

mod list;
mod measure;

use super::bench::cell::Among;
use super::bench::rows::Ground;
use super::bench::team::Team;
use super::together::{self, Say};
use crate::sizes::say;
use crate::{interrupt, names, output, sizes};
use allhands_core::call::Collective;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Measure whether calls keep the performance guidelines: none takes longer than others that do its work
///
/// A collective's work can be done by others: allreduce by reduce and broadcast, allgather by alltoall. What is chosen for it should never
/// take longer (the patterns of PGMPI: Hunold and Carpen-Amarie 2018, after Träff, Gropp, Thakur 2010). Nor should a call take longer than
/// one with more bytes (monotony), or than two with half as many (split-robustness). Every call is served as if no algorithm were named.
///
/// Both sides are measured by turns, from a common start to the last end. A guideline is violated where the left side takes 5 % longer
/// and more, and the interval of the ratio (95 of 100 cases, paired by rounds) excludes 1, and both again when it is measured once more;
/// what takes longer once but not again is counted as noise.
///
/// The irregular forms, which with equal lengths do a regular one's work, are not measured.
///
/// Keys of --json: guideline, collective, ranks, bytes, left, right, left_us, right_us, ratio, least and most (its interval), violated,
/// noise, rounds, transport.
///
/// Exit status 1 when a guideline is violated, 2 when the arguments are wrong, or ranks fail.
///
/// Examples:
///   allhands guidelines --transport shm -n 2
///   allhands guidelines allreduce --transport tcp --hosts a,b,c,d --time 300 --json guidelines.json
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Only guidelines of these collectives
    #[arg(value_parser = names::collective)]
    collectives: Vec<Collective>,

    #[command(flatten)]
    team: Team,

    /// Sizes, such as 8,64K,64KiB,1MB (all powers of 2): a block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise
    #[arg(long, value_delimiter = ',', value_parser = sizes::of_elements, default_values = ["8", "512", "4K", "32K", "256K", "1M"])]
    bytes: Vec<usize>,

    /// Seconds for everything
    #[arg(long, value_name = "S", default_value_t = 180.0)]
    time: f64,

    #[command(flatten)]
    json: output::Json,
}

/// What was found of a guideline at a size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub guideline: String,
    pub collective: String,
    pub ranks: u32,
    pub bytes: usize,
    /// Both sides, with their sizes.
    pub left: String,
    pub right: String,
    pub left_us: f64,
    pub right_us: f64,
    /// How many times as long the left side takes, and the interval of that.
    pub ratio: f64,
    pub least: f64,
    pub most: f64,
    pub violated: bool,
    /// Whether it seemed to be at first.
    pub noise: bool,
    pub rounds: usize,
    pub transport: String,
}

/// Measures, and prints what was found; exit status 1 if a guideline is violated.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        arguments.time.is_finite() && arguments.time > 0.0,
        "--time {}: how many seconds there are, more than 0",
        arguments.time
    );
    arguments.json.check()?;
    let budget = Duration::from_secs_f64(arguments.time);
    let mut out = arguments.json.beside();
    let mut show = |record: &Record| {
        if record.violated || record.noise {
            writeln!(out, "{}", line(record))?;
        }
        Ok(())
    };
    let mut measure = |among: &mut Among, ground: &Ground, say: Say<'_, Record>| {
        measure::all(arguments, (among, ground), budget, say)
    };
    let Some(records) = together::run((&arguments.team, budget), &mut measure, &mut show)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let of = |is: fn(&Record) -> bool| records.iter().filter(|record| is(record)).count();
    let violated = of(|record| record.violated);
    writeln!(
        arguments.json.beside(),
        "{} guidelines at their sizes: {violated} violated, {} noise",
        records.len(),
        of(|record| record.noise)
    )?;
    arguments.json.write(&records)?;
    Ok(match interrupt::is_asked() {
        true => ExitCode::from(interrupt::STATUS),
        false => ExitCode::from(u8::from(violated > 0)),
    })
}

fn line(record: &Record) -> String {
    format!(
        "{:<9} {:<18} {:>5} ranks  {} {:.2} µs, {} {:.2} µs: {:.2} times as long [{:.2}, {:.2}]",
        match record.violated {
            true => "VIOLATED",
            false => "noise",
        },
        record.guideline,
        record.ranks,
        record.left,
        record.left_us,
        record.right,
        record.right_us,
        record.ratio,
        record.least,
        record.most
    )
}

/// A call as it is printed.
fn called((collective, bytes): (Collective, usize)) -> String {
    match collective {
        Collective::Barrier => collective.name().to_string(),
        _ => format!("{}({})", collective.name(), say(bytes)),
    }
}
