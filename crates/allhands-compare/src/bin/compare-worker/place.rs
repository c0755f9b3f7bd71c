//! A rank's place at the board: the neutral start and finish of a call, and the turn around them.

use super::library::Library;
use super::mpi::Mpi;
use super::replay;
use super::work::{Collective, Work};
use allhands::{Communicator, Policy, threads};
use allhands_compare::board::{self, Board, Group};
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

const WARM_NS: u64 = 2_000_000;
/// How far ahead the start of ranks is that sleep: what a call has left on the network is gone by then.
const AHEAD_OF_SLEEPERS_NS: u64 = 5_000_000;
/// How long ranks sleep before they take what others may need of them further: a message that its sender's call has left behind.
const NAP: Duration = Duration::from_millis(1);
/// What stands for the end of a call that a rank began late.
const LATE: u64 = u64::MAX;

/// What a rank comes to.
pub(super) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How ranks wait for one another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// With a core for every rank.
    Spinning,
    /// With more ranks than cores.
    Yielding,
    /// With many more, or where what is measured needs the cores.
    Asleep,
}

impl Waiting {
    fn of(flags: u64) -> Waiting {
        match flags {
            _ if flags & board::ASLEEP != 0 => Waiting::Asleep,
            _ if flags & board::OVERSUBSCRIBED != 0 => Waiting::Yielding,
            _ => Waiting::Spinning,
        }
    }

    /// The calls that warm up at least, and the least that are timed: hosts of a lab take a second for some.
    fn least_calls(self) -> [u64; 2] {
        match self {
            Waiting::Asleep => [2, 3],
            Waiting::Spinning | Waiting::Yielding => [5, 5],
        }
    }
}

/// What one call counts as; a last one is timed too.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
enum Phase {
    Warm,
    Timed,
    Last,
}

impl Phase {
    fn of(number: u64) -> Phase {
        match number {
            0 => Phase::Warm,
            1 => Phase::Timed,
            _ => Phase::Last,
        }
    }
}

/// A rank's place at the board.
pub(super) struct Place<'a> {
    pub(super) group: &'a Group,
    pub(super) rank: usize,
    pub(super) ranks: usize,
    /// Barriers entered.
    epoch: u64,
    waiting: Waiting,
}

