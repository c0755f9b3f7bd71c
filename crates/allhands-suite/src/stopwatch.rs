//! A stopwatch that does not count the time in which the machine kept this process from running.

use crate::property::few_are_enough;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a watcher sleeps, and how much later than that it may wake before it counts as held up.
const NAP: Duration = Duration::from_millis(1);

/// Runs from its making; a thread of its own sees how late it is woken while that takes.
pub struct Stopwatch {
    start: Instant,
    held_up_ns: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
}

impl Stopwatch {
    pub fn start() -> Stopwatch {
        let held_up_ns = Arc::new(AtomicU64::new(0));
        let stopped = Arc::new(AtomicBool::new(false));
        let (late_ns, stop) = (Arc::clone(&held_up_ns), Arc::clone(&stopped));
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let asleep = Instant::now();
                std::thread::sleep(NAP);
                let late = asleep.elapsed().saturating_sub(2 * NAP);
                late_ns.fetch_add(late.as_nanos() as u64, Ordering::Relaxed);
            }
        });
        Stopwatch {
            start: Instant::now(),
            held_up_ns,
            stopped,
        }
    }

    /// The time since the start in which nobody held this process up.
    pub fn elapsed(&self) -> Duration {
        let held_up = Duration::from_nanos(self.held_up_ns.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(held_up)
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Runs what ends within `limit`, even if it goes wrong on some rank; see [`limit`].
pub fn in_time<R>(within: Duration, body: impl FnOnce() -> R) -> R {
    let watch = Stopwatch::start();
    let result = body();
    let (taken, limit) = (watch.elapsed(), limit(within));
    assert!(taken < limit, "took {taken:?} of {limit:?}");
    result
}

/// The limit of what takes this time at most: five times as long where few cases are enough, as an instrumented build beside compilers may
/// be slow without being held up.
pub fn limit(within: Duration) -> Duration {
    if few_are_enough() { 5 * within } else { within }
}
