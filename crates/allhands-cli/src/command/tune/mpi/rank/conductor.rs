//! The conductor: rank 0, which says what all ranks do next, and the others, which follow.
//!
//! ```text
//! rank 0   call at T ──┬───────────────┬─── T: call ─── end ──┬──▶ the last end − T
//! others               ╰─▶ (T on their clock) call ─── end ───╯
//! ```
//!
//! A call's time is from a start that all have agreed on to the last rank's end. Nothing of this is a collective of the MPI: what is
//! measured has no part in the measuring. Clocks of other hosts are compared by messages to and fro.

use super::super::kind::Kind;
use super::buffers;
use super::forcing::Forcing;
use super::library::{Buffers, Handle, Library};
use anyhow::{Context, ensure};
use std::time::{Duration, Instant};

const QUIT: i64 = 0;
const PING: i64 = 1;
const PREPARE: i64 = 2;
const FORCE: i64 = 3;
const CALL: i64 = 4;

/// What rank 0 says: what to do, and up to three numbers for that.
type Order = [i64; 4];
/// What the others answer.
type Answer = [i64; 3];

/// How often a message goes to and fro when clocks are compared, and how long what was found holds.
const PINGS: usize = 8;
const CLOCKS_HOLD: Duration = Duration::from_secs(4);
/// The least and the most that a start is ahead.
const AHEAD_NS: (i64, i64) = (15_000, 30_000_000);
/// How long a rank may look at its clock without a pause before the start: with more ranks than processors it would keep others from it.
const SPIN_NS: i64 = 30_000;

/// The time of this host's clock.
pub fn now_ns() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: there is a time to write to, of a clock that every Linux has.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Waits for a time; whether it was over already.
fn wait_until(time_ns: i64) -> bool {
    let is_late = now_ns() > time_ns;
    while time_ns - now_ns() > SPIN_NS {
        let left = (time_ns - now_ns() - SPIN_NS).max(0);
        let pause = libc::timespec {
            tv_sec: left / 1_000_000_000,
            tv_nsec: left % 1_000_000_000,
        };
        // SAFETY: it reads a time of this frame. What a signal cuts short, the loop goes on with.
        unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                0,
                &raw const pause,
                std::ptr::null_mut(),
            );
        }
    }
    while now_ns() < time_ns {
        std::hint::spin_loop();
    }
    is_late
}

/// A rank's own part of everything.
pub struct Place<'a> {
    pub library: &'a Library,
    pub forcing: Forcing,
    /// For what is said here.
    control: Handle,
    kind: Kind,
    buffers: Buffers,
    comm: Handle,
}

impl<'a> Place<'a> {
    pub fn new(library: &'a Library, forcing: Forcing, control: Handle) -> Place<'a> {
        // Timers of a process that sleeps may be late by 50 µs, so that several go off together; here by none.
        // SAFETY: sets a number of this thread.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize) };
        Place {
            library,
            forcing,
            control,
            kind: Kind::Barrier,
            buffers: buffers::prepare(Kind::Barrier, 0, (library.rank, library.ranks)),
            comm: library.world,
        }
    }

    fn own(&self) -> (usize, usize) {
        (self.library.rank, self.library.ranks)
    }

    /// Does what rank 0 says, until there is nothing left.
    pub fn follow(&mut self) -> anyhow::Result<()> {
        loop {
            let mut order: Order = [0; 4];
            self.library.receive(self.control, 0, &mut order)?;
            if order[0] == QUIT {
                return Ok(());
            }
            let answer = self.obey(order)?;
            self.library.send(self.control, 0, &answer)?;
        }
    }

    fn obey(&mut self, [what, first, second, third]: Order) -> anyhow::Result<Answer> {
        match what {
            PING => Ok([now_ns(), 0, 0]),
            PREPARE => {
                self.kind = *Kind::ALL
                    .get(first as usize)
                    .context("no such collective")?;
                self.buffers = buffers::prepare(self.kind, second as u64, self.own());
                Ok([0; 3])
            }
            FORCE => {
                self.comm = self.forcing.force(self.kind, first as usize)?;
                if second != 0 {
                    buffers::renew(self.kind, &mut self.buffers, self.library.rank);
                }
                Ok([0; 3])
            }
            CALL => {
                let is_late = wait_until(first);
                self.library.call(self.kind, self.comm, &mut self.buffers)?;
                let end_ns = now_ns();
                let is_wrong =
                    third != 0 && !buffers::is_right(self.kind, &self.buffers, self.own());
                Ok([end_ns, is_late.into(), is_wrong.into()])
            }
            other => anyhow::bail!("rank 0 says {other}, which is nothing"),
        }
    }
}

/// What a call came to.
#[derive(Clone, Copy, Debug)]
pub struct Called {
    /// From the start to the last rank's end; `None` if a rank began late.
    pub us: Option<f64>,
    /// The same, from when it should have begun.
    pub about_us: f64,
    pub is_right: bool,
}

/// Rank 0.
pub struct Conductor<'a> {
    place: Place<'a>,
    /// How far the clock of each rank is ahead of this one's.
    ahead_ns: Vec<i64>,
    /// Whether a rank is on this host: it has the same clock.
    is_here: Vec<bool>,
    compared: Option<Instant>,
    /// How far ahead a start is, so that everybody hears of it in time.
    start_ahead_ns: i64,
}

