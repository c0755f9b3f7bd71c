//! The synchronization primitives: those of std and the system, or those of the model checker under `cfg(loom)`.

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
    thread::yield_now,
};
#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
    thread::yield_now,
};

#[cfg(loom)]
pub(crate) use modelled::Futex;
#[cfg(not(loom))]
pub use real::register_barrier;
#[cfg(not(loom))]
pub(crate) use real::{Futex, barrier_for_all};

/// [`std::cell::UnsafeCell`] with the model checker's interface, which sees when an access begins and ends.
#[cfg(not(loom))]
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    #[cfg(test)]
    pub(crate) const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

#[cfg(not(loom))]
mod real {
    use super::{AtomicU32, Ordering};
    use std::time::Duration;

    /// A word on which threads of all processes that map it can sleep.
    #[derive(Debug)]
    #[repr(transparent)]
    pub(crate) struct Futex(AtomicU32);

    impl Futex {
        #[inline(always)]
        pub(crate) fn load(&self, order: Ordering) -> u32 {
            self.0.load(order)
        }

        #[inline(always)]
        pub(crate) fn store(&self, value: u32, order: Ordering) {
            self.0.store(value, order);
        }

        /// Makes it 0, unless it is; what it was.
        #[inline]
        pub(crate) fn take(&self) -> u32 {
            let order = Ordering::Relaxed;
            let mut value = self.0.load(order);
            while value != 0 {
                match self.0.compare_exchange(value, 0, order, order) {
                    Ok(_) => return value,
                    Err(now) => value = now,
                }
            }
            0
        }

        /// Sleeps while the word is `value`, at most for `limit`; may also return for no reason.
        #[cfg(target_os = "linux")]
        pub(crate) fn sleep(&self, value: u32, limit: Duration) {
            let limit = rustix::thread::futex::Timespec {
                tv_sec: limit.as_secs() as i64,
                tv_nsec: i64::from(limit.subsec_nanos()),
            };
            // Whatever ended the sleep (a wake, the limit, a signal, another value): the caller looks again.
            let _ = rustix::thread::futex::wait(
                &self.0,
                rustix::thread::futex::Flags::empty(),
                value,
                Some(&limit),
            );
        }

        #[cfg(not(target_os = "linux"))]
        pub(crate) fn sleep(&self, value: u32, limit: Duration) {
            if self.0.load(Ordering::Relaxed) == value {
                std::thread::sleep(limit.min(Duration::from_micros(50)));
            }
        }

        /// Wakes one sleeper.
        #[cfg(target_os = "linux")]
        pub(crate) fn wake(&self) {
            // Nothing can be wrong with a word that lives.
            let _ = rustix::thread::futex::wake(&self.0, rustix::thread::futex::Flags::empty(), 1);
        }

        #[cfg(not(target_os = "linux"))]
        pub(crate) fn wake(&self) {}
    }

    /// Registers this process for the barriers that ranks who go to sleep issue in all others (`membarrier`, expedited);
    /// whether the system has them.
    ///
    /// The first communicator does it by itself. To do it earlier, while the process has one thread, is worth it: with several the
    /// system waits for every processor to have passed through the scheduler, 6 to 17 ms measured.
    pub fn register_barrier() -> bool {
        #[cfg(target_os = "linux")]
        {
            use rustix::thread::{MembarrierCommand, membarrier, membarrier_query};
            use std::sync::OnceLock;
            static REGISTERED: OnceLock<bool> = OnceLock::new();
            *REGISTERED.get_or_init(|| {
                membarrier_query().contains(rustix::thread::MembarrierQuery::GLOBAL_EXPEDITED)
                    && membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
            })
        }
        #[cfg(not(target_os = "linux"))]
        false
    }

    /// A sequentially consistent fence in the caller and in every running thread of every process that registered.
    pub(crate) fn barrier_for_all() {
        #[cfg(target_os = "linux")]
        {
            use rustix::thread::{MembarrierCommand, membarrier};
            let done = membarrier(MembarrierCommand::GlobalExpedited);
            debug_assert!(done.is_ok(), "registered before");
        }
    }
}

#[cfg(loom)]
mod modelled {
    use super::{AtomicU32, Ordering};
    use loom::sync::{Condvar, Mutex};
    use std::time::Duration;

    /// A futex of the model: its sleep has no limit, so a missed wake-up is a deadlock that the checker reports.
    #[derive(Debug)]
    pub(crate) struct Futex {
        word: AtomicU32,
        lock: Mutex<()>,
        woken: Condvar,
    }

    impl Futex {
        pub(crate) fn new(value: u32) -> Futex {
            Futex {
                word: AtomicU32::new(value),
                lock: Mutex::new(()),
                woken: Condvar::new(),
            }
        }

        pub(crate) fn load(&self, order: Ordering) -> u32 {
            self.word.load(order)
        }

        pub(crate) fn store(&self, value: u32, order: Ordering) {
            self.word.store(value, order);
        }

        pub(crate) fn take(&self) -> u32 {
            let order = Ordering::Relaxed;
            let mut value = self.word.load(order);
            while value != 0 {
                match self.word.compare_exchange(value, 0, order, order) {
                    Ok(_) => return value,
                    Err(now) => value = now,
                }
            }
            0
        }

        pub(crate) fn sleep(&self, value: u32, _limit: Duration) {
            // As the system does: the comparison and the falling asleep are one step to those who wake.
            let guard = self.lock.lock().unwrap();
            if self.word.load(Ordering::SeqCst) == value {
                drop(self.woken.wait(guard).unwrap());
            }
        }

        pub(crate) fn wake(&self) {
            let _guard = self.lock.lock().unwrap();
            self.woken.notify_one();
        }
    }
}
