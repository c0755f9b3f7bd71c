//! The benchmark among processes: the same cells, each rank a process of its own.
//!
//! The command starts itself under `allhands run`, once for each number of ranks. A process that finds itself a rank
//! measures with the others; rank 0 prints what came out, or hands it to the command that started it.

use super::cell::{self, Among, Cell, Least, Record};
use super::pace::Pace;
use super::report::Summary;
use super::rows::Ground;
use super::starts::Starts;
use super::team::Team;
use super::workload::Workload;
use super::{Arguments, finish, hosts, least_seconds, rows};
use crate::command::memory;
use crate::ranks::Ranks;
use crate::{interrupt, names};
use allhands::interposition::Interposition;
use allhands::launch::{self, LaunchError};
use allhands::{Communicator, Min};
use anyhow::Context;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Tells a rank how many seconds there are for its cells, and that what it says goes to standard output, a line each.
const SECONDS: &str = "ALLHANDS_BENCH_SECONDS";

/// What rank 0 says to the command that started it.
#[derive(Serialize, Deserialize)]
enum Said {
    /// There are so many cells, and these were left out.
    Begins(usize, Vec<String>),
    /// A row.
    Row(Vec<Record>),
}

/// Runs the benchmark among processes: as a rank, if this process is one, and otherwise by starting some.
pub fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if is_rank()? {
        return as_rank(arguments);
    }
    let numbers = hosts::numbers(&arguments.team)?;
    rows(arguments, &numbers, &|ranks| ground(&arguments.team, ranks))?.check()?;
    arguments.check_outputs()?;
    interrupt::ask_first();
    let mut summary = Summary::begin(arguments.budget());
    let mut out = arguments.json.beside();
    let head = (&numbers[..], &arguments.kind()[..]);
    arguments
        .printer()
        .head(&mut out, head, arguments.budget())?;
    let mut records = Vec::new();
    for (at, ranks) in numbers.iter().enumerate() {
        if !interrupt::is_asked() {
            let left = summary.left() / (numbers.len() - at) as u32;
            collect(
                arguments,
                (*ranks, left),
                (&mut summary, &mut records),
                &mut out,
            )?;
        }
    }
    summary.end();
    finish(arguments, &mut out, &records, &summary)
}