/// Of a clock that all processes share.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to a time of this frame.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The neutral start and finish: they use nothing of the library under test.
impl Place<'_> {
    /// Waits until a number is that much. Others may need meanwhile what a call of this rank's has left behind, as they would of a
    /// program that goes on to its next call: ranks that sleep see to that.
    fn until(&self, word: &AtomicU64, least: u64, library: &impl Library) -> Outcome<()> {
        loop {
            let seen = word.load(Acquire);
            if seen >= least {
                return Ok(());
            }
            match self.waiting {
                Waiting::Spinning => std::hint::spin_loop(),
                // Not `yield_now`, which may one day do more.
                // SAFETY: has no preconditions.
                Waiting::Yielding => unsafe {
                    libc::sched_yield();
                },
                Waiting::Asleep => {
                    board::number_wait(word, seen, NAP);
                    if word.load(Acquire) == seen {
                        library.poke()?;
                    }
                }
            }
        }
    }

    fn raise(&self, word: &AtomicU64, value: u64) {
        word.store(value, Release);
        if self.waiting == Waiting::Asleep {
            board::number_wake(word);
        }
    }

    /// Rank 0 returns when all have come, the others at once.
    fn assemble(&mut self, library: &impl Library) -> Outcome<()> {
        self.epoch += 1;
        let ranks = &self.group.ranks[..self.ranks];
        self.raise(&ranks[self.rank].epoch, self.epoch);
        if self.rank == 0 {
            for other in &ranks[1..] {
                self.until(&other.epoch, self.epoch, library)?;
            }
        }
        Ok(())
    }

    /// Rank 0 lets the others go; they return when it has.
    fn release(&self, library: &impl Library) -> Outcome<()> {
        let go = &self.group.go.go;
        if self.rank == 0 {
            self.raise(go, self.epoch);
            return Ok(());
        }
        self.until(go, self.epoch, library)
    }

    /// All ranks leave at the same time, which rank 0 sets; gives that time, or that this rank is late, and what rank 0 says of the call.
    pub(super) fn start(
        &mut self,
        says: u64,
        library: &impl Library,
    ) -> Outcome<(Option<u64>, u64)> {
        let go = &self.group.go;
        self.assemble(library)?;
        if self.rank == 0 {
            go.phase.store(says, Relaxed);
            let ahead = match self.waiting {
                Waiting::Spinning => 3000,
                Waiting::Yielding => 4000 * self.ranks as u64,
                Waiting::Asleep => AHEAD_OF_SLEEPERS_NS,
            };
            go.start_ns.store(now_ns() + ahead, Relaxed);
        }
        self.release(library)?;
        let says = go.phase.load(Relaxed);
        let start_ns = go.start_ns.load(Relaxed);
        let is_late = self.waiting == Waiting::Asleep && now_ns() > start_ns;
        while now_ns() < start_ns {
            match self.waiting {
                Waiting::Spinning => std::hint::spin_loop(),
                // SAFETY: has no preconditions.
                Waiting::Yielding => unsafe {
                    libc::sched_yield();
                },
                Waiting::Asleep => sleep_until(start_ns),
            }
        }
        Ok(((!is_late).then_some(start_ns), says))
    }

    /// Notes the end; gives rank 0 the time from the start to the last rank's end, if no rank was late.
    pub(super) fn finish(
        &mut self,
        library: &impl Library,
        start_ns: Option<u64>,
    ) -> Outcome<Option<u64>> {
        let ranks = &self.group.ranks[..self.ranks];
        let end_ns = if start_ns.is_some() { now_ns() } else { LATE };
        ranks[self.rank].end_ns.store(end_ns, Relaxed);
        self.assemble(library)?;
        let mut longest = None;
        if self.rank == 0 {
            let last = ranks.iter().map(|rank| rank.end_ns.load(Relaxed)).max();
            let last = last.filter(|end_ns| *end_ns != LATE);
            longest = last.zip(start_ns).map(|(end, start)| end - start);
        }
        self.release(library)?;
        Ok(longest)
    }

    /// Calls until the turn's time is up.
    fn take_turn(&mut self, library: &impl Library) -> Outcome<()> {
        let turn = &self.group.turn;
        let own = &self.group.ranks[self.rank];
        let flags = turn.flags.load(Relaxed);
        let is_empty = flags & board::EMPTY != 0;
        let budget_ns = turn.budget_ns.load(Relaxed);
        let bytes = turn.bytes.load(Relaxed) as usize;
        own.wrong.store(0, Relaxed);
        let collective = Collective::of(turn.collective.load(Relaxed))
            .ok_or("a collective that this worker does not know")?;
        let mut work = Work::prepare(collective, self.rank, self.ranks, bytes);
        let (mut samples, mut phase, begin_ns) = (0, Phase::Warm, now_ns());
        for iteration in 0.. {
            let fresh = flags & board::FRESH != 0;
            let filled = if fresh { iteration } else { 0 };
            if filled == iteration {
                work.fill(iteration);
            }
            if self.rank == 0 {
                let least = self.waiting.least_calls();
                phase = choose_phase(iteration, samples, now_ns() - begin_ns, (budget_ns, least));
            }
            let (start_ns, says) = self.start(phase as u64, library)?;
            phase = Phase::of(says);
            if !is_empty {
                library.call(&mut work)?;
            }
            let longest = self.finish(library, start_ns)?;
            if let Some(longest) = longest.filter(|_| phase != Phase::Warm) {
                self.group.sample_ns[samples as usize].store(longest, Relaxed);
                samples += 1;
            }
            if !is_empty {
                let in_full = iteration == 0 || phase == Phase::Last;
                work.check(own, iteration, in_full, filled);
            }
            if phase == Phase::Last {
                break;
            }
        }
        drop(work);
        self.done(samples as u32, library)
    }

    /// Tells the conductor, when all ranks are there, that the turn is over.
    pub(super) fn done(&mut self, samples: u32, library: &impl Library) -> Outcome<()> {
        self.assemble(library)?;
        self.release(library)?;
        if self.rank == 0 {
            let done = &self.group.done;
            done.samples.store(samples, Relaxed);
            done.done.store(self.group.turn.turn.load(Relaxed), Release);
            board::futex_wake(&done.done);
        }
        Ok(())
    }
}

/// Rank 0's choice of what the next call counts as.
fn choose_phase(
    calls: u64,
    samples: u64,
    elapsed: u64,
    (budget_ns, [warm_calls, least_samples]): (u64, [u64; 2]),
) -> Phase {
    if samples == 0 && (calls < warm_calls || elapsed < WARM_NS) && elapsed < 4 * budget_ns {
        return Phase::Warm;
    }
    let enough = elapsed >= budget_ns && samples + 1 >= least_samples;
    if enough || samples + 1 >= board::SAMPLES as u64 || elapsed >= 8 * budget_ns {
        return Phase::Last;
    }
    Phase::Timed
}

