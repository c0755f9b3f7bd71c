//! Liveness: how ranks that are processes learn that one of them has ended.

#[cfg(target_os = "linux")]
use crate::launch::{How, Roll};
use crate::transport::Waits;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A process's place in its world, until nothing uses it any more: then the rank leaves in order.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct Membership {
    roll: Roll,
    rank: u32,
    /// Cpus that all ranks of the world together may use.
    cpus: usize,
}

#[cfg(target_os = "linux")]
impl Membership {
    /// The place of a process that has joined as `rank`, in a world that may use so many cpus.
    pub(crate) fn new(roll: Roll, rank: u32, cpus: usize) -> Membership {
        Membership { roll, rank, cpus }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Membership {
    fn drop(&mut self) {
        self.roll.leave(self.rank);
    }
}

/// Who watches over the ranks of a communicator.
#[derive(Debug)]
pub(crate) enum Liveness {
    /// Ranks are threads of one process: they leave or panic, and say so.
    Threads,
    /// Ranks are processes, which may end at any time.
    #[cfg(target_os = "linux")]
    Processes(Watch),
}

/// What a process keeps to watch over others.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(crate) struct Watch {
    membership: Arc<Membership>,
    /// The rank in the world of each rank of the communicator.
    world_ranks: Box<[u32]>,
    /// What the roll's number of changes was when it was looked at last.
    changes: AtomicU32,
    /// Milliseconds, on this process's clock, of the last time that the kernel was asked about everybody.
    asked_ms: AtomicU64,
    /// The same of the first time that a rank was found to have ended; 0: none.
    found_ms: AtomicU64,
}

/// Milliseconds since the first time that anybody asked, and one.
fn now_ms() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_millis() as u64 + 1
}

impl Liveness {
    /// The time within which everybody notices that a process has ended, whether or not a launcher tells, even where
    /// others hold the cores while it ends.
    pub(crate) const NOTICED_WITHIN: Duration = Duration::from_secs(2);
    /// The time between looks at the others.
    const EVERY: Duration = Duration::from_millis(5);

    /// Who looks after threads.
    pub(crate) fn threads() -> Liveness {
        Liveness::Threads
    }

    /// Who looks after the ranks of a world.
    #[cfg(target_os = "linux")]
    pub(crate) fn processes(membership: Arc<Membership>) -> Liveness {
        let world_ranks = (0..membership.roll.ranks()).collect();
        Liveness::Processes(Watch::new(membership, world_ranks))
    }

    /// Who looks after some of these ranks.
    pub(crate) fn of(&self, ranks: &[u32]) -> Liveness {
        match self {
            Liveness::Threads => Liveness::Threads,
            #[cfg(target_os = "linux")]
            Liveness::Processes(watch) => {
                let world_ranks = ranks.iter().map(|r| watch.world_ranks[*r as usize]);
                let membership = Arc::clone(&watch.membership);
                Liveness::Processes(Watch::new(membership, world_ranks.collect()))
            }
        }
    }

    /// Whether the machine has more ranks than cores, for a communicator of `ranks`.
    pub(crate) fn is_oversubscribed(&self, ranks: u32) -> bool {
        match self {
            Liveness::Threads => {
                let cores = std::thread::available_parallelism().map_or(1, usize::from);
                ranks as usize > cores
            }
            #[cfg(target_os = "linux")]
            Liveness::Processes(watch) => {
                watch.membership.roll.ranks() as usize > watch.membership.cpus
            }
        }
    }

    /// A rank that has ended without leaving, and how.
    ///
    /// `is_gone`: whether a rank said that it makes no further call. `has_entered`: whether it is in the call that the caller
    /// waits for; it may then have done its part before it ended, so the caller is given some time to complete.
    pub(crate) fn dead(
        &self,
        is_gone: impl Fn(u32) -> bool,
        has_entered: impl Fn(u32) -> bool,
    ) -> Option<(u32, u32)> {
        match self {
            Liveness::Threads => None,
            #[cfg(target_os = "linux")]
            Liveness::Processes(watch) => watch.dead(is_gone, has_entered),
        }
    }

    /// Whether ranks are processes, which may end at any time.
    pub(crate) fn is_watching(&self) -> bool {
        match self {
            Liveness::Threads => false,
            #[cfg(target_os = "linux")]
            Liveness::Processes(_) => true,
        }
    }

    /// Whether any process that is watched over has ended.
    pub(crate) fn is_any_dead(&self) -> bool {
        match self {
            Liveness::Threads => false,
            #[cfg(target_os = "linux")]
            Liveness::Processes(watch) => watch.ended().next().is_some(),
        }
    }

