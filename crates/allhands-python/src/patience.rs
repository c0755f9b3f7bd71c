//! How a thread waits for a call or a message of a communicator that others use, too: it looks, and between two looks they have it.

use std::time::{Duration, Instant};

/// For so long who waits only looks, and for so long it lets others run between two looks; then it sleeps.
const SPINS: Duration = Duration::from_micros(30);
const YIELDS: Duration = Duration::from_millis(2);
const SLEEPS: Duration = Duration::from_micros(100);

/// So often Python's own signal handlers may run.
const SIGNALS: Duration = Duration::from_millis(20);

/// Looks until it has ended, the time is up, this is to stop, or Python's signal handlers are due; whether it has ended.
pub(crate) fn look(
    since: Instant,
    limit: Option<Duration>,
    has_ended: impl Fn() -> bool,
    is_to_stop: impl Fn() -> bool,
) -> bool {
    let due = Instant::now() + SIGNALS;
    loop {
        if has_ended() {
            return true;
        }
        let waited = since.elapsed();
        let is_up = limit.is_some_and(|limit| waited >= limit);
        if is_up || Instant::now() >= due || is_to_stop() {
            return false;
        }
        match waited {
            short if short < SPINS => std::hint::spin_loop(),
            short if short < YIELDS => std::thread::yield_now(),
            _ => std::thread::sleep(SLEEPS),
        }
    }
}
