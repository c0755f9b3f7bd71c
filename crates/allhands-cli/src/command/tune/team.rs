//! The ranks that measure for `tune`: threads of this process, or processes that are asked candidate by candidate.
//!
//! ```text
//! tune ── a request, as a line ──▶ rank 0 ── broadcast ──▶ other ranks
//! tune ◀── the record, as a line ── rank 0       all of them measure
//! ```

use crate::command::bench::cell::{self, Among, Cell, Least, Record};
use crate::command::bench::team::Transport;
use crate::command::run::Bind;
use crate::{interrupt, names};
use allhands::{Communicator, launch};
use anyhow::Context;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Duration;

/// Tells a process that it is a rank of a team.
const MEMBER: &str = "ALLHANDS_TUNE_MEMBER";

/// What is to be measured.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    pub collective: String,
    pub algorithm: String,
    pub parameters: String,
    pub ranks: u32,
    pub bytes: usize,
    pub seconds: f64,
}

impl Request {
    fn cell(&self) -> anyhow::Result<Cell> {
        let collective = names::collective(&self.collective).map_err(anyhow::Error::msg)?;
        let (algorithm, _) = names::algorithm(collective, &self.algorithm)?;
        let named = (algorithm, &self.parameters[..]);
        Ok(Cell::regular(named, self.ranks, self.bytes))
    }

    fn budget(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

/// The ranks; processes are started when they are first asked, and anew for another number of them or when they failed.
pub struct Team {
    transport: Transport,
    bind: Bind,
    processes: Option<Processes>,
}

struct Processes {
    ranks: u32,
    child: Child,
    /// Closed before anyone waits for the end: that is what ends rank 0.
    requests: Option<ChildStdin>,
    records: BufReader<ChildStdout>,
}

impl Team {
    /// Teams of so many ranks, which are bound to cpus like this if they are processes.
    ///
    /// # Errors
    /// When so many cannot be bound like this.
    pub fn new(
        transport: Transport,
        bind: Bind,
        mut ranks: impl Iterator<Item = u32>,
    ) -> anyhow::Result<Team> {
        if transport.is_processes() {
            ranks.try_for_each(|ranks| bind.cpus(ranks).map(drop))?;
        }
        Ok(Team {
            transport,
            bind,
            processes: None,
        })
    }

    /// What is measured of a candidate.
    ///
    /// # Errors
    /// What was wrong with the result, or how the ranks ended.
    pub fn measure(&mut self, request: &Request) -> Result<Record, String> {
        if interrupt::is_asked() {
            return Err("interrupted".into());
        }
        let record = match self.transport {
            Transport::Threads => {
                let cell = request.cell().map_err(|e| format!("{e:#}"))?;
                cell::measure(&cell, (request.budget(), Least::Three))
            }
            Transport::Shm | Transport::Tcp | Transport::Ofi => {
                let asked = self.processes(request.ranks).and_then(|p| p.ask(request));
                asked.map_err(|e| {
                    self.processes = None;
                    format!("{e:#}")
                })?
            }
        };
        match record.failure {
            Some(why) => {
                // What is left of a call that failed is not for the next one.
                self.processes = None;
                Err(why)
            }
            None => Ok(record),
        }
    }

    /// Has ranks started anew for what is asked next.
    pub fn start_anew(&mut self) {
        self.processes = None;
    }

    fn processes(&mut self, ranks: u32) -> anyhow::Result<&mut Processes> {
        let others = self.processes.take().filter(|p| p.ranks == ranks);
        let processes = others.map_or_else(|| Processes::start(ranks, &self.bind), Ok)?;
        Ok(self.processes.insert(processes))
    }
}

impl Processes {
    fn start(ranks: u32, bind: &Bind) -> anyhow::Result<Processes> {
        let program = std::env::current_exe().context("cannot find the program itself")?;
        let mut child = Command::new(&program)
            .args(["run", "-n", &ranks.to_string()])
            .args([&format!("--bind={bind}"), "--"])
            .arg(&program)
            .arg("tune")
            .env(MEMBER, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the ranks")?;
        interrupt::tell_child(Some(child.id()));
        let (requests, records) = (child.stdin.take(), child.stdout.take());
        Ok(Processes {
            ranks,
            child,
            requests,
            records: BufReader::new(records.context("the ranks have no output")?),
        })
    }

    fn ask(&mut self, request: &Request) -> anyhow::Result<Record> {
        let asked = serde_json::to_string(request)? + "\n";
        let mut requests = self.requests.as_ref().context("the ranks have no input")?;
        let sent = requests.write_all(asked.as_bytes());
        sent.context("the ranks have ended")?;
        let mut line = String::new();
        self.records.read_line(&mut line)?;
        anyhow::ensure!(!line.is_empty(), "the ranks ended");
        serde_json::from_str(&line)
            .with_context(|| format!("rank 0 says what is no record: {line}"))
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.requests = None;
        interrupt::tell_child(None);
        // They end by themselves; how does not matter any more.
        let _ = self.child.wait();
    }
}

/// Whether this process is a rank of a team; one that was started as a rank in another way is told that this is wrong.
pub fn is_member() -> anyhow::Result<bool> {
    let member = std::env::var_os(MEMBER).is_some();
    let place = launch::place()?;
    anyhow::ensure!(
        member || place.is_none(),
        "this is a rank of a parallel program already; tune starts its own ranks: allhands tune -n 2,8"
    );
    Ok(member)
}

/// What a rank of a team does: measures what is asked until nothing more is.
pub fn serve() -> anyhow::Result<ExitCode> {
    let mut among = Among::near(Communicator::world()?);
    let (first, mut requests) = (among.comm.rank() == 0, std::io::stdin().lock());
    loop {
        let mut line = Vec::new();
        if first {
            requests.read_until(b'\n', &mut line)?;
        }
        let mut length = [line.len() as u64];
        among.comm.broadcast(&mut length, 0)?;
        if length[0] == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        line.resize(length[0] as usize, 0);
        among.comm.broadcast(&mut line, 0)?;
        let request: Request = serde_json::from_slice(&line).context("not a request")?;
        let budget = (request.budget(), Least::Three);
        let record = cell::measure_among(&request.cell()?, &mut among, budget);
        if first {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{}", serde_json::to_string(&record)?)?;
            out.flush()?;
        }
    }
}
