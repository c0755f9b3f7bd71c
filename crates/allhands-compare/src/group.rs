//! A group: the ranks of one library with one setting, which take turns at the board.

use crate::board::{self, Board};
use crate::cell::Cell;
use crate::statistics::{median, quantile};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};
use xtask::processes;

/// How long ranks may take to start, and how long a turn may last beyond its time.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a group may fail before it is given up.
const MOST_FAILURES: usize = 3;

/// Whose ranks these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// `allhands` or the peer's name.
    pub library: &'static str,
    /// The setting's name.
    pub setting: &'static str,
}

/// The times of one turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// The median.
    pub median_us: f64,
    /// What one call in a hundred exceeds.
    pub p99_us: f64,
}

/// What a group shall do in a turn.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The cell, or [`board::REPLAY`] or [`board::REPLAY_AT_ONCE`] with the number of a trace.
    pub cell: Cell,
    /// How long.
    pub budget: Duration,
    /// [`board::FRESH`] and the others.
    pub flags: u64,
}

/// Why a turn gave no times.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The user ended the run.
    #[error("interrupted")]
    Interrupted,
    /// It failed too often.
    #[error("given up after {MOST_FAILURES} failures")]
    GivenUp,
    /// It could not be started.
    #[error("did not start: {0}")]
    Start(String),
    /// There is no call that counts.
    #[error("a rank began every call late")]
    Unsteady,
    /// It did not finish in time.
    #[error("did not finish within {0:?}")]
    Late(Duration),
    /// It ended by itself.
    #[error("ended by itself: {0}")]
    Ended(String),
    /// It computed something else.
    #[error(
        "WRONG RESULT on rank {rank}: element {index} is {got:#x}, not {expected:#x} ({count} wrong on this rank)"
    )]
    Wrong {
        /// Where.
        rank: usize,
        /// The element of its output.
        index: u64,
        /// What it is.
        got: u64,
        /// What it should be.
        expected: u64,
        /// How many are wrong on this rank, in all calls of the turn.
        count: u64,
    },
}

/// The ranks of one library with one setting.
pub struct Group<'a> {
    /// Whose ranks these are.
    pub name: Name,
    board: &'a Board,
    path: PathBuf,
    number: usize,
    ranks: usize,
    launcher: Command,
    child: Option<Child>,
    log: PathBuf,
    failures: usize,
    /// Whether the numbers that ranks give of their processes hold in namespaces of their own alone.
    is_elsewhere: bool,
}

impl<'a> Group<'a> {
    /// A group that is not started: `launcher` starts its ranks, `folder` takes what they print and leave.
    pub fn new(
        name: Name,
        (board, path, number): (&'a Board, &Path, usize),
        ranks: usize,
        mut launcher: Command,
        folder: &Path,
    ) -> Self {
        launcher
            .arg(path)
            .arg(number.to_string())
            .env("TMPDIR", folder)
            .stdin(Stdio::null());
        Self {
            name,
            board,
            path: path.to_owned(),
            number,
            ranks,
            launcher,
            child: None,
            log: folder.join(format!("{number}.log")),
            failures: 0,
            is_elsewhere: false,
        }
    }

    /// The same, whose ranks are on emulated hosts.
    #[must_use]
    pub fn on_hosts(mut self) -> Self {
        self.is_elsewhere = true;
        self
    }

    fn lines(&self) -> &'a board::Group {
        self.board.group(self.number)
    }