/// Whether this process is a rank; those on several hosts have a place that only their communicator knows.
pub fn is_rank() -> anyhow::Result<bool> {
    match launch::place() {
        Ok(place) => Ok(place.is_some()),
        Err(LaunchError::Apart) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Whether what rank 0 says goes to the command that started the ranks.
pub fn is_collected() -> bool {
    std::env::var_os(SECONDS).is_some()
}

/// Whether this process is a rank that somebody else has started than this command.
pub fn is_of_others() -> bool {
    // Whatever keeps it from being one is said where it measures.
    !is_collected() && is_rank().unwrap_or(false)
}

/// What so many ranks stand on, as far as it is known before they are there.
fn ground(team: &Team, ranks: u32) -> anyhow::Result<Ground> {
    match team.transport.network() {
        Some(network) => hosts::ground(team, network, ranks),
        None => Ok(Ground::one(ranks)),
    }
}

/// Starts the ranks.
pub fn start(team: &Team, ranks: u32, budget: Duration) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("cannot find the program itself")?;
    let mut command = Command::new(&program);
    command.arg("run");
    match team.transport.network() {
        Some(network) => {
            command.args(hosts::words(team, network, ranks)?);
        }
        None => {
            command
                .args(["-n", &ranks.to_string()])
                .arg(format!("--bind={}", team.binding.bind))
                .args(team.nodes.map(|nodes| format!("--nodes={nodes}")));
        }
    }
    command
        .arg("--")
        .arg(hosts::program(&team.on)?)
        .args(std::env::args_os().skip(1))
        .env(SECONDS, budget.as_secs_f64().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let own = rustix::process::getpid();
    let ends_with_us = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        // If this process has gone already, that signal never comes.
        match rustix::process::getppid() == Some(own) {
            true => Ok(()),
            false => Err(rustix::io::Errno::SRCH.into()),
        }
    };
    // SAFETY: two calls of the system, on numbers; they allocate nothing and take no lock.
    unsafe { command.pre_exec(ends_with_us) };
    command.spawn().context("cannot start the ranks")
}

/// Starts the ranks and reads what rank 0 says, row by row.
fn collect(
    arguments: &Arguments,
    (ranks, budget): (u32, Duration),
    (summary, records): (&mut Summary, &mut Vec<Record>),
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let mut child = start(&arguments.team, ranks, budget)?;
    interrupt::tell_child(Some(child.id()));
    let mut lines = child.stdout.take().map(BufReader::new);
    while let Some(said) = lines.as_mut().map(hear).transpose()?.flatten() {
        match said {
            Said::Begins(cells, left_out) => summary.expect(cells, left_out),
            Said::Row(row) => {
                arguments.printer().row(out, &row)?;
                out.flush()?;
                records.extend(row);
            }
        }
    }
    interrupt::tell_child(None);
    let status = child.wait()?;
    anyhow::ensure!(
        status.success() || interrupt::is_asked(),
        "the ranks failed: {status}"
    );
    Ok(())
}

/// The next that rank 0 says; `None` at the end.
fn hear(lines: &mut BufReader<ChildStdout>) -> anyhow::Result<Option<Said>> {
    let mut line = String::new();
    if lines.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    match serde_json::from_str(&line) {
        Ok(said) => Ok(Some(said)),
        // Ranks that were interrupted may have left it there.
        Err(_) if interrupt::is_asked() => Ok(None),
        Err(error) => Err(error).context(format!("rank 0 says what is no row of records: {line}")),
    }
}

/// The ranks that measure together, of which this process is one.
pub fn among(team: &Team) -> anyhow::Result<(Among, Ground)> {
    let comm = Communicator::world()?;
    let ranks = comm.size() as u32;
    let Some(network) = team.transport.network() else {
        return Ok((Among::near(comm), Ground::one(ranks)));
    };
    anyhow::ensure!(
        comm.nodes().innermost(ranks).len() > 1,
        "these {ranks} ranks share memory, and nothing goes over {network}: right would be ranks on several hosts, or --transport shm"
    );
    let carries = std::env::var(launch::NETWORK);
    let carries = carries.unwrap_or_else(|_| "tcp".into());
    anyhow::ensure!(
        carries == network,
        "--transport {network}, but messages go over {carries}: right would be {}={network} for all ranks",
        launch::NETWORK
    );
    // The same for all, whatever memory each has: they measure the same cells.
    let most_bytes = comm.allreduce_value(memory::most() as u64, Min)?;
    let place = (&comm.nodes(), ranks);
    let ground = hosts::ground_of(team, network, place, most_bytes as usize);
    // Where others have started ranks nobody knows here; their clocks are compared.
    let hosts = match is_of_others() {
        true => None,
        false => Some(hosts::named(team, ranks)?),
    };
    let starts = Starts::far(hosts::is_pretended(team));
    Ok((
        Among::far(comm, starts, team.transport.name(), hosts),
        ground,
    ))
}

/// Measures every cell with the other ranks.
fn as_rank(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (mut among, ground) = among(&arguments.team)?;
    let collected = std::env::var(SECONDS)
        .ok()
        .and_then(|text| text.parse().ok());
    let budget = collected.map_or_else(|| arguments.budget(), Duration::from_secs_f64);
    let ranks = [among.comm.size() as u32];
    let is_asked = |asked: &Ranks| asked.0.contains(&ranks[0]);
    anyhow::ensure!(
        arguments.team.ranks.as_ref().is_none_or(is_asked),
        "nothing to measure among {} ranks: start as many as -n says",
        ranks[0]
    );
    let mut rows = rows(arguments, &ranks, &|_| Ok(ground.clone()))?;
    rows.check()?;
    let first = among.comm.rank() == 0;
    let mut out: Box<dyn Write> = arguments.json.beside();
    let say = |out: &mut dyn Write, said: &Said| -> anyhow::Result<()> {
        writeln!(out, "{}", serde_json::to_string(said)?)?;
        Ok(out.flush()?)
    };
    let mut summary = Summary::begin(budget);
    let mut pace = rows.pace(budget);
    match (first, collected) {
        (false, _) => {}
        (true, None) => {
            arguments.check_outputs()?;
            let head = (&ranks[..], &arguments.kind()[..]);
            arguments.printer().head(&mut out, head, budget)?;
            summary.expect(rows.len(), std::mem::take(&mut rows.left_out));
        }
        (true, Some(_)) => {
            let left_out = std::mem::take(&mut rows.left_out);
            say(&mut out, &Said::Begins(rows.len(), left_out))?;
        }
    }
    let mut records: Vec<Record> = Vec::new();
    for row in rows.cells {
        let begin = records.len();
        for cell in row {
            records.extend(measure(arguments, cell, &mut among, &mut pace)?);
        }
        let row = &records[begin..];
        match (first, collected) {
            (false, _) => {}
            (true, None) => {
                arguments.printer().row(&mut out, row)?;
                out.flush()?;
            }
            (true, Some(_)) => say(&mut out, &Said::Row(row.to_vec()))?,
        }
    }
    if first && collected.is_none() {
        summary.end();
        return finish(arguments, &mut out, &records, &summary);
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures a cell, if rank 0 says that there is time for it.
fn measure(
    arguments: &Arguments,
    mut cell: Cell,
    among: &mut Among,
    pace: &mut Pace,
) -> anyhow::Result<Option<Record>> {
    /// Instead of nanoseconds: there is no time.
    const NONE: u64 = u64::MAX;
    let mut share = [pace.next().map_or(NONE, |share| share.as_nanos() as u64)];
    among.comm.broadcast(&mut share, 0)?;
    if share[0] == NONE {
        return Ok(None);
    }
    let begin = Instant::now();
    if arguments.is_chosen() && arguments.team.transport.network().is_some() {
        choose(&mut cell, &among.comm)?;
    }
    let budget = (Duration::from_nanos(share[0]), Least::One);
    let record = cell::measure_among(&cell, among, budget);
    if record.iterations <= 1 {
        pace.learn(least_seconds(&cell), begin.elapsed());
    }
    Ok(Some(record))
}

/// Gives a cell the algorithm that serves it: between hosts the ranks alone know it, as they have measured the network.
pub fn choose(cell: &mut Cell, comm: &Communicator) -> anyhow::Result<()> {
    comm.set_torus(cell.torus)?;
    let mut workload = Workload::new(cell, comm.rank(), comm.size());
    workload.fill(0);
    comm.run(workload.operation())?;
    let served = comm.served_by(&workload.operation());
    let served = served.context("nobody knows which algorithm serves the call")?;
    // Behind it stands on which nodes.
    let typed = served.split(' ').next().unwrap_or(&served);
    let (algorithm, parameters) = names::algorithm(cell.algorithm.collective, typed)?;
    (cell.algorithm, cell.parameters) = (algorithm, parameters.to_string());
    Ok(())
}
