//! The clock: what time it is for the machine, and how seldom the system is asked.

use super::driver::TcpNetwork;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::{Duration, Instant};

/// What counts of the time between two looks at the most: while this rank does not look, nobody can answer it in time.
const MOST_UNWATCHED: Duration = Duration::from_millis(100);

/// So many looks in a row that find nothing take the time of the one before: to ask for it takes a fifth of such a look.
const MOST_UNTIMED: u32 = 8;

/// The time of one rank's looks.
#[derive(Debug)]
pub(super) struct Clock {
    /// The machine's time, and when it was told.
    watched: Duration,
    looked: Instant,
    /// The system's last tick then, some milliseconds before at the most, which is cheaper to ask for.
    tick: Timespec,
    untimed: u32,
}

impl Clock {
    pub(super) fn new(now: Instant) -> Clock {
        Clock {
            watched: Duration::ZERO,
            looked: now,
            tick: clock_gettime(ClockId::MonotonicCoarse),
            untimed: 0,
        }
    }

    /// The machine's time.
    pub(super) fn watched(&self) -> Duration {
        self.watched
    }

    fn look(&mut self) {
        let now = Instant::now();
        self.watched += (now - self.looked).min(MOST_UNWATCHED);
        (self.looked, self.untimed) = (now, 0);
        self.tick = clock_gettime(ClockId::MonotonicCoarse);
    }

    /// Whether the last look was just now, so that its time will do.
    fn is_fresh(&mut self) -> bool {
        self.untimed += 1;
        self.untimed <= MOST_UNTIMED && self.tick == clock_gettime(ClockId::MonotonicCoarse)
    }
}

impl TcpNetwork {
    /// For how long this rank may sleep, of so long: not while there is something to read, nor beyond what the machine waits for.
    pub(in crate::transport::net) fn patience(&self, limit: Duration) -> Duration {
        let due = self.machine.deadline().unwrap_or(Duration::MAX);
        let limit = self
            .machine
            .measured_within()
            .map_or(limit, |within| limit.min(within));
        match self.readable.is_empty() {
            true => limit.min(due.saturating_sub(self.clock.watched())),
            false => Duration::ZERO,
        }
    }

    /// Tells the machine what time it is.
    pub(super) fn begin(&mut self) -> Instant {
        self.clock.look();
        self.machine.at(self.clock.watched);
        self.clock.looked
    }

    /// As [`begin`](TcpNetwork::begin), before a look, which has the time of the one before if that was just now and found nothing.
    pub(super) fn begin_look(&mut self, patience: Duration) -> Instant {
        let has_read = std::mem::take(&mut self.has_read);
        match patience == Duration::ZERO && !has_read && self.clock.is_fresh() {
            true => self.clock.looked,
            false => self.begin(),
        }
    }

    /// As [`begin`](TcpNetwork::begin), before a message, which has the time of the last look if there is a connection for it: only
    /// while there is none something is done after a time.
    pub(super) fn begin_with(&mut self, peer: u32) {
        if !self.machine.is_connected(peer) {
            self.begin();
        }
    }
}
