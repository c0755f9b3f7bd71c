//! `allhands guidelines`: performance guidelines, whether any call takes longer than others that do its work.

mod list;
mod measure;

use super::bench::cell::Among;
use super::bench::processes;
use super::bench::rows::Ground;
use super::bench::spread::Spread;
use super::bench::team::Team;
use super::together::{self, Say};
use crate::sizes::say;
use crate::{interrupt, names, output, sizes};
use allhands_core::call::Collective;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Measure whether calls keep the performance guidelines: none takes longer than others that do its work
///
/// A collective's work can be done by others: allreduce by reduce and broadcast, allgather by alltoall, scan by exscan and a reduction that
/// each rank makes by itself. What is chosen for it should never take longer (the patterns of PGMPI: Hunold and Carpen-Amarie 2018, after Träff, Gropp, Thakur 2010). Nor should a call take longer than
/// one with more bytes (monotony), or than two with half as many (split-robustness). Every call is served as if no algorithm were named.
///
/// Both sides are measured by turns, from a common start to the last end: twice a call each, and longer unless the left side is faster by far. A guideline is violated where the left side takes 5 % longer
/// and more, and the interval of the ratio (95 of 100 cases, paired by rounds) excludes 1, and both again when it is measured once more,
/// and then by ranks that are started anew, as how long a short call takes depends on where a start has put its memory. What takes longer
/// once but not again is counted as noise. What is printed as `once` has yet to be so again. Ranks that somebody else has started are not started anew.
///
/// An irregular form, such as gather-v, that does the work of a regular one is served by itself, and no regular call should take longer.
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
    /// Whether it seemed to be, but was not again.
    pub noise: bool,
    pub rounds: usize,
    pub transport: String,
}

/// How much of the time there is for what seems to be violated, measured by ranks that are started anew.
const PART_OF_SECOND: f64 = 0.25;

impl Record {
    fn key(&self) -> (String, String, usize) {
        (self.guideline.clone(), self.collective.clone(), self.bytes)
    }
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
    let is_confirmed = !processes::is_rank()?;
    let mut show = |violated: &'static str, record: &Record| {
        if record.violated || record.noise {
            writeln!(out, "{}", line(record, violated))?;
        }
        Ok(())
    };
    let first = match is_confirmed {
        true => "once",
        false => VIOLATED,
    };
    let mut measure = |among: &mut Among, ground: &Ground, say: Say<'_, Record>| {
        let budget = processes::given().unwrap_or(budget);
        measure::all(arguments, (among, ground), budget, say)
    };
    let begin = Instant::now();
    let once = (&arguments.team, budget.mul_f64(1.0 - PART_OF_SECOND));
    let mut show_once = |record: &Record| show(first, record);
    let Some(mut records) = together::run(once, &mut measure, &mut show_once)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let seem: Vec<_> = records
        .iter()
        .filter(|record| record.violated)
        .map(Record::key)
        .collect();
    if !seem.is_empty() && is_confirmed && !interrupt::is_asked() {
        let left = budget.saturating_sub(begin.elapsed());
        let again = (&arguments.team, left.max(budget.mul_f64(PART_OF_SECOND)));
        let cells = Some(serde_json::to_string(&seem)?);
        let mut show_again = |record: &Record| show(VIOLATED, record);
        let again = together::run_for(again, cells, &mut measure, &mut show_again)?;
        confirm(&mut records, &again.unwrap_or_default());
    }
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

/// Leaves violated what was found so again.
fn confirm(records: &mut [Record], again: &[Record]) {
    for record in records.iter_mut().filter(|record| record.violated) {
        let found = again.iter().find(|other| other.key() == record.key());
        // What ranks that were interrupted have not come to is as it was.
        record.violated = found.is_none_or(|other| other.violated);
        record.noise = !record.violated;
    }
}

/// What is printed of one that is violated.
const VIOLATED: &str = "VIOLATED";

/// What is printed of one; `violated` says what it is if it is violated.
fn line(record: &Record, violated: &str) -> String {
    format!(
        "{:<9} {:<18} {:>5} ranks  {} {:.2} µs, {} {:.2} µs: {:.2} times as long [{:.2}, {:.2}]",
        match record.violated {
            true => violated,
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
fn called((collective, bytes): (Collective, usize), spread: Spread) -> String {
    let form = if spread == Spread::Regular { "" } else { "-v" };
    match collective {
        Collective::Barrier => collective.name().to_string(),
        _ => format!("{}{form}({})", collective.name(), say(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(bytes: usize, violated: bool) -> Record {
        Record {
            guideline: "monotony".into(),
            collective: "scan".into(),
            ranks: 2,
            bytes,
            left: String::new(),
            right: String::new(),
            left_us: 1.2,
            right_us: 1.0,
            ratio: 1.2,
            least: 1.1,
            most: 1.3,
            violated,
            noise: false,
            rounds: 4,
            transport: "shm".into(),
        }
    }

    #[test]
    fn violated_is_what_is_so_with_other_ranks_too() {
        let mut records = [
            record(8, true),
            record(16, true),
            record(32, false),
            record(64, true),
        ];
        confirm(&mut records, &[record(8, true), record(16, false)]);
        let found = records.map(|record| (record.violated, record.noise));
        assert_eq!(
            found,
            [(true, false), (false, true), (false, false), (true, false)]
        );
    }
}
