//! The agent: starts one host's ranks for an `allhands run` on another, and ends them when that says so, or is gone.

use super::record::{GREETING, Record, Task};
use crate::command::run::binding::Bind;
use crate::command::run::lines::{Form, Lines};
use crate::command::run::supervisor::{State, Supervisor};
use crate::command::run::{guard, signals, start};
use allhands::launch::{MAX_RANKS, Roll, Segment};
use anyhow::Context;
use rustix::process::{Signal, kill_process};
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;
use std::time::Duration;

/// How long ranks may take to end when they are told to; then they are killed.
const GRACE: Duration = Duration::from_millis(500);

/// Start the ranks of one host (started by `allhands run --hosts`, which talks to it by its standard input and output)
#[derive(clap::Args)]
pub struct Arguments {}

/// Does what it is told, until its ranks have ended.
pub fn run(_: &Arguments) -> anyhow::Result<ExitCode> {
    // Not buffered, and handed to the thread that listens later.
    let input = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
    let mut input = File::from(input.context("there is no standard input")?);
    let mut output = std::io::stdout();
    output.write_all(GREETING)?;
    output.flush()?;
    let Some(Record::Task(json)) = Record::read(&mut input)? else {
        anyhow::bail!(
            "allhands agent is started by allhands run --hosts; it is of no use otherwise"
        );
    };
    let task: Task = serde_json::from_slice(&json).context("the launcher has another version")?;
    match begin(&task, input) {
        Ok(Some(code)) => Ok(ExitCode::from(code)),
        Ok(None) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            let line = format!("host {}: {error:#}", task.host);
            Record::Says(line).write(&mut output)?;
            Record::Failed(2).write(&mut output)?;
            Ok(ExitCode::from(2))
        }
    }
}

/// Starts the ranks when all agents are ready, and sees to them; the exit code, if they were to be started at all.
fn begin(task: &Task, mut input: File) -> anyhow::Result<Option<u8>> {
    let ranks = task.ranks.len() as u32;
    anyhow::ensure!(
        (1..=MAX_RANKS).contains(&ranks),
        "there can be from 1 to {MAX_RANKS} ranks on a host, not {ranks}"
    );
    std::env::set_current_dir(&task.directory)
        .with_context(|| format!("there is no folder {} here", task.directory))?;
    let bind: Bind = task.bind.parse().map_err(anyhow::Error::msg)?;
    let cpus = bind.cpus(ranks)?;
    let files = start::allow_files(u64::from(ranks) * 3 + 200)?;
    let segment = Segment::create()?;
    let roll = Roll::begin(segment, ranks)?;
    Record::Ready(free_port()?).write(&mut std::io::stdout())?;
    let Some(Record::Start(place)) = Record::read(&mut input)? else {
        return Ok(None);
    };
    let signals = signals::Signals::take()?;
    let guard = guard::Guard::start()?;
    listen(input);
    let (program, arguments) = task.program.split_first().context("no program is named")?;
    let plan = start::Plan {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        ranks,
        segment: start::reserve(segment)?,
        nodes: None,
        world: Some(start::World {
            ranks: task.ranks.clone(),
            all: task.all,
            place,
            secret: task.secret.clone(),
            host: task.host.clone(),
            environment: task.environment.clone(),
        }),
        cpus,
        piped: true,
        typed: false,
        mask: signals.before,
        files,
    };
    let form = match task.prefix {
        true => Form::RecordsOfLines,
        false => Form::Records,
    };
    let supervisor = Supervisor {
        plan: &plan,
        roll: &roll,
        signals: &signals,
        guard: &guard,
        keep_going: task.keep_going,
        until: None,
        state: State::with(Lines::new(form)),
    };
    // If this fails, the guard is not dismissed, and ends what runs.
    let code = supervisor.run()?;
    guard.dismiss();
    Ok(Some(code))
}

/// A port that is free now, for rank 0 to listen at if it is on this host.
fn free_port() -> anyhow::Result<u16> {
    let free = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).context("no port is free")?;
    Ok(free.local_addr()?.port())
}

/// Listens to the launcher from now on, and hands on what it says as signals to this process: they are handed on to all ranks.
fn listen(mut input: File) {
    let own = rustix::process::getpid();
    let hear = move || {
        while let Ok(Some(record)) = Record::read(&mut input) {
            match record {
                Record::Signal(signal) => {
                    if let Some(signal) = Signal::from_named_raw(signal) {
                        let _ = kill_process(own, signal);
                    }
                }
                Record::End => break,
                _ => {}
            }
        }
        // The launcher wants it, or is gone. Who is stopped hears nothing; who has not ended by then is killed.
        let _ = kill_process(own, Signal::TERM);
        let _ = kill_process(own, Signal::CONT);
        std::thread::sleep(GRACE);
        let _ = kill_process(own, Signal::INT);
    };
    std::thread::spawn(hear);
}
