//! The supervisor: starts the ranks, waits for what happens to them, and ends them when one has failed.

use super::group::Groups;
use super::guard::Guard;
use super::lines::{Lines, Stream, Waiting};
use super::ready::ready;
use super::signals::Signals;
use super::start::{Plan, Started};
use super::typed::Typed;
use super::waits;
use crate::output;
use allhands::launch::{How, Roll};
use anyhow::Context;
use rustix::event::PollFlags;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use std::time::{Duration, Instant};

/// How long ranks may take to end when they are told to because another has failed.
const GRACE: Duration = Duration::from_millis(500);
/// How long the others may take when one has ended because the user asked all to end.
const GRACE_WHEN_ASKED: Duration = Duration::from_secs(5);
/// How long a rank on whose account another failed may take to end, so that it can say what was wrong.
const TIME_TO_SAY: Duration = Duration::from_secs(1);
/// How often to look whether processes are left that nothing tells of.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What the supervisor does when something happens.
pub struct Supervisor<'a> {
    pub plan: &'a Plan,
    pub roll: &'a Roll,
    pub signals: &'a Signals,
    pub guard: &'a Guard,
    pub keep_going: bool,
    /// When everything is to end.
    pub until: Option<(Instant, f64)>,
    pub state: State,
}

impl State {
    /// Nothing yet; output is forwarded so.
    pub fn with(lines: Lines) -> State {
        State {
            lines: Some(lines),
            ..State::default()
        }
    }
}

/// What has happened so far.
#[derive(Default)]
pub struct State {
    running: Vec<Running>,
    started: u32,
    groups: Groups,
    leaders: Vec<Pid>,
    lines: Option<Lines>,
    typed: Option<Typed>,
    /// The exit code of the first failure.
    code: Option<u8>,
    /// The signal by which the user asked all ranks to end.
    asked: Option<i32>,
    held_back: Option<HeldBack>,
    ending: Option<Ending>,
}

/// A rank whose process runs.
struct Running {
    rank: u32,
    pid: Pid,
    watch: OwnedFd,
}

/// A failure that is not acted upon yet: the rank on whose account it came has something to say first.
#[derive(Clone, Copy)]
struct HeldBack {
    rank: u32,
    how: How,
    culprit: u32,
    until: Instant,
}

/// What remains is being ended.
struct Ending {
    kill_at: Instant,
    killed: bool,
}

/// Something that is waited for.
#[derive(Clone, Copy)]
enum Event {
    Signal,
    /// The process at this place of `running` has ended.
    Ended(usize),
    Lines(Waiting),
    Typed,
}

