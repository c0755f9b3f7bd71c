//! The fleet: the agents of all hosts, as `allhands run` starts them, hears them, and ends them when a rank fails.

use super::record::{Record, Task, greeted};
use crate::command::run::lines::Stream;
use crate::command::run::signals::Signals;
use crate::output;
use anyhow::Context;
use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a host may take until its agent answers.
const START: Duration = Duration::from_secs(60);
/// How long agents may take to end their ranks, before what started them is killed.
const GRACE: Duration = Duration::from_secs(8);
/// How long ranks may take to end when the user asked for it and the first one has.
const GRACE_WHEN_ASKED: Duration = Duration::from_secs(5);

/// One host's agent.
pub struct Agent {
    pub host: String,
    /// The words that start it.
    pub words: Vec<String>,
    pub task: Task,
}

/// What happens.
enum Event {
    Signal(i32),
    Record(usize, Record),
    /// An agent's launcher has ended, with this code, after it has said this instead of greeting.
    Ended(usize, i32, Option<Vec<u8>>),
}

/// An agent that runs.
struct Running {
    pid: rustix::process::Pid,
    to: Option<ChildStdin>,
    is_ready: bool,
    has_ended: bool,
}

/// What `allhands run --hosts` knows.
pub struct Fleet<'a> {
    pub agents: &'a [Agent],
    /// Where rank 0 is reached: its host, and its port if it was said.
    pub place: (String, Option<u16>),
    pub keep_going: bool,
    pub until: Option<(Instant, f64)>,
    running: Vec<Running>,
    free_port: u16,
    has_started: bool,
    code: Option<u8>,
    asked: bool,
    /// When agents are told to end, and when what started them is killed.
    ends_at: Option<Instant>,
    kills_at: Option<Instant>,
}

