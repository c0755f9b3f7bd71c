//! Patience: how long a rank looks by itself before it sleeps.

use crate::transport::shm::tuning::{
    LOOKS_BEFORE_YIELD, OVERSUBSCRIBED_YIELDS, SPINS, SPINS_BEFORE_YIELD, YIELDS,
};
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
/// for has lately come by then. What comes later is no sooner found by looking, and others on the machine, or the kernel's part of the
/// network, have the core meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alertness {
    limit: Duration,
    /// Waits since it was last tried whether looking is worth it.
    since_trial: u32,
}

impl Alertness {
    /// The longest looks.
    const MOST: Duration = Duration::from_micros(50);
    /// Shorter ones are one look.
    const LEAST: Duration = Duration::from_micros(10);
    /// Every so many waits the looks are the longest, whatever came of them before: how late a rank is woken where a machine is asleep
    /// says nothing of how late its messages are.
    const TRIAL: u32 = 16;

    pub(crate) fn new() -> Alertness {
        Alertness {
            limit: Self::MOST,
            since_trial: 0,
        }
    }

    /// How long to look from now on.
    pub(crate) fn begin(&mut self) -> Duration {
        self.since_trial += 1;
        match self.since_trial >= Self::TRIAL {
            true => {
                self.since_trial = 0;
                Self::MOST
            }
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
}
