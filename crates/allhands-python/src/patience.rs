//! How a thread waits for a call or a message of a communicator that others use, too: it looks, and between two looks they have it.

use std::time::{Duration, Instant};

/// For so long who waits only looks, and for so long it lets others run between two looks; then it sleeps, for so long.
const SPINS: Duration = Duration::from_micros(30);
const YIELDS: Duration = Duration::from_millis(2);
const NAP: Duration = Duration::from_micros(100);

/// One in so many parts of a long wait is slept away at its end, at most, where others take calls further meanwhile.
const NAP_PART: u32 = 64;
const LONGEST_NAP: Duration = Duration::from_micros(500);

/// So often Python's own signal handlers may run.
const SIGNALS: Duration = Duration::from_millis(20);

/// Looks until it has ended, the time is up, this is to stop, or Python's signal handlers are due; whether it has ended.
pub(crate) fn look(
    (since, limit): (Instant, Option<Duration>),
    progresses_by_itself: bool,
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
            long if progresses_by_itself => {
                std::thread::sleep((long / NAP_PART).clamp(NAP, LONGEST_NAP));
            }
            _ => std::thread::sleep(NAP),
        }
    }
}
