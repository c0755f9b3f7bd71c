//! `allhands regret`: how much longer calls take than with the best algorithm, and whether that is certain.

mod contest;

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

/// Measure how much longer calls take than they would with the best algorithm
///
/// For each collective and size every setting of every algorithm is measured once, and those that are near the best again, by
/// turns with what is chosen if no algorithm is named. Which one is the best is told by one half of the rounds; how long it and
/// the chosen one take, by the other half. So the best is not whoever was lucky, and a regret may be less than nothing. It counts
/// where the interval of the ratio (95 of 100 cases, paired by rounds) excludes 1; others are taken for 0 in the last line.
///
/// Between hosts what is forecast to take twice as long as what is chosen is left out. Where calls take long for the time there is, only what is
/// forecast to be the nearest is measured at all, three others at least, fewer calls are made in a round, and then fewer algorithms are measured
/// again: what is chosen and the best other at least.
///
/// Ranks are processes that share memory (--transport shm, two if nothing is said), or are on hosts, or on pretended ones, as for
/// `allhands bench`.
///
/// Keys of --json: collective, ranks, bytes, chosen, best, chosen_us, best_us, regret (a part of best_us), least and most (its
/// interval), counts, rounds, transport.
///
/// Exit status 2 when the arguments are wrong, or ranks fail.
///
/// Examples:
///   allhands regret --transport shm -n 2 --json regret.json
///   allhands regret allreduce --transport tcp --hosts a,b,c,d --time 120
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Only these collectives
    #[arg(value_parser = names::collective)]
    collectives: Vec<Collective>,

    #[command(flatten)]
    team: Team,

    /// Sizes, such as 8,64K,64KiB,1MB (all powers of 2): a block per rank or pair for gather, scatter, allgather and alltoall, the whole vector otherwise
    #[arg(long, value_delimiter = ',', value_parser = sizes::of_elements, default_values = ["8", "512", "4K", "32K", "256K", "1M"])]
    bytes: Vec<usize>,

    /// Seconds for everything
    #[arg(long, value_name = "S", default_value_t = 120.0)]
    time: f64,

    #[command(flatten)]
    json: output::Json,
}

/// How a contest ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub collective: String,
    pub ranks: u32,
    pub bytes: usize,
    pub chosen: String,
    pub best: String,
    pub chosen_us: f64,
    pub best_us: f64,
    /// How much longer the chosen one takes, as a part of the best one's time.
    pub regret: f64,
    /// Its interval.
    pub least: f64,
    pub most: f64,
    /// Whether that excludes 0.
    pub counts: bool,
    pub rounds: usize,
    pub transport: String,
}

/// Measures, and prints what was found.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        arguments.time.is_finite() && arguments.time > 0.0,
        "--time {}: how many seconds there are, more than 0",
        arguments.time
    );
    arguments.json.check()?;
    let budget = Duration::from_secs_f64(arguments.time);
    let mut out = arguments.json.beside();
    let mut is_first = true;
    let mut show = |record: &Record| {
        if std::mem::take(&mut is_first) {
            writeln!(
                out,
                "{:<15}{:>5}{:>6}  {:<34}{:>12}  {:<34}{:>12}{:>10}  interval",
                "collective", "ranks", "bytes", "chosen", "µs", "best", "µs", "regret"
            )?;
        }
        Ok(writeln!(out, "{}", line(record))?)
    };
    let mut measure = |among: &mut Among, ground: &Ground, say: Say<'_, Record>| {
        contest::all(arguments, (among, ground), budget, say)
    };
    let Some(records) = together::run((&arguments.team, budget), &mut measure, &mut show)? else {
        return Ok(ExitCode::SUCCESS);
    };
    writeln!(arguments.json.beside(), "\n{}", summary(&records))?;
    arguments.json.write(&records)?;
    Ok(match interrupt::is_asked() {
        true => ExitCode::from(interrupt::STATUS),
        false => ExitCode::SUCCESS,
    })
}

fn line(record: &Record) -> String {
    let percent = |part: f64| 100.0 * part;
    format!(
        "{:<15}{:>5}{:>6}  {:<34}{:>12.2}  {:<34}{:>12.2}{:>8.1} %{} [{:.1}, {:.1}]",
        record.collective,
        record.ranks,
        say(record.bytes),
        record.chosen,
        record.chosen_us,
        record.best,
        record.best_us,
        percent(record.regret),
        if record.counts { "!" } else { " " },
        percent(record.least),
        percent(record.most),
    )
}

/// How large regrets are that count.
fn summary(records: &[Record]) -> String {
    let counted = |record: &Record| {
        if record.counts {
            record.regret.max(0.0)
        } else {
            0.0
        }
    };
    let mut regrets: Vec<f64> = records.iter().map(counted).collect();
    regrets.sort_by(f64::total_cmp);
    let many = regrets.len().max(1) as f64;
    let small = regrets.iter().filter(|regret| **regret <= 0.05).count() as f64;
    format!(
        "{} places: regret {:.1} % in the median, at most 5 % in {:.1} % of them, the largest {:.1} %",
        records.len(),
        100.0 * regrets.get(regrets.len() / 2).copied().unwrap_or(0.0),
        100.0 * small / many,
        100.0 * regrets.last().copied().unwrap_or(0.0)
    )
}
