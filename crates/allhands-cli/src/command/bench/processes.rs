//! The benchmark among processes: the same cells, each rank a process of its own.
//!
//! The command starts itself under `allhands run`, once for each number of ranks. A process that finds itself a rank
//! measures with the others; rank 0 prints what came out, or hands it to the command that started it.

use super::cell::{self, Among, Cell, Least, Record};
use super::key::Key;
use super::pace::{Pace, two_calls};
use super::report::Summary;
use super::rounds::{self, Hear, Said};
use super::rows::{Ground, least};
use super::starts::Starts;
use super::team::Team;
use super::{Arguments, finish, hosts};
use crate::command::memory;
use crate::ranks::Ranks;
use crate::{interrupt, names};
use allhands::interposition::Interposition;
use allhands::launch::{self, LaunchError};
use allhands::policy::NetworkTimes;
use allhands::{Communicator, Min};
use anyhow::Context;
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Tells a rank how many seconds there are for its cells, and that what it says goes to standard output, a line each.
const SECONDS: &str = "ALLHANDS_BENCH_SECONDS";

/// Tells ranks which cells they measure, where that is not what the arguments say.
const CELLS: &str = "ALLHANDS_BENCH_CELLS";

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

/// Starts the ranks.
pub fn start(team: &Team, ranks: u32, budget: Duration) -> anyhow::Result<Child> {
    start_with(team, ranks, budget, None)
}

/// Starts the ranks, and tells them which cells they measure, as [`asked_for`] has it again.
pub fn start_for(
    team: &Team,
    ranks: u32,
    budget: Duration,
    cells: String,
) -> anyhow::Result<Child> {
    start_with(team, ranks, budget, Some((CELLS, cells)))
}

/// How long this rank measures, if the command that has started it says so.
pub fn given() -> Option<Duration> {
    let seconds = std::env::var(SECONDS).ok()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Which cells this rank measures, if that was said.
pub fn asked_for() -> Option<String> {
    std::env::var(CELLS).ok()
}

/// Starts the ranks with a variable of theirs, besides.
fn start_with(
    team: &Team,
    ranks: u32,
    budget: Duration,
    variable: Option<(&str, String)>,
) -> anyhow::Result<Child> {
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
        .envs(variable)
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

/// Starts so many ranks and reads what rank 0 says, row by row; where cells are listed, and are too many to be handed on at once,
/// several times.
pub fn collect(
    arguments: &Arguments,
    ranks: u32,
    keys: Option<Vec<Key>>,
    budget: Duration,
    hear: Hear<'_>,
) -> anyhow::Result<()> {
    /// How many fit into a variable, of which Linux lets each have 128 KiB.
    const MOST: usize = 400;
    let Some(keys) = keys else {
        return collect_from(start(&arguments.team, ranks, budget)?, hear);
    };
    for some in keys.chunks(MOST) {
        let part = budget.mul_f64(some.len() as f64 / keys.len() as f64);
        let ranks = start_for(&arguments.team, ranks, part, serde_json::to_string(some)?)?;
        collect_from(ranks, hear)?;
    }
    Ok(())
}

/// Reads what rank 0 says, to the end of the ranks.
fn collect_from(mut child: Child, hear: Hear<'_>) -> anyhow::Result<()> {
    interrupt::tell_child(Some(child.id()));
    let mut lines = child.stdout.take().map(BufReader::new);
    while let Some(said) = lines.as_mut().map(next).transpose()?.flatten() {
        hear(said)?;
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
fn next(lines: &mut BufReader<ChildStdout>) -> anyhow::Result<Option<Said>> {
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
pub fn as_rank(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (mut among, ground) = among(&arguments.team)?;
    let collected = given();
    let budget = collected.unwrap_or_else(|| arguments.budget());
    let ranks = [among.comm.size() as u32];
    let is_asked = |asked: &Ranks| asked.0.contains(&ranks[0]);
    anyhow::ensure!(
        arguments.team.ranks.as_ref().is_none_or(is_asked),
        "nothing to measure among {} ranks: start as many as -n says",
        ranks[0]
    );
    let keys = asked_for();
    let keys: Option<Vec<Key>> = keys.map(|text| serde_json::from_str(&text)).transpose()?;
    anyhow::ensure!(
        !arguments.is_several() || collected.is_some(),
        "--against and --rounds start ranks again and again, and these ranks were started by others: right would be allhands bench by itself"
    );
    let mut rows = rounds::listed(arguments, &ranks, keys.as_deref(), &|_| Ok(ground.clone()))?;
    if keys.is_none() {
        rows.check()?;
    }
    let first = among.comm.rank() == 0;
    let mut out: Box<dyn Write> = arguments.json.beside();
    let say = |out: &mut dyn Write, said: &Said| -> anyhow::Result<()> {
        writeln!(out, "{}", serde_json::to_string(said)?)?;
        Ok(out.flush()?)
    };
    let mut summary = Summary::begin(budget);
    let network = is_network(arguments).then(|| of_network(&among.comm));
    let mut pace = rows.pace(budget, network.as_ref());
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
            let pace = (&mut pace, network.as_ref());
            records.extend(measure(arguments, cell, &mut among, pace)?);
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

fn is_network(arguments: &Arguments) -> bool {
    arguments.team.transport.network().is_some()
}

/// What ranks have measured of the network between them, or what is often so.
fn of_network(comm: &Communicator) -> NetworkTimes {
    comm.network_times().unwrap_or(NetworkTimes {
        latency_ns: 20e3,
        overhead_ns: 5e3,
        long_overhead_ns: 5e3,
        burst_overhead_ns: 5e3,
        gap_ns: 0.0,
        byte_ns: 0.8,
        reduce_byte_ns: 0.1,
    })
}

/// Measures a cell, if rank 0 says that there is time for it, at this pace on that network.
fn measure(
    arguments: &Arguments,
    mut cell: Cell,
    among: &mut Among,
    (pace, network): (&mut Pace, Option<&NetworkTimes>),
) -> anyhow::Result<Option<Record>> {
    /// Instead of nanoseconds: there is no time.
    const NONE: u64 = u64::MAX;
    let mut share = [pace.next().map_or(NONE, |share| share.as_nanos() as u64)];
    among.comm.broadcast(&mut share, 0)?;
    if share[0] == NONE {
        return Ok(None);
    }
    let begin = Instant::now();
    if arguments.is_chosen() && network.is_some() {
        choose(&mut cell, &among.comm)?;
    }
    let budget = (Duration::from_nanos(share[0]), Least::One);
    let record = cell::measure_among(&cell, among, budget);
    pace.learn(least(&cell, network), two_calls(&record, begin.elapsed()));
    Ok(Some(record))
}

/// Gives a cell the algorithm that serves it: between hosts the ranks alone know it, as they have measured the network.
pub fn choose(cell: &mut Cell, comm: &Communicator) -> anyhow::Result<()> {
    comm.set_torus(cell.torus)?;
    let mut workload = cell.elements.buffers(cell, comm.rank(), comm.size());
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
