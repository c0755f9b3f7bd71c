//! The bell: how a rank sleeps until a peer has something for it, without ever missing it.
//!
//! A sleeper says that it will sleep, looks once more, then sleeps; a peer publishes, then looks whether
//! the sleeper said so. Between the two steps of each stands a sequentially consistent fence, so at
//! least one of the two sees the other: of two such fences one comes first, and what its thread wrote
//! before it is seen by what the other thread reads after its own. Nobody asleep: a fence and a load.

use super::sync::{AtomicU32, Condvar, Mutex, Ordering, fence};
use std::time::Duration;

/// Keeps what the owner waits with apart from what peers look at with every message.
#[repr(align(64))]
struct Line<T>(T);

/// Wakes one sleeper, its owner.
pub(crate) struct Bell {
    asleep: Line<AtomicU32>,
    rung: Mutex<bool>,
    wake: Condvar,
}

impl Bell {
    pub(crate) fn new() -> Bell {
        Bell {
            asleep: Line(AtomicU32::new(0)),
            rung: Mutex::new(false),
            wake: Condvar::new(),
        }
    }

    /// Says that the owner is about to sleep; it must look for work once more before it does.
    pub(crate) fn announce(&self) {
        self.asleep.0.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Takes the announcement back. A ring under way makes the next sleep short, no more.
    pub(crate) fn cancel(&self) {
        self.asleep.0.store(0, Ordering::Relaxed);
    }

    /// Sleeps until the bell has rung since the announcement, at most for `limit`; whether it rang.
    pub(crate) fn sleep(&self, limit: Duration) -> bool {
        let mut rung = lock(&self.rung);
        if !*rung {
            // One wait is enough: a spurious wake-up only makes the owner look once more.
            rung = match self.wake.wait_timeout(rung, limit) {
                Ok((guard, _)) => guard,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        self.asleep.0.store(0, Ordering::Relaxed);
        std::mem::take(&mut *rung)
    }

    /// Wakes the owner if it sleeps or is about to; call it after publishing what the owner waits for.
    #[inline]
    pub(crate) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.0.load(Ordering::Relaxed) != 0 {
            self.ring_asleep();
        }
    }

    #[cold]
    fn ring_asleep(&self) {
        // One of several ringers makes the system call; who finds the owner awake leaves it so.
        let order = Ordering::Relaxed;
        if self.asleep.0.compare_exchange(1, 0, order, order).is_ok() {
            *lock(&self.rung) = true;
            self.wake.notify_one();
        }
    }
}

fn lock(mutex: &Mutex<bool>) -> super::sync::MutexGuard<'_, bool> {
    // A flag cannot be left half-changed by a panic.
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    /// The model's sleep has no time limit, so a missed wake-up is a deadlock that it reports.
    fn sleep_until(bell: &Bell, ready: impl Fn() -> bool) {
        while !ready() {
            bell.announce();
            if ready() {
                bell.cancel();
                return;
            }
            bell.sleep(Duration::from_secs(1));
        }
    }

    #[test]
    fn no_ring_is_missed() {
        loom::model(|| {
            let shared = Arc::new((Bell::new(), AtomicU32::new(0)));
            let theirs = Arc::clone(&shared);
            let ringer = loom::thread::spawn(move || {
                theirs.1.store(1, Ordering::Release);
                theirs.0.ring();
            });
            sleep_until(&shared.0, || shared.1.load(Ordering::Acquire) == 1);
            ringer.join().unwrap();
        });
    }

    #[test]
    fn no_ring_of_two_is_missed() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new((Bell::new(), AtomicU32::new(0), AtomicU32::new(0)));
            let (first, second) = (Arc::clone(&shared), Arc::clone(&shared));
            let ringers = [
                loom::thread::spawn(move || {
                    first.1.store(1, Ordering::Release);
                    first.0.ring();
                }),
                loom::thread::spawn(move || {
                    second.2.store(1, Ordering::Release);
                    second.0.ring();
                }),
            ];
            sleep_until(&shared.0, || shared.1.load(Ordering::Acquire) == 1);
            sleep_until(&shared.0, || shared.2.load(Ordering::Acquire) == 1);
            ringers.into_iter().for_each(|r| r.join().unwrap());
        });
    }
}
