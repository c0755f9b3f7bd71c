//! The benchmark among processes: the same cells, each rank a process of its own.
//!
//! The command starts itself under `allhands run`, once for each number of ranks. A process that finds itself a rank
//! measures with the others; rank 0 prints what came out, or hands it to the command that started it.

use super::cell::Record;
use super::{Arguments, Rows, budget, cell, finish, report, rows, table};
use allhands::launch;
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
    let (start, budget) = (Instant::now(), budget(arguments));
    let mut out = table(arguments);
    let pretended = arguments.nodes.map(|nodes| format!(" (nodes {nodes})"));
    let what = format!("processes{}", pretended.unwrap_or_default());
    report::head(&mut out, &arguments.ranks.0, &what)?;
    let left_out = rows(arguments)?.left_out;
    let mut records = Vec::new();
    for (at, ranks) in arguments.ranks.0.iter().enumerate() {
        let left = budget.saturating_sub(start.elapsed()) / (arguments.ranks.0.len() - at) as u32;
        collect(arguments, *ranks, left, &mut records, &mut out)?;
    }
    finish(arguments, &mut out, &records, &left_out, start)
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
    let mut lines = child.stdout.take().map(std::io::BufReader::new);
    let mut line = String::new();
    while let Some(lines) = &mut lines {
        line.clear();
        if std::io::BufRead::read_line(lines, &mut line)? == 0 {
            break;
        }
        let row: Vec<Record> = serde_json::from_str(&line)
            .with_context(|| format!("rank 0 says what is no row of records: {line}"))?;
        report::row(out, &row)?;
        out.flush()?;
        records.extend(row);
    }
    let status = child.wait()?;
    anyhow::ensure!(status.success(), "the ranks failed: {status}");
    Ok(())
}

/// Measures every cell with the other ranks.
fn as_rank(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let comm = allhands::Communicator::world()?;
    let collected = std::env::var(SECONDS)
        .ok()
        .and_then(|text| text.parse().ok());
    let start = Instant::now();
    let budget = collected.map_or_else(|| budget(arguments), Duration::from_secs_f64);
    let Rows {
        cells: mut rows,
        left_out,
    } = rows(arguments)?;
    rows.retain(|row| row.iter().all(|cell| cell.ranks as usize == comm.size()));
    let cells: usize = rows.iter().map(Vec::len).sum();
    anyhow::ensure!(
        cells > 0 || !left_out.is_empty(),
        "nothing to measure among {} ranks: start as many as -n says",
        comm.size()
    );
    let first = comm.rank() == 0;
    let mut out: Box<dyn Write> = table(arguments);
    if first && collected.is_none() {
        report::head(&mut out, &[comm.size() as u32], "processes")?;
    }
    let mut records: Vec<Record> = Vec::new();
    for row in &rows {
        let begin = records.len();
        for cell in row {
            let left = budget.saturating_sub(start.elapsed()) / (cells - records.len()) as u32;
            records.push(cell::measure_among(cell, &comm, left));
        }
        let row = &records[begin..];
        match (first, collected) {
            (false, _) => {}
            (true, None) => report::row(&mut out, row)?,
            (true, Some(_)) => writeln!(out, "{}", serde_json::to_string(row)?)?,
        }
        if first {
            out.flush()?;
        }
    }
    if first && collected.is_none() {
        return finish(arguments, &mut out, &records, &left_out, start);
    }
    Ok(ExitCode::SUCCESS)
}