impl<'a> Conductor<'a> {
    pub fn new(place: Place<'a>, is_here: Vec<bool>) -> Conductor<'a> {
        Conductor {
            ahead_ns: vec![0; place.library.ranks],
            place,
            is_here,
            compared: None,
            start_ahead_ns: 200_000,
        }
    }

    pub fn place(&self) -> &Place<'a> {
        &self.place
    }

    fn others(&self) -> std::ops::Range<usize> {
        1..self.place.library.ranks
    }

    /// Has all ranks do one thing; gives their answers.
    fn order(&mut self, order: Order) -> anyhow::Result<()> {
        for rank in self.others() {
            self.place.library.send(self.place.control, rank, &order)?;
        }
        self.place.obey(order)?;
        for rank in self.others() {
            self.answer(rank)?;
        }
        Ok(())
    }

    fn answer(&self, rank: usize) -> anyhow::Result<Answer> {
        let mut answer: Answer = [0; 3];
        let place = &self.place;
        place.library.receive(place.control, rank, &mut answer)?;
        Ok(answer)
    }

    /// Gives all ranks buffers for a collective and a size.
    pub fn prepare(&mut self, kind: Kind, bytes: u64) -> anyhow::Result<()> {
        let number = Kind::ALL.iter().position(|known| *known == kind);
        let number = number.context("no such collective")? as i64;
        self.order([PREPARE, number, bytes as i64, 0])
    }

    /// Has calls done by a variant of the collective from now on; with `renew`, what comes out first is new.
    pub fn force(&mut self, index: usize, renew: bool) -> anyhow::Result<()> {
        self.order([FORCE, index as i64, renew.into(), 0])
    }

    /// Makes a call on all ranks.
    pub fn call(&mut self, is_checked: bool) -> anyhow::Result<Called> {
        if self.compared.is_none_or(|at| at.elapsed() > CLOCKS_HOLD) {
            self.compare_clocks()?;
        }
        let start_ns = now_ns() + self.start_ahead_ns;
        let order = |start_ns: i64| [CALL, start_ns, 0, is_checked.into()];
        for rank in self.others() {
            let order = order(start_ns + self.ahead_ns[rank]);
            self.place.library.send(self.place.control, rank, &order)?;
        }
        let [mut last_ns, mut late, mut wrong] = self.place.obey(order(start_ns))?;
        for rank in self.others() {
            let [end_ns, is_late, is_wrong] = self.answer(rank)?;
            last_ns = last_ns.max(end_ns - self.ahead_ns[rank]);
            late += is_late;
            wrong += is_wrong;
        }
        self.adapt(late > 0);
        let about_us = (last_ns - start_ns) as f64 / 1e3;
        Ok(Called {
            us: (late == 0).then_some(about_us),
            about_us,
            is_right: wrong == 0,
        })
    }

    /// Gives more time before the next start if somebody was late, and else a little less.
    fn adapt(&mut self, was_late: bool) {
        let ahead = self.start_ahead_ns;
        let next = if was_late {
            ahead * 3 / 2
        } else {
            ahead - ahead / 64
        };
        self.start_ahead_ns = next.clamp(AHEAD_NS.0, AHEAD_NS.1);
    }

    /// Finds out how far the clocks of other hosts are ahead.
    fn compare_clocks(&mut self) -> anyhow::Result<()> {
        for rank in self.others().filter(|rank| !self.is_here[*rank]) {
            let mut least = i64::MAX;
            for _ in 0..PINGS {
                let sent = now_ns();
                let library = self.place.library;
                library.send(self.place.control, rank, &[PING, 0, 0, 0])?;
                let [theirs, ..] = self.answer(rank)?;
                let back = now_ns();
                if back - sent < least {
                    least = back - sent;
                    self.ahead_ns[rank] = theirs - i64::midpoint(sent, back);
                }
            }
            ensure!(least < i64::MAX, "no message came back");
        }
        self.compared = Some(Instant::now());
        Ok(())
    }

    /// Tells the others that nothing is left.
    pub fn quit(self) -> anyhow::Result<()> {
        for rank in self.others() {
            let place = &self.place;
            place.library.send(place.control, rank, &[QUIT, 0, 0, 0])?;
        }
        Ok(())
    }
}