/// Sleeps until the clock of [`now_ns`] has that time.
fn sleep_until(time_ns: u64) {
    let time = libc::timespec {
        tv_sec: (time_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (time_ns % 1_000_000_000) as libc::c_long,
    };
    let flags = libc::TIMER_ABSTIME;
    // SAFETY: it reads a time of this frame. What a signal has cut short, the caller's look at the clock goes on with.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            flags,
            &raw const time,
            std::ptr::null_mut(),
        )
    };
}

/// One rank: takes turns until it is told to end.
fn attend((group, path): (&Group, &Path), library: &impl Library) -> Outcome<()> {
    let (rank, ranks) = (library.rank(), library.ranks());
    let mut place = Place {
        group,
        rank,
        ranks,
        epoch: 0,
        waiting: Waiting::Spinning,
    };
    group.ranks[rank]
        .pid
        .store(std::process::id().into(), Release);
    // Others may still be on their way into the library, and need this rank for that.
    let is_alone = |other: &board::Rank| other.pid.load(Acquire) == 0;
    while group.ranks[..ranks].iter().any(is_alone) {
        library.poke()?;
        std::thread::sleep(NAP);
    }
    let mut seen = 0;
    loop {
        let turn = &group.turn.turn;
        // Asleep, so that a group that waits takes no time from the one that runs.
        while turn.load(Acquire) == seen {
            board::futex_wait(turn, seen, Duration::from_secs(3600));
        }
        seen = turn.load(Acquire);
        place.waiting = Waiting::of(group.turn.flags.load(Relaxed));
        match group.turn.collective.load(Relaxed) {
            board::QUIT => return Ok(()),
            board::REPLAY => place.replay(path, replay::Pace::CallByCall, library)?,
            board::REPLAY_AT_ONCE => place.replay(path, replay::Pace::AtOnce, library)?,
            _ => place.take_turn(library)?,
        }
    }
}

/// One rank a core, as the peers' launchers do.
fn bind(rank: usize) {
    // SAFETY: a set of cores is bits, of which none is valid; the calls read and write it alone.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&allowed), &raw mut allowed);
        let mut cores = (0..libc::CPU_SETSIZE as usize).filter(|c| libc::CPU_ISSET(*c, &allowed));
        if let Some(core) = cores.nth(rank) {
            let mut own: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut own);
            libc::sched_setaffinity(0, size_of_val(&own), &raw const own);
        }
    }
}

/// Who works.
enum Ranks<'a> {
    /// This process, as one rank of Allhands, with who chooses algorithms, if that is not left to it.
    Process(Option<&'a str>),
    /// Threads of this process; whether each is bound to a core.
    Threads(usize, bool),
    /// This process, as one rank of the MPI of this shim.
    Mpi(&'a str),
}

/// Runs the worker with these arguments.
pub fn run(arguments: &[String]) -> Outcome<()> {
    let usage = "type: compare-worker [--policy POLICY | --threads RANKS [--bind] | --mpi SHIM] BOARD GROUP (cargo xtask compare does)";
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (ranks, path, number) = match words[..] {
        [path, group] => (Ranks::Process(None), path, group),
        ["--policy", policy, path, group] => (Ranks::Process(Some(policy)), path, group),
        ["--threads", ranks, path, group] => (Ranks::Threads(ranks.parse()?, false), path, group),
        ["--threads", ranks, "--bind", path, group] => {
            (Ranks::Threads(ranks.parse()?, true), path, group)
        }
        ["--mpi", shim, "--passing"] => {
            let mpi = Mpi::start(shim)?;
            mpi.time_passing()?;
            return Ok(mpi.end()?);
        }
        ["--mpi", shim, path, group] => (Ranks::Mpi(shim), path, group),
        _ => return Err(usage.into()),
    };
    let file = File::options().read(true).write(true).open(path)?;
    let board = Board::map(&file)?;
    let group = (board.group(number.parse()?), Path::new(path));
    match ranks {
        Ranks::Process(policy) => {
            let world = Communicator::world()?;
            if let Some(policy) = policy {
                world.set_policy(Policy::parse(policy));
            }
            attend(group, &world)
        }
        Ranks::Threads(ranks, is_bound) => attend_as_threads(group, ranks, is_bound),
        Ranks::Mpi(shim) => {
            let mpi = Mpi::start(shim)?;
            attend(group, &mpi)?;
            Ok(mpi.end()?)
        }
    }
}

/// All ranks, as threads of this process.
fn attend_as_threads(group: (&Group, &Path), ranks: usize, is_bound: bool) -> Outcome<()> {
    threads::run(ranks, |comm| {
        if is_bound {
            bind(comm.rank());
        }
        if let Err(error) = attend(group, &comm) {
            // At once, and with all ranks: the others wait for this one.
            eprintln!("compare worker, rank {}: {error}", comm.rank());
            std::process::exit(2);
        }
    })?;
    Ok(())
}
