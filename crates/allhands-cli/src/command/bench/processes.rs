//! The benchmark among processes: the same cells, each rank a process of its own.
//!
//! The command starts itself under `allhands run`, once for each number of ranks. A process that finds itself a rank
//! measures with the others; rank 0 prints what came out, or hands it to the command that started it.

use super::cell::{self, Cell, Least, Record};
use super::pace::Pace;
use super::report::Summary;
use super::{Arguments, finish, least_seconds, rows};
use crate::interrupt;
use allhands::{Communicator, launch};
use anyhow::Context;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Tells a rank how many seconds there are for its cells, and that its records go to standard output, a line each.
const SECONDS: &str = "ALLHANDS_BENCH_SECONDS";

/// Runs the benchmark among processes: as a rank, if this process is one, and otherwise by starting some.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if launch::place()?.is_some() {
        return as_rank(arguments);
    }
    let rows = rows(arguments)?;
    arguments.check_outputs()?;
    interrupt::ask_first();
    let mut summary = Summary::begin(arguments.budget());
    let mut out = arguments.json.beside();
    let pretended = arguments.nodes.map(|nodes| format!(" (nodes {nodes})"));
    let what = format!("processes{}", pretended.unwrap_or_default());
    let ranks = &arguments.ranks.0;
    arguments
        .printer()
        .head(&mut out, (ranks, &what), arguments.budget())?;
    let mut records = Vec::new();
    for (at, number) in ranks.iter().enumerate() {
        if !interrupt::is_asked() {
            let left = summary.left() / (ranks.len() - at) as u32;
            collect(arguments, *number, left, &mut records, &mut out)?;
        }
    }
    summary.end(rows.len(), rows.left_out);
    finish(arguments, &mut out, &records, &summary)
}

/// Starts the ranks and reads what rank 0 says, row by row.
fn collect(
    arguments: &Arguments,
    ranks: u32,
    budget: Duration,
    records: &mut Vec<Record>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find the program itself")?;
    let mut child = Command::new(&program)
        .args(["run", "-n", &ranks.to_string()])
        .args(arguments.nodes.map(|nodes| format!("--nodes={nodes}")))
        .arg("--")
        .arg(&program)
        .args(std::env::args_os().skip(1))
        .env(SECONDS, budget.as_secs_f64().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the ranks")?;
    interrupt::tell_child(Some(child.id()));
    let mut lines = child.stdout.take().map(std::io::BufReader::new);
    let mut line = String::new();
    while let Some(lines) = &mut lines {
        line.clear();
        if std::io::BufRead::read_line(lines, &mut line)? == 0 {
            break;
        }
        let row: Vec<Record> = match serde_json::from_str(&line) {
            Ok(row) => row,
            // Ranks that were interrupted may have left it there.
            Err(_) if interrupt::is_asked() => break,
            Err(error) => {
                let says = format!("rank 0 says what is no row of records: {line}");
                return Err(error).context(says);
            }
        };
        arguments.printer().row(out, &row)?;
        out.flush()?;
        records.extend(row);
    }
    interrupt::tell_child(None);
    let status = child.wait()?;
    anyhow::ensure!(
        status.success() || interrupt::is_asked(),
        "the ranks failed: {status}"
    );
    Ok(())
}

/// Measures every cell with the other ranks.
fn as_rank(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let comm = allhands::Communicator::world()?;
    let collected = std::env::var(SECONDS)
        .ok()
        .and_then(|text| text.parse().ok());
    let budget = collected.map_or_else(|| arguments.budget(), Duration::from_secs_f64);
    let mut rows = rows(arguments)?;
    let is_ours = |row: &Vec<Cell>| row.iter().all(|cell| cell.ranks as usize == comm.size());
    rows.cells.retain(is_ours);
    anyhow::ensure!(
        rows.len() > 0 || !rows.left_out.is_empty(),
        "nothing to measure among {} ranks: start as many as -n says",
        comm.size()
    );
    let first = comm.rank() == 0;
    let mut out: Box<dyn Write> = arguments.json.beside();
    if first && collected.is_none() {
        arguments.check_outputs()?;
        let ranks = [comm.size() as u32];
        arguments
            .printer()
            .head(&mut out, (&ranks, "processes"), budget)?;
    }
    let mut summary = Summary::begin(budget);
    let mut pace = rows.pace(budget);
    let mut records: Vec<Record> = Vec::new();
    for row in &rows.cells {
        let begin = records.len();
        for cell in row {
            records.extend(measure(cell, &comm, &mut pace)?);
        }
        let row = &records[begin..];
        match (first, collected) {
            (false, _) => {}
            (true, None) => arguments.printer().row(&mut out, row)?,
            (true, Some(_)) => writeln!(out, "{}", serde_json::to_string(row)?)?,
        }
        if first {
            out.flush()?;
        }
    }
    if first && collected.is_none() {
        summary.end(rows.len(), rows.left_out);
        return finish(arguments, &mut out, &records, &summary);
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures a cell, if rank 0 says that there is time for it.
fn measure(cell: &Cell, comm: &Communicator, pace: &mut Pace) -> anyhow::Result<Option<Record>> {
    /// Instead of nanoseconds: there is no time.
    const NONE: u64 = u64::MAX;
    let mut share = [pace.next().map_or(NONE, |share| share.as_nanos() as u64)];
    comm.broadcast(&mut share, 0)?;
    if share[0] == NONE {
        return Ok(None);
    }
    let begin = Instant::now();
    let budget = (Duration::from_nanos(share[0]), Least::One);
    let record = cell::measure_among(cell, comm, budget);
    if record.iterations <= 1 {
        pace.learn(least_seconds(cell), begin.elapsed());
    }
    Ok(Some(record))
}