impl<'a> Fleet<'a> {
    pub fn new(agents: &'a [Agent], place: (String, Option<u16>)) -> Fleet<'a> {
        Fleet {
            agents,
            place,
            keep_going: false,
            until: None,
            running: Vec::new(),
            free_port: 0,
            has_started: false,
            code: None,
            asked: false,
            ends_at: None,
            kills_at: None,
        }
    }

    /// Runs all ranks to their ends; the exit code.
    pub fn run(mut self) -> anyhow::Result<u8> {
        let signals = Signals::take()?;
        let before = signals.before;
        let (say, events) = std::sync::mpsc::channel();
        let (write, writer) = writer();
        for (at, agent) in self.agents.iter().enumerate() {
            let mut command = Command::new(&agent.words[0]);
            command
                .args(&agent.words[1..])
                .process_group(0)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            // SAFETY: sets which signals are blocked, which may be done between fork and exec.
            unsafe { command.pre_exec(move || before.set().map(|_| ())) };
            let child = command.spawn();
            let child = child.with_context(|| {
                format!(
                    "host {}: cannot start '{}'",
                    agent.host,
                    agent.words.join(" ")
                )
            });
            match child {
                Ok(child) => self.started(at, child, &say, &write)?,
                Err(error) => {
                    output::complain(&format!("{error:#}"));
                    self.code.get_or_insert(127);
                    break;
                }
            }
        }
        if self.code.is_some() {
            self.end_soon(Duration::ZERO);
        }
        hear_signals(signals, say);
        drop(write);
        let began = Instant::now();
        while self.running.iter().any(|agent| !agent.has_ended) {
            self.wait(&events, began);
        }
        if self.kills_at.is_none_or(|at| Instant::now() < at) {
            // All that ranks have written is with whoever reads it.
            let _ = writer.join();
        }
        Ok(self.code.unwrap_or(0))
    }

    fn started(
        &mut self,
        at: usize,
        mut child: Child,
        say: &Sender<Event>,
        write: &SyncSender<(Stream, Vec<u8>)>,
    ) -> anyhow::Result<()> {
        let pid = rustix::process::Pid::from_child(&child);
        let json = serde_json::to_vec(&self.agents[at].task)?;
        let mut to = child.stdin.take();
        if let Some(pipe) = &mut to {
            // An agent that has gone is heard of soon.
            let _ = Record::Task(json).write(pipe);
        }
        let (say, write) = (say.clone(), write.clone());
        std::thread::spawn(move || hear(at, child, &say, &write));
        self.running.push(Running {
            pid,
            to,
            is_ready: false,
            has_ended: false,
        });
        Ok(())
    }

    /// Waits for the next event, and does what follows from it and from the time.
    fn wait(&mut self, events: &Receiver<Event>, began: Instant) {
        let until = self
            .until
            .map(|(at, _)| at)
            .filter(|_| self.kills_at.is_none());
        let start = (!self.has_started && self.kills_at.is_none()).then_some(began + START);
        let times = [self.ends_at, self.kills_at, until, start];
        let next = times.into_iter().flatten().min();
        let now = Instant::now();
        let patience = next.map_or(Duration::from_secs(3600), |at| {
            at.saturating_duration_since(now)
        });
        match events.recv_timeout(patience) {
            Ok(Event::Signal(signal)) => self.on_signal(signal),
            Ok(Event::Record(at, record)) => self.on_record(at, record),
            Ok(Event::Ended(at, code, said)) => self.on_end(at, code, said),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        let now = Instant::now();
        if let Some((_, seconds)) = self.until.filter(|_| until.is_some_and(|at| now >= at)) {
            output::complain(&format!(
                "the {seconds} s of --timeout are over; ending all hosts"
            ));
            self.code.get_or_insert(124);
            self.end_soon(Duration::ZERO);
        }
        if start.is_some_and(|at| now >= at) && !self.has_started {
            self.say_who_does_not_answer();
        }
        if self.ends_at.is_some_and(|at| now >= at) {
            self.ends_at = None;
            self.kills_at = Some(now + GRACE);
            self.tell(&Record::End);
            for agent in &mut self.running {
                agent.to = None;
            }
        }
        if self.kills_at.is_some_and(|at| now >= at) {
            self.kills_at = Some(now + GRACE);
            for agent in self.running.iter().filter(|agent| !agent.has_ended) {
                // One that has just ended wants no signal.
                let _ = rustix::process::kill_process_group(agent.pid, Signal::KILL);
            }
        }
    }

    fn say_who_does_not_answer(&mut self) {
        let silent = self.agents.iter().zip(&self.running);
        for (agent, _) in silent.filter(|(_, running)| !running.is_ready) {
            let (host, words, seconds) = (&agent.host, agent.words.join(" "), START.as_secs());
            output::complain(&format!(
                "host {host} has not answered for {seconds} s; right would be a launcher that starts a program there without asking: {words}"
            ));
        }
        self.code.get_or_insert(1);
        self.end_soon(Duration::ZERO);
    }

    fn tell(&mut self, record: &Record) {
        for pipe in self
            .running
            .iter_mut()
            .filter_map(|agent| agent.to.as_mut())
        {
            // Whoever hears nothing more has ended, or will be killed.
            let _ = record.write(pipe);
        }
    }

    fn end_soon(&mut self, grace: Duration) {
        let at = Instant::now() + grace;
        if self.kills_at.is_none() {
            self.ends_at = Some(self.ends_at.map_or(at, |other| other.min(at)));
        }
    }

    fn on_signal(&mut self, signal: i32) {
        self.tell(&Record::Signal(signal));
        if signal == libc::SIGTSTP {
            // As the terminal would have done; SIGCONT takes both up again.
            let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
        }
        if [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT].contains(&signal) {
            if !self.has_started || (self.asked && signal == libc::SIGINT) {
                self.code.get_or_insert(128 + signal as u8);
                self.end_soon(Duration::ZERO);
            }
            self.asked = true;
        }
    }

    fn on_record(&mut self, at: usize, record: Record) {
        match record {
            Record::Ready(port) => {
                self.running[at].is_ready = true;
                if at == 0 {
                    self.free_port = port;
                }
                let all = self.running.iter().all(|agent| agent.is_ready);
                if all && self.running.len() == self.agents.len() && self.ends_at.is_none() {
                    let (host, port) = &self.place;
                    let port = port.unwrap_or(self.free_port);
                    let host = if host.contains(':') {
                        format!("[{host}]")
                    } else {
                        host.clone()
                    };
                    self.tell(&Record::Start(format!("{host}:{port}")));
                    self.has_started = true;
                }
            }
            // What others say when they are told to end is no news.
            Record::Says(line) if self.code.is_none() || self.keep_going || self.asked => {
                output::complain(&line);
            }
            Record::Failed(code) => self.fail(code),
            _ => {}
        }
    }

    fn fail(&mut self, code: u8) {
        self.code.get_or_insert(code);
        match (self.asked, self.keep_going) {
            (true, _) => self.end_soon(GRACE_WHEN_ASKED),
            (false, true) => {}
            (false, false) => self.end_soon(Duration::ZERO),
        }
    }

    fn on_end(&mut self, at: usize, code: i32, said: Option<Vec<u8>>) {
        self.running[at].has_ended = true;
        self.running[at].to = None;
        let is_known = self.code.is_some();
        if code == 0 && said.is_none() && self.has_started || is_known && self.kills_at.is_some() {
            return;
        }
        let agent = &self.agents[at];
        if !is_known {
            let words = agent.words.join(" ");
            let said = said.map(|said| String::from_utf8_lossy(&said).trim().to_string());
            let said = said.filter(|said| !said.is_empty());
            let said = said.map_or_else(String::new, |said| format!(", after it said '{said}'"));
            let what = match self.running[at].is_ready {
                true => "its agent has ended",
                false => "no agent has answered",
            };
            output::complain(&format!(
                "host {}: {what}: '{words}' ended with code {code}{said}; ending all hosts",
                agent.host
            ));
        }
        if code != 0 || !self.has_started {
            let code = u8::try_from(code).ok().filter(|code| *code != 0);
            let keeps_going = self.keep_going && self.has_started;
            self.code.get_or_insert(code.unwrap_or(1));
            if !keeps_going {
                self.end_soon(Duration::ZERO);
            }
        }
    }
}

/// Hears one agent to its end.
fn hear(at: usize, mut child: Child, say: &Sender<Event>, write: &SyncSender<(Stream, Vec<u8>)>) {
    let mut said = None;
    if let Some(stdout) = child.stdout.take() {
        let mut from = std::io::BufReader::new(stdout);
        match greeted(&mut from) {
            Err(instead) => said = Some(instead),
            Ok(()) => {
                while let Ok(Some(record)) = Record::read(&mut from) {
                    // Where nobody listens any more, the program ends.
                    let _ = match record {
                        Record::Output(stream, bytes) => write.send((stream, bytes)).is_ok(),
                        record => say.send(Event::Record(at, record)).is_ok(),
                    };
                }
                // What is no record is nobody's business any more.
                let _ = std::io::copy(&mut from.take(u64::MAX), &mut std::io::sink());
            }
        }
    }
    let status = child.wait();
    let code = status.map(|status| status.code().or(status.signal().map(|signal| 128 + signal)));
    let code = code.ok().flatten().unwrap_or(1);
    let _ = say.send(Event::Ended(at, code, said));
}

/// Writes what ranks have written; while nobody reads it, they wait.
fn writer() -> (SyncSender<(Stream, Vec<u8>)>, JoinHandle<()>) {
    let (write, pieces) = std::sync::mpsc::sync_channel::<(Stream, Vec<u8>)>(64);
    let writer = std::thread::spawn(move || {
        for (stream, bytes) in pieces {
            // A reader that has gone does not end the ranks.
            let _ = match stream {
                Stream::Stdout => {
                    let mut out = std::io::stdout().lock();
                    out.write_all(&bytes).and_then(|()| out.flush())
                }
                Stream::Stderr => std::io::stderr().lock().write_all(&bytes),
            };
        }
    });
    (write, writer)
}

/// Tells of the signals that come, as long as the program runs.
fn hear_signals(signals: Signals, say: Sender<Event>) {
    std::thread::spawn(move || {
        loop {
            let mut fds = [PollFd::new(&signals, PollFlags::IN)];
            // One that is interrupted looks again.
            let _ = rustix::event::poll(&mut fds, None);
            while let Some(signal) = signals.next() {
                if say.send(Event::Signal(signal)).is_err() {
                    return;
                }
            }
        }
    });
}