impl Supervisor<'_> {
    /// Runs all ranks to their ends; the exit code.
    pub fn run(mut self) -> anyhow::Result<u8> {
        if self.plan.piped {
            self.state.lines.get_or_insert_default();
        }
        while self.goes_on() {
            if self.may_start() {
                self.start_next();
            }
            for event in self.wait()? {
                match event {
                    Event::Signal => self.on_signals(),
                    Event::Ended(_) => {}
                    Event::Lines(waiting) => {
                        if let Some(lines) = &mut self.state.lines {
                            lines.advance(waiting);
                        }
                    }
                    Event::Typed => {
                        if let Some(typed) = &mut self.state.typed {
                            typed.advance();
                        }
                    }
                }
            }
            self.on_time();
        }
        self.state.groups.end();
        self.drain()?;
        for leader in &self.state.leaders {
            // Only now, so that no number of a group was free for others before.
            let _ = rustix::process::waitid(WaitId::Pid(*leader), WaitIdOptions::EXITED);
        }
        Ok(self.state.code.unwrap_or(0))
    }

    fn may_start(&self) -> bool {
        let State {
            ending,
            asked,
            held_back,
            started,
            ..
        } = &self.state;
        let goes_on = ending.is_none() && asked.is_none() && held_back.is_none();
        goes_on && *started < self.plan.ranks
    }

    /// How many ranks run or have yet to be started.
    fn left(&self) -> usize {
        self.state.running.len() + (self.plan.ranks - self.state.started) as usize
    }

    /// Until every rank has ended; and when they were told to, what they had started, unless its time is over.
    fn goes_on(&self) -> bool {
        if self.may_start() || !self.state.running.is_empty() {
            return true;
        }
        match &self.state.ending {
            Some(ending) => !ending.killed && self.state.groups.any_alive(),
            None => false,
        }
    }

    fn start_next(&mut self) {
        let rank = self.state.started;
        match self.plan.start(rank, self.guard.pipe().as_raw_fd()) {
            Ok(started) => self.started(rank, started),
            Err(error) => {
                self.say(&error.says);
                self.state.code.get_or_insert(error.code);
                if let Some(lines) = &mut self.state.lines {
                    lines.fail(error.code);
                }
                self.end_all(GRACE);
            }
        }
    }

    fn started(&mut self, rank: u32, started: Started) {
        let Started {
            pid,
            watch,
            stdin,
            stdout,
            stderr,
        } = started;
        let state = &mut self.state;
        state.started += 1;
        state.groups.add(pid);
        state.leaders.push(pid);
        state.running.push(Running { rank, pid, watch });
        state.typed = stdin.map(Typed::new).or(state.typed.take());
        if let Some(lines) = &mut state.lines {
            for (stream, pipe) in [(Stream::Stdout, stdout), (Stream::Stderr, stderr)] {
                if let Some(pipe) = pipe {
                    lines.add(self.plan.name(rank), stream, pipe);
                }
            }
        }
    }

    /// Waits for something to happen, and sees which ranks have ended.
    fn wait(&mut self) -> anyhow::Result<Vec<Event>> {
        let timeout = self.timeout();
        let mut waiting: Vec<(Event, BorrowedFd<'_>, PollFlags)> = Vec::new();
        waiting.push((Event::Signal, self.signals.as_fd(), PollFlags::IN));
        for (at, running) in self.state.running.iter().enumerate() {
            waiting.push((Event::Ended(at), running.watch.as_fd(), PollFlags::IN));
        }
        if let Some(lines) = &self.state.lines {
            waiting.extend(
                lines
                    .waiting()
                    .map(|(w, fd, flags)| (Event::Lines(w), fd, flags)),
            );
        }
        if let Some((fd, flags)) = self.state.typed.as_ref().and_then(Typed::waiting) {
            waiting.push((Event::Typed, fd, flags));
        }
        let events = ready(&waiting, timeout)?;
        let ended = events.iter().filter_map(|event| match event {
            Event::Ended(at) => Some(*at),
            Event::Signal | Event::Lines(_) | Event::Typed => None,
        });
        let ended: Vec<usize> = ended.collect();
        self.on_ends(&ended)?;
        Ok(events)
    }

    fn timeout(&self) -> Option<Duration> {
        if self.may_start() {
            return Some(Duration::ZERO);
        }
        let now = Instant::now();
        let kill = self
            .state
            .ending
            .as_ref()
            .filter(|e| !e.killed)
            .map(|e| e.kill_at);
        let until = self
            .until
            .map(|(at, _)| at)
            .filter(|_| self.state.ending.is_none());
        let held_back = self.state.held_back.map(|held| held.until);
        let next = kill.into_iter().chain(until).chain(held_back).min();
        let next = next.map(|at| at.saturating_duration_since(now));
        if self.state.running.is_empty() {
            return Some(next.map_or(LOOK_AGAIN, |next| next.min(LOOK_AGAIN)));
        }
        next
    }

    /// Notes which processes have ended, and how.
    fn on_ends(&mut self, places: &[usize]) -> anyhow::Result<()> {
        let mut ends = Vec::new();
        for at in places.iter().rev() {
            let running = &self.state.running[*at];
            // It stays a zombie until the end, so that the number of its group is not used again.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            let status = rustix::process::waitid(WaitId::Pid(running.pid), options);
            let status =
                status.with_context(|| format!("cannot wait for rank {}", running.rank))?;
            let Some(status) = status else { continue };
            let how = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => How::Exited(code as u8),
                (None, Some(signal)) => How::Killed(signal as u8),
                (None, None) => continue,
            };
            self.roll.end(running.rank, how);
            ends.push((running.rank, how));
            self.state.running.swap_remove(*at);
        }
        // Of those that ended at the same time, one that was killed is more likely the cause than the consequence.
        let culprit = self.roll.culprit();
        let is_blamed = |rank: u32| Some(rank) == culprit;
        ends.sort_by_key(|(rank, how)| (!is_blamed(*rank), !matches!(how, How::Killed(_)), *rank));
        for (rank, how) in ends {
            if how.is_failure() {
                self.on_failure(rank, how);
            }
        }
        self.let_culprit_go();
        Ok(())
    }

    fn is_running(&self, rank: u32) -> bool {
        self.state.running.iter().any(|r| r.rank == rank)
    }

    /// Acts upon a failure that was held back, if there is nothing left to wait for.
    fn let_culprit_go(&mut self) {
        let Some(held) = self.state.held_back else {
            return;
        };
        if !self.is_running(held.culprit) || Instant::now() >= held.until {
            self.state.held_back = None;
            self.fail(held.rank, held.how);
        }
    }

    /// Acts upon a rank's failure, or waits until the rank that is to blame has said what was wrong.
    fn on_failure(&mut self, rank: u32, how: How) {
        let first = self.state.held_back;
        if first.is_some_and(|held| held.culprit != rank) {
            return;
        }
        self.state.held_back = None;
        let ends_all =
            !self.keep_going && self.state.asked.is_none() && self.state.ending.is_none();
        let culprit = self.roll.culprit().filter(|culprit| {
            ends_all && first.is_none() && *culprit != rank && self.is_running(*culprit)
        });
        match culprit {
            Some(culprit) => {
                let until = Instant::now() + TIME_TO_SAY;
                self.state.held_back = Some(HeldBack {
                    rank,
                    how,
                    culprit,
                    until,
                });
            }
            None => self.fail(rank, how),
        }
    }

    fn fail(&mut self, rank: u32, how: How) {
        if self.state.ending.is_some() {
            return;
        }
        self.state.code.get_or_insert(how.exit_code());
        let left = match &self.plan.world {
            // On other hosts they are, as far as is known here.
            Some(world) => world.all as usize - 1,
            None => self.left(),
        };
        let rank = self.plan.describe(rank);
        let others = match left {
            1 => "the other rank".to_string(),
            left => format!("the other {left} ranks"),
        };
        match self.state.asked {
            Some(signal) => {
                if how != How::Killed(signal as u8) {
                    self.say(&format!("{rank} {how}"));
                }
                self.end_later(GRACE_WHEN_ASKED);
            }
            None if left == 0 => self.say(&format!("{rank} {how}")),
            None if self.keep_going => {
                let go = if left == 1 { "goes" } else { "go" };
                self.say(&format!("{rank} {how}; {others} {go} on"));
            }
            None => {
                self.say(&format!("{rank} {how}; ending {others}"));
                self.end_all(GRACE);
            }
        }
        if let Some(lines) = &mut self.state.lines {
            lines.fail(how.exit_code());
        }
    }

    fn on_signals(&mut self) {
        while let Some(signal) = self.signals.next() {
            // The only numbers that come are those that were asked for.
            let Some(named) = Signal::from_named_raw(signal) else {
                continue;
            };
            if signal == libc::SIGINT && self.state.asked.is_some() {
                self.state.code.get_or_insert(128 + signal as u8);
                self.end_later(Duration::ZERO);
                continue;
            }
            if [libc::SIGUSR1, libc::SIGINT].contains(&signal) {
                self.say_who_waits();
            }
            match signal {
                libc::SIGUSR1 => self.state.groups.signal_who_handles(named),
                _ => self.state.groups.signal(named),
            }
            if asks_to_end(signal) {
                self.state.asked.get_or_insert(signal);
                // Those that were not started will not be.
                if self.state.started < self.plan.ranks {
                    self.state.code.get_or_insert(128 + signal as u8);
                }
            }
            if signal == libc::SIGTSTP {
                // As the terminal would have done; SIGCONT takes both up again.
                let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
            }
        }
    }

    fn on_time(&mut self) {
        let now = Instant::now();
        if let Some((until, seconds)) = self.until
            && now >= until
            && self.state.ending.is_none()
        {
            let left = self.state.running.len();
            self.say_who_waits();
            self.say(&format!(
                "the {seconds} s of --timeout are over; ending {left} ranks"
            ));
            self.state.code.get_or_insert(124);
            self.end_all(GRACE);
        }
        self.let_culprit_go();
        if let Some(ending) = &mut self.state.ending
            && !ending.killed
            && now >= ending.kill_at
        {
            ending.killed = true;
            self.state.groups.signal(Signal::KILL);
        }
    }

    fn say_who_waits(&mut self) {
        for line in waits::all(self.roll, |rank| self.plan.name(rank)) {
            self.say(&line);
        }
    }

    /// Tells all ranks to end, and kills what has not after the time.
    fn end_all(&mut self, grace: Duration) {
        self.state.groups.signal(Signal::TERM);
        // One that is stopped would hear nothing.
        self.state.groups.signal(Signal::CONT);
        self.end_later(grace);
    }

    /// Kills what has not ended by itself after the time.
    fn end_later(&mut self, grace: Duration) {
        let kill_at = Instant::now() + grace;
        match &mut self.state.ending {
            Some(ending) => ending.kill_at = ending.kill_at.min(kill_at),
            None => {
                let killed = false;
                self.state.ending = Some(Ending { kill_at, killed });
            }
        }
    }

    /// Writes what the ranks had written before they ended.
    fn drain(&mut self) -> anyhow::Result<()> {
        let Some(mut lines) = self.state.lines.take() else {
            return Ok(());
        };
        while lines.is_busy() {
            let waiting = lines.waiting().map(|(w, fd, f)| (Event::Lines(w), fd, f));
            let signals = (Event::Signal, self.signals.as_fd(), PollFlags::IN);
            let waiting: Vec<_> = waiting.chain([signals]).collect();
            let events = ready(&waiting, Some(Duration::from_millis(100)))?;
            // Somebody outside of the groups still has a pipe open, and says nothing.
            if events.is_empty() && waiting.iter().all(|(_, _, flags)| *flags == PollFlags::IN) {
                lines.close();
            }
            for event in events {
                match event {
                    Event::Lines(waiting) => lines.advance(waiting),
                    Event::Signal if self.signals.next().is_some_and(asks_to_end) => return Ok(()),
                    Event::Signal | Event::Ended(_) | Event::Typed => {}
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, what: &str) {
        match &mut self.state.lines {
            Some(lines) => lines.say(what),
            None => output::complain(what),
        }
    }
}

fn asks_to_end(signal: i32) -> bool {
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT].contains(&signal)
}
