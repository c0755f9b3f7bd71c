//! The evaluation: the default, the best forced algorithm, and what the written files make the MPI choose, by turns.

use super::decide::{self, Choices, Ratio};
use super::files;
use super::kind::Kind;
use super::launch::Ended;
use super::record::{Cell, Family, Hello};
use super::store::{Store, place};
use super::variant::DEFAULT;
use super::{Session, rank};
use crate::sizes::say;
use crate::{interrupt, output};
use anyhow::{Context, ensure};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The most rounds.
const ROUNDS: usize = 15;
/// What part of the gain of the best forced algorithms the files are to reach, and how far behind the default they may be.
const WANTED_SHARE: f64 = 0.8;
const WANTED_RATIO: f64 = 0.97;

/// What came of a cell.
#[derive(Debug, Serialize)]
struct Row {
    library: String,
    ranks: usize,
    hosts: usize,
    collective: Kind,
    /// The whole vector.
    bytes: u64,
    /// What was the fastest when it was tuned.
    forced: String,
    /// What the files say.
    chosen: String,
    /// Medians of rounds in microseconds; a round is the median of a few calls.
    default_us: Vec<Option<f64>>,
    forced_us: Vec<Option<f64>>,
    file_us: Vec<Option<f64>>,
    /// The default's time by the file's: the median, and the ends of its 95 % interval, if there were rounds enough.
    file_ratio: Option<[Option<f64>; 3]>,
    /// The default's time by the forced one's.
    forced_ratio: Option<[Option<f64>; 3]>,
}

impl Row {
    /// What nothing is known of yet.
    fn new(hello: &Hello, cell: &Cell, choices: &Choices) -> Row {
        let forced = decide::fastest(cell).map_or(DEFAULT, |(variant, _)| variant);
        let chosen = decide::at(choices, cell.kind, cell.bytes).unwrap_or(DEFAULT);
        Row {
            library: hello.version.clone(),
            ranks: hello.ranks,
            hosts: hello.hosts,
            collective: cell.kind,
            bytes: cell.bytes,
            forced: forced.to_string(),
            chosen: chosen.to_string(),
            default_us: Vec::new(),
            forced_us: Vec::new(),
            file_us: Vec::new(),
            file_ratio: None,
            forced_ratio: None,
        }
    }
}

/// Evaluates; exit status 1 if the files gain less than they are to, or lose anywhere.
pub fn run(
    session: &Session<'_>,
    store: &Store,
    folder: &Path,
    json: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    let hello = store.hello().context("nothing was measured there")?;
    let choices = files::choices(hello, store.cells());
    // What is there is what those choices come to; a later version of this program may write more.
    let written = files::write(hello, &choices, folder)?;
    let asked = |cell: &&Cell| {
        session
            .ask
            .kinds
            .iter()
            .any(|kind| kind == cell.kind.name())
    };
    let asked = store.cells().iter().filter(asked);
    let mut rows: Vec<Row> = asked.map(|cell| Row::new(hello, cell, &choices)).collect();
    ensure!(
        hello.family != Family::Intel,
        "of Intel MPI nothing can be forced while it runs, so there is no evaluation by turns"
    );
    let mut longest = Duration::ZERO;
    for round in 0..ROUNDS {
        let begin = Instant::now();
        if session.left() < longest {
            break;
        }
        for at in 0..2 {
            let is_file = (at + round) % 2 == 1;
            let environment = if is_file {
                written.environment.clone()
            } else {
                Vec::new()
            };
            if let Ended::Interrupted =
                turn(session, hello, environment, (&mut rows, round, is_file))?
            {
                return Ok(ExitCode::from(interrupt::STATUS));
            }
        }
        longest = longest.max(begin.elapsed());
    }
    for row in &mut rows {
        row.file_ratio = decide::ratio(&row.default_us, &row.file_us).map(numbers);
        row.forced_ratio = decide::ratio(&row.default_us, &row.forced_us).map(numbers);
    }
    if let Some(json) = json {
        output::write_json(json, &rows)?;
    }
    verdict(&rows)
}

fn numbers(ratio: Ratio) -> [Option<f64>; 3] {
    let [low, high] = ratio.interval.map(Some);
    match ratio.interval[1].is_finite() {
        true => [Some(ratio.median), low, high],
        false => [Some(ratio.median), None, None],
    }
}

