//! Patience: how long a rank looks by itself before it sleeps.

use crate::transport::shm::tuning::{
    LOOKS_BEFORE_YIELD, OVERSUBSCRIBED_YIELDS, SPINS, SPINS_BEFORE_YIELD, YIELDS,
};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// How a rank waits; depends on whether every rank can have a core of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    spins: u32,
    yields: u32,
}

impl Patience {
    /// The first sleep between two looks; each is longer than the one before.
    pub(crate) const NAP: Duration = Duration::from_millis(2);
    /// The longest sleep between two looks.
    pub(crate) const LONGEST_NAP: Duration = Duration::from_millis(32);
    /// The longest sleep between two looks where something else is to be done now and then.
    pub(crate) const HOOKED_NAP: Duration = Duration::from_micros(500);
    /// The longest time without a sleep; all looks take less, unless others than our ranks want the cores, too.
    const LONGEST_LOOKS: Duration = Duration::from_millis(10);
    /// The time between checks whether the call can complete at all.
    const CHECK_EVERY: Duration = Duration::from_millis(5);

    pub(crate) fn new(oversubscribed: bool) -> Patience {
        let (spins, yields) = if oversubscribed {
            (0, OVERSUBSCRIBED_YIELDS)
        } else {
            (SPINS, YIELDS)
        };
        Patience { spins, yields }
    }

    /// Looks before a sleep.
    pub(crate) fn looks(&self) -> u32 {
        self.spins + self.yields
    }

    /// Whether looks that began at `start` have taken so long that others must want the core: then they are not worth it.
    pub(crate) fn is_over(&self, start: Instant) -> bool {
        start.elapsed() >= Self::LONGEST_LOOKS
    }

    /// Lets time pass after look `look`.
    #[inline]
    pub(crate) fn pause(&self, look: u32) {
        if look < self.spins && look % SPINS_BEFORE_YIELD != SPINS_BEFORE_YIELD - 1 {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }

    /// Lets time pass after look `look` at a network, which takes longer than one at memory.
    ///
    /// Where ranks share cores, whoever is on this one may be about to send what is waited for. Otherwise that is unlikely, and what
    /// the network brings is found sooner without: 13 hosts emulated on 2 cores took 10 % less for 4 MB.
    #[inline]
    pub(crate) fn pause_at_network(&self, look: u32) {
        if look >= self.spins || look % LOOKS_BEFORE_YIELD == LOOKS_BEFORE_YIELD - 1 {
            std::thread::yield_now();
        }
    }

    /// Whether something else is to be done after look `look`: after tens of microseconds, so that short waits are not
    /// prolonged by it. It may give way to other processes, as progress in other libraries does.
    #[inline]
    pub(crate) fn is_hook_due(&self, look: u32) -> bool {
        let every = if look < self.spins { 1024 } else { 64 };
        look % every == every - 1
    }

    /// Whether it is time to check; the first is due when there has been none.
    pub(crate) fn is_check_due(&self, last: &mut Option<Instant>) -> bool {
        let now = Instant::now();
        let due = last.is_none_or(|at| now - at >= Self::CHECK_EVERY);
        if due {
            *last = Some(now);
        }
        due
    }
}

/// How long a rank looks by itself at a network that wakes it before it sleeps: for as long as it takes to be woken, if what it waited
/// for has lately come by then, and nobody else wants the processor. What comes later is no sooner found by looking, and others on the
/// machine, or the kernel's part of the network, have the core meanwhile. Where others take it as soon as they can, looking only keeps
/// them from what is waited for: of 8 hosts emulated on 2 cores an alltoall of 8 bytes took 1.18 times as long with looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alertness {
    limit: Duration,
    /// Waits since the last rest.
    waits: u32,
    /// How often others had taken the processor when that was last asked.
    taken: u64,
    /// For how many waits it is not looked at all, as others want the processor.
    rest: u32,
}