    /// Whether the process of `rank` has ended.
    pub(crate) fn is_dead(&self, rank: u32) -> bool {
        match self {
            Liveness::Threads => false,
            #[cfg(target_os = "linux")]
            Liveness::Processes(watch) => watch.ended().any(|(dead, _)| dead == rank),
        }
    }

    /// Says, for the launcher, that `rank` waits for these ranks: `wait` makes the word with the numbers that the world has for them.
    pub(crate) fn note_wait(&self, rank: u32, missing: &[u32], wait: &dyn Fn(&[u32]) -> Waits) {
        match self {
            Liveness::Threads => {}
            #[cfg(target_os = "linux")]
            Liveness::Processes(watch) => {
                let in_world = missing.iter().map(|r| watch.world_ranks[*r as usize]);
                let wait = wait(&in_world.collect::<Vec<u32>>());
                let rank = watch.world_ranks[rank as usize];
                watch.membership.roll.note_wait(rank, Some(&wait));
            }
        }
    }

    /// Says that `rank` waits no more.
    pub(crate) fn forget_wait(&self, rank: u32) {
        match self {
            Liveness::Threads => {}
            #[cfg(target_os = "linux")]
            Liveness::Processes(watch) => {
                let rank = watch.world_ranks[rank as usize];
                watch.membership.roll.note_wait(rank, None);
            }
        }
    }

    /// Says, for the launcher, that the ranks' trouble began with `rank`.
    pub(crate) fn blame(&self, rank: u32) {
        match self {
            Liveness::Threads => {}
            #[cfg(target_os = "linux")]
            // A rank of another node has no number here.
            Liveness::Processes(watch) => {
                if let Some(rank) = watch.world_ranks.get(rank as usize) {
                    watch.membership.roll.blame(*rank);
                }
            }
        }
    }

    /// How a rank ended, in words.
    pub(crate) fn how(&self, how: u32) -> String {
        #[cfg(target_os = "linux")]
        return How::decode(how).to_string();
        #[cfg(not(target_os = "linux"))]
        return format!("ended ({how})");
    }

    /// Runs `check` when it is time to; the first time is not at once.
    pub(crate) fn check_now_and_then<E>(
        &self,
        last: &mut Option<Instant>,
        check: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let now = Instant::now();
        let is_due = last.is_some_and(|at| now - at >= Self::EVERY);
        if is_due || last.is_none() {
            *last = Some(now);
        }
        if is_due { check() } else { Ok(()) }
    }
}

#[cfg(target_os = "linux")]
impl Watch {
    /// The time between questions to the kernel about everybody, which answer what no launcher tells.
    const ASK_EVERY_MS: u64 = 100;
    /// How long a call may go on that a rank had entered before it ended.
    const GRACE_MS: u64 = 100;
    /// How long a launcher may take to tell how a rank ended; without, nobody has seen it.
    const TELL_MS: u64 = 200;

    fn new(membership: Arc<Membership>, world_ranks: Box<[u32]>) -> Watch {
        Watch {
            membership,
            world_ranks,
            changes: AtomicU32::new(0),
            asked_ms: AtomicU64::new(0),
            found_ms: AtomicU64::new(0),
        }
    }

    /// The ranks of the communicator whose processes have ended without leaving, and how.
    fn ended(&self) -> impl Iterator<Item = (u32, How)> + '_ {
        let how = |rank: u32| self.membership.roll.how(self.world_ranks[rank as usize]);
        let ranks = 0..self.world_ranks.len() as u32;
        ranks.filter_map(move |rank| how(rank).map(|how| (rank, how)))
    }

    fn dead(
        &self,
        is_gone: impl Fn(u32) -> bool,
        has_entered: impl Fn(u32) -> bool,
    ) -> Option<(u32, u32)> {
        let (order, now) = (Ordering::Relaxed, now_ms());
        let changes = self.membership.roll.changes();
        let found = self.found_ms.load(order);
        let is_due = now.saturating_sub(self.asked_ms.load(order)) >= Self::ASK_EVERY_MS;
        if found == 0 && !is_due && changes == self.changes.load(order) {
            return None;
        }
        self.changes.store(changes, order);
        self.asked_ms.store(now, order);
        let found = if found == 0 { now } else { found };
        let since = now.saturating_sub(found);
        let mut any = false;
        let dead = self
            .ended()
            .filter(|(rank, _)| !is_gone(*rank))
            .find(|(rank, how)| {
                any = true;
                let is_told = *how != How::Unseen || since >= Self::TELL_MS;
                is_told && (since >= Self::GRACE_MS || !has_entered(*rank))
            });
        if any {
            self.found_ms.store(found, order);
        }
        dead.map(|(rank, how)| (rank, how.encode()))
    }
}