/// One start: with the files, or without them and by turns with what is forced.
fn turn(
    session: &Session<'_>,
    hello: &Hello,
    environment: Vec<(String, String)>,
    (rows, round, is_file): (&mut [Row], usize, bool),
) -> anyhow::Result<Ended> {
    let name = |row: &Row| match is_file {
        true => format!("{}/{DEFAULT}", place(row.collective, row.bytes)),
        false => format!("{}/{}", place(row.collective, row.bytes), row.forced),
    };
    let ask = rank::Arguments {
        once: rows.iter().map(name).collect(),
        bytes: sizes(rows),
        time: 3600.0,
        ..session.ask.clone()
    };
    let launch = session.launch(environment);
    let (found, ended) = launch.run(&ask, &mut |_, cell| {
        let own = rows
            .iter_mut()
            .find(|row| row.collective == cell.kind && row.bytes == cell.bytes);
        let Some(row) = own else { return Ok(()) };
        let us = |variant: &str| {
            let us: Vec<f64> = cell.of(variant).map_or(Vec::new(), |times| {
                times.us.iter().flatten().copied().collect()
            });
            decide::median(&us)
        };
        let add = |list: &mut Vec<Option<f64>>, us| {
            list.resize(round, None);
            list.push(us);
        };
        match is_file {
            true => add(&mut row.file_us, us(DEFAULT)),
            false => {
                let forced = row.forced.clone();
                add(&mut row.default_us, us(DEFAULT));
                add(&mut row.forced_us, us(&forced));
            }
        }
        Ok(())
    })?;
    if let Ended::Stuck(trying) = &ended {
        anyhow::bail!("{trying:?} never came back");
    }
    if let Some(found) = found {
        ensure!(
            (found.ranks, found.hosts) == (hello.ranks, hello.hosts),
            "these are {} ranks on {} hosts, and {} on {} were tuned",
            found.ranks,
            found.hosts,
            hello.ranks,
            hello.hosts
        );
    }
    Ok(ended)
}

fn sizes(rows: &[Row]) -> Vec<u64> {
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Prints all rows, and what they come to.
fn verdict(rows: &[Row]) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:<21}{:>6}  {:<36}{:>8}  {:<36}{:>8}  95 % interval",
        "collective", "bytes", "best when tuned", "ratio", "with the files", "ratio"
    )?;
    let (mut behind, mut of_file, mut of_forced) = (Vec::new(), 0.0, 0.0);
    for row in rows {
        let Some([Some(file), low, high]) = row.file_ratio else {
            continue;
        };
        let forced = row
            .forced_ratio
            .and_then(|[forced, ..]| forced)
            .unwrap_or(1.0);
        let interval = match low.zip(high) {
            Some((low, high)) => format!("{low:.2} to {high:.2}"),
            None => "too few rounds".into(),
        };
        of_file += file.ln();
        of_forced += forced.max(1.0).ln();
        let place = format!(
            "{:<21}{:>6}",
            row.collective.name(),
            say(row.bytes as usize)
        );
        writeln!(
            out,
            "{place}  {:<36}{forced:>8.2}  {:<36}{file:>8.2}  {interval}",
            row.forced, row.chosen
        )?;
        if high.is_some_and(|high| high < WANTED_RATIO) {
            behind.push(format!(
                "{} {}",
                row.collective.name(),
                say(row.bytes as usize)
            ));
        }
    }
    let rounds = rows.iter().map(|row| row.file_us.len()).max().unwrap_or(0);
    let count = rows.len() as f64;
    let share = of_file / of_forced;
    writeln!(
        out,
        "\n{rounds} rounds; geometric means over {} places: the best forced algorithms {:.3} times as fast as the default, the files \
         {:.3}: {:.0} % of that gain",
        rows.len(),
        (of_forced / count).exp(),
        (of_file / count).exp(),
        100.0 * share
    )?;
    match behind.is_empty() {
        true => writeln!(out, "no interval lies below {WANTED_RATIO}")?,
        false => writeln!(out, "below {WANTED_RATIO}: {}", behind.join(", "))?,
    }
    let holds = behind.is_empty() && (share >= WANTED_SHARE || of_forced == 0.0);
    Ok(ExitCode::from(u8::from(
        !holds || rounds < decide::LEAST_ROUNDS,
    )))
}