impl Alertness {
    /// The longest looks.
    const MOST: Duration = Duration::from_micros(50);
    /// Shorter ones are one look.
    const LEAST: Duration = Duration::from_micros(10);
    /// Every so many waits the looks are the longest, whatever came of them before: how late a rank is woken where a machine is asleep
    /// says nothing of how late its messages are.
    const TRIAL: u32 = 16;
    /// After so many waits it is asked whether others want the processor.
    const CHECK: u32 = 8;
    /// They do if they have taken it so often since; for housekeeping it is taken some times a second.
    const OVERSUBSCRIBED: u64 = 2;
    /// For so many waits a processor is left to others who want it; only while it looks a rank finds out whether they still do.
    const REST: u32 = 32 * Self::CHECK;

    pub(crate) fn new() -> Alertness {
        Alertness {
            limit: Self::MOST,
            waits: 0,
            taken: times_taken(),
            rest: 0,
        }
    }

    /// How long to look from now on.
    pub(crate) fn begin(&mut self) -> Duration {
        self.begin_with(times_taken)
    }

    fn begin_with(&mut self, times_taken: impl FnOnce() -> u64) -> Duration {
        if self.rest > 0 {
            self.rest -= 1;
            if self.rest == 0 {
                (self.waits, self.taken) = (0, times_taken());
            }
            return Duration::ZERO;
        }
        self.waits += 1;
        if self.waits.is_multiple_of(Self::CHECK) {
            let before = std::mem::replace(&mut self.taken, times_taken());
            // Another thread that waits in its place has counted for itself.
            if self.taken.saturating_sub(before) >= Self::OVERSUBSCRIBED {
                self.rest = Self::REST;
                return Duration::ZERO;
            }
        }
        match self.waits.is_multiple_of(Self::TRIAL) {
            true => Self::MOST,
            false => self.limit,
        }
    }

    /// Something came so long after the first look.
    pub(crate) fn came(&mut self, after: Duration) {
        let half = self.limit / 2;
        self.limit = match after {
            soon if soon <= Self::MOST => Self::MOST,
            _ if half >= Self::LEAST => half,
            _ => Duration::ZERO,
        };
    }
}

/// How often the system has taken the processor from this thread, which wanted to go on, for somebody else.
fn times_taken() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: there is room for what the call writes.
    let code = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: numbers, all of which may be zero, as they were, or are what the system has written.
    let usage = unsafe { usage.assume_init() };
    match code {
        0 => usage.ru_nivcsw as u64,
        _ => 0,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_what_comes_late_looks_but_now_and_then() {
        let (soon, late) = (Duration::from_micros(20), Duration::from_micros(400));
        let mut alertness = Alertness::new();
        assert_eq!(alertness.begin(), Alertness::MOST);
        alertness.came(late);
        assert_eq!(alertness.begin(), Alertness::MOST / 2);
        for _ in 0..3 {
            alertness.came(late);
        }
        let waits = (0..3 * Alertness::TRIAL).map(|_| alertness.begin());
        let trials = waits.filter(|limit| *limit == Alertness::MOST).count();
        assert_eq!(trials, 3);
        assert_eq!(alertness.limit, Duration::ZERO);
        alertness.came(soon);
        assert_eq!(alertness.begin(), Alertness::MOST);
    }

    #[test]
    fn who_is_in_the_way_of_others_looks_but_now_and_then() {
        let mut alertness = Alertness::new();
        alertness.taken = 0;
        let mut taken = 0;
        // Who looks has the processor taken away in every wait, and who does not look never.
        let mut waits = |oversubscribed: bool, waits: u32| {
            let looks = (0..waits).filter(|_| {
                let looks = !alertness.begin_with(|| taken).is_zero();
                taken += u64::from(looks && oversubscribed);
                looks
            });
            looks.count() as u32
        };
        let all = 10 * (Alertness::REST + Alertness::CHECK);
        // It finds out as the next check is due.
        assert_eq!(waits(true, all), 10 * (Alertness::CHECK - 1));
        // When nobody wants it any more, it looks again, once it has rested.
        assert!(waits(false, all) >= all - Alertness::REST);
    }

    #[test]
    fn another_thread_may_have_lost_its_processor_less_often() {
        let mut alertness = Alertness::new();
        alertness.taken = 100;
        for _ in 0..2 * Alertness::CHECK {
            assert_eq!(alertness.begin_with(|| 3), Alertness::MOST);
        }
        assert_eq!(alertness.taken, 3);
    }
}