    /// Starts the ranks without waiting for them.
    ///
    /// # Errors
    /// When the launcher does not start.
    pub fn start(&mut self) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::Start(error.to_string());
        let log = File::create(&self.log).map_err(failed)?;
        let both = log.try_clone().map_err(failed)?;
        self.clear();
        self.launcher.stdout(log).stderr(both);
        self.child = Some(processes::start(&mut self.launcher).map_err(failed)?);
        Ok(())
    }

    /// What ranks expect of a new board; none is attached.
    fn clear(&self) {
        let lines = self.lines();
        for rank in &lines.ranks {
            rank.epoch.store(0, Relaxed);
            rank.pid.store(0, Relaxed);
            rank.wrong.store(0, Relaxed);
        }
        lines.go.go.store(0, Relaxed);
        lines.done.done.store(0, Relaxed);
        lines.turn.turn.store(0, Release);
    }

    /// Waits until all ranks are attached.
    ///
    /// # Errors
    /// When they are not in time, or end.
    pub fn attached(&mut self) -> Result<(), Failure> {
        let ranks = &self.lines().ranks[..self.ranks];
        let start = Instant::now();
        while ranks.iter().any(|rank| rank.pid.load(Acquire) == 0) {
            self.alive()?;
            if start.elapsed() > PATIENCE {
                return Err(Failure::Late(PATIENCE));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn alive(&mut self) -> Result<(), Failure> {
        if processes::interrupted() {
            return Err(Failure::Interrupted);
        }
        let ended = match &mut self.child {
            None => true,
            Some(child) => !matches!(child.try_wait(), Ok(None)),
        };
        if !ended {
            return Ok(());
        }
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let last = log.lines().filter(|line| !line.trim().is_empty());
        let last: Vec<&str> = last.collect();
        Err(Failure::Ended(
            last[last.len().saturating_sub(5)..].join(" / "),
        ))
    }

    /// Gives the group a turn, starting it if need be; a group that fails is ended.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn turn(&mut self, turn: Turn) -> Result<Times, Failure> {
        let samples_us = self.samples_us(turn)?;
        Ok(Times {
            median_us: median(&samples_us),
            p99_us: quantile(&samples_us, 0.99),
        })
    }

    /// The same for any turn, of which all samples are wanted.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn samples_us(&mut self, turn: Turn) -> Result<Vec<f64>, Failure> {
        if self.failures >= MOST_FAILURES {
            return Err(Failure::GivenUp);
        }
        let samples_us = self.try_turn(turn);
        match &samples_us {
            // A wrong result is no reason to start anew, nor is a busy machine.
            Ok(_) | Err(Failure::Wrong { .. } | Failure::Unsteady) => {}
            Err(_) => {
                self.failures += 1;
                self.end();
            }
        }
        samples_us
    }

    fn try_turn(&mut self, turn: Turn) -> Result<Vec<f64>, Failure> {
        if self.child.is_none() {
            self.start()?;
        }
        self.attached()?;
        let lines = self.lines();
        let flags = turn.flags;
        lines.turn.bytes.store(turn.cell.bytes as u64, Relaxed);
        lines.turn.flags.store(flags, Relaxed);
        let budget_ns = turn.budget.as_nanos() as u64;
        lines.turn.budget_ns.store(budget_ns, Relaxed);
        let number = self.announce(turn.cell.collective as u32);
        let start = Instant::now();
        let limit = 8 * turn.budget + PATIENCE;
        loop {
            let done = lines.done.done.load(Acquire);
            if done == number {
                break;
            }
            self.alive()?;
            if start.elapsed() > limit {
                return Err(Failure::Late(limit));
            }
            board::futex_wait(&lines.done.done, done, Duration::from_millis(100));
        }
        self.correct()?;
        let samples = lines.done.samples.load(Relaxed) as usize;
        let times = lines.sample_ns[..samples].iter();
        let times: Vec<f64> = times.map(|ns| ns.load(Relaxed) as f64 / 1000.0).collect();
        if times.is_empty() {
            return Err(Failure::Unsteady);
        }
        Ok(times)
    }

    /// Wakes the ranks for `collective`; gives the turn's number.
    fn announce(&self, collective: u32) -> u32 {
        let turn = &self.lines().turn;
        turn.collective.store(collective, Relaxed);
        let number = turn.turn.fetch_add(1, Release) + 1;
        board::futex_wake(&turn.turn);
        number
    }

    fn correct(&self) -> Result<(), Failure> {
        let ranks = &self.lines().ranks[..self.ranks];
        let wrong = ranks.iter().position(|rank| rank.wrong.load(Relaxed) > 0);
        wrong.map_or(Ok(()), |rank| {
            Err(Failure::Wrong {
                rank,
                index: ranks[rank].wrong_index.load(Relaxed),
                got: ranks[rank].wrong_got.load(Relaxed),
                expected: ranks[rank].wrong_expected.load(Relaxed),
                count: ranks[rank].wrong.load(Relaxed),
            })
        })
    }

    /// Ends the ranks, by their own will if there is time; the next turn starts others.
    pub fn leave(&mut self) {
        if !processes::interrupted() && self.alive().is_ok() {
            self.announce(board::QUIT);
            if let Some(child) = &mut self.child {
                processes::wait(child, Duration::from_secs(3));
            }
        }
        self.end();
    }

    fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            let pids = self.lines().ranks[..self.ranks].iter();
            let pids = pids.map(|rank| rank.pid.load(Acquire) as u32);
            // A number that the system has given anew does not map the board.
            let ranks = pids.filter(|pid| !self.is_elsewhere && processes::maps(*pid, &self.path));
            processes::end(&mut child, &ranks.collect::<Vec<_>>());
        }
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}
