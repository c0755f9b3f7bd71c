//! The wait queue: how a rank sleeps until a peer has something for it, without ever missing it.
//!
//! A sleeper says that it will sleep, looks once more, then sleeps; a peer publishes, then looks whether the sleeper
//! said so. Between the two steps of each stands a sequentially consistent fence, so at least one of the two sees the
//! other: of two such fences one comes first, and what its thread wrote before it is seen by what the other thread reads
//! after its own. Peers publish all the time, and a rank sleeps only when it has looked in vain for long: so the sleeper issues both
//! fences, its own and that of every running peer ([`barrier_for_all`]), and a peer only loads. A fence of its own would have
//! it wait until all that it has published is in its place, in lines that other cores may have.

use crate::transport::shm::sync::{AtomicU32, Futex, Ordering, fence};
#[cfg(not(loom))]
use crate::transport::shm::sync::{barrier_for_all, register_barrier};
use std::time::Duration;

/// What a wait queue says of its owner: that it is awake, that it sleeps on the queue, or, from here on, that the doorbell of this
/// name wakes it.
const AWAKE: u32 = 0;
const HERE: u32 = 1;
const DOORBELLS: u32 = 2;

/// Wakes one sleeper, its owner.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct WaitQueue {
    asleep: Futex,
}

/// How many owners of wait queues sleep or are about to: what a peer looks at first.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Sleepers {
    sleepers: AtomicU32,
}

/// Who issues the fence between publishing and looking for sleepers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fencing {
    /// Each side its own.
    Both,
    /// The sleeper for both sides.
    Sleeper,
}

impl Fencing {
    /// The cheaper way for so many ranks, if the system has it: peers that fence while sleeping is rare pay for nothing. Who is alone
    /// on its node has nobody to fence for: the barrier would interrupt every processor on which a rank of any job runs, for nothing,
    /// each time it waits for the network.
    pub(crate) fn among(ranks: u32) -> Fencing {
        debug_assert!(ranks > 0, "the caller is one");
        #[cfg(not(loom))]
        if ranks > 1 && register_barrier() {
            return Fencing::Sleeper;
        }
        Fencing::Both
    }

    /// Between publishing and looking for sleepers.
    #[inline(always)]
    fn published(self) {
        match self {
            Fencing::Both => fence(Ordering::SeqCst),
            Fencing::Sleeper => {
                std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::SeqCst)
            }
        }
    }

    /// Between the announcement of a sleep and the last look.
    fn announced(self) {
        fence(Ordering::SeqCst);
        #[cfg(not(loom))]
        if self == Fencing::Sleeper {
            barrier_for_all();
        }
    }
}

impl Sleepers {
    #[cfg(loom)]
    pub(crate) fn new() -> Sleepers {
        Sleepers {
            sleepers: AtomicU32::new(0),
        }
    }

    /// Whether anybody may have to be woken; call it after publishing what is waited for.
    #[inline(always)]
    pub(crate) fn is_anybody_asleep(&self, fencing: Fencing) -> bool {
        fencing.published();
        self.sleepers.load(Ordering::Relaxed) != 0
    }
}

impl WaitQueue {
    #[cfg(loom)]
    pub(crate) fn new() -> WaitQueue {
        WaitQueue {
            asleep: Futex::new(0),
        }
    }

    /// Says that the owner is about to sleep, here or where a doorbell of this name wakes it, always the same; it must look for work
    /// once more before it does.
    pub(crate) fn announce(&self, sleepers: &Sleepers, fencing: Fencing, doorbell: Option<u32>) {
        sleepers.sleepers.fetch_add(1, Ordering::Relaxed);
        let asleep = doorbell.map_or(HERE, |name| DOORBELLS + name);
        self.asleep.store(asleep, Ordering::Relaxed);
        fencing.announced();
    }

    /// Takes the announcement back, or ends the sleep.
    pub(crate) fn rise(&self, sleepers: &Sleepers) {
        self.asleep.store(AWAKE, Ordering::Relaxed);
        sleepers.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sleeps until it has been woken since the announcement, at most for `limit`.
    pub(crate) fn sleep(&self, limit: Duration) {
        self.asleep.sleep(HERE, limit);
    }

    /// Wakes the owner if it sleeps or is about to.
    #[cold]
    pub(crate) fn wake(&self) {
        self.wake_by(|name| {
            #[cfg(target_os = "linux")]
            crate::transport::shm::wait::doorbell::ring(name);
            #[cfg(not(target_os = "linux"))]
            let _ = name;
        });
    }

    /// As [`WaitQueue::wake`], with what rings a doorbell.
    fn wake_by(&self, ring: impl FnOnce(u32)) {
        // One of several ringers makes the system call; who finds the owner awake leaves it so.
        if self.asleep.load(Ordering::Relaxed) == AWAKE {
            return;
        }
        match self.asleep.take() {
            AWAKE => {}
            HERE => self.asleep.wake(),
            name => ring(name - DOORBELLS),
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    struct Shared {
        wait_queue: WaitQueue,
        sleepers: Sleepers,
        flags: [AtomicU32; 2],
    }

    fn shared() -> Arc<Shared> {
        Arc::new(Shared {
            wait_queue: WaitQueue::new(),
            sleepers: Sleepers::new(),
            flags: [AtomicU32::new(0), AtomicU32::new(0)],
        })
    }

    impl Shared {
        /// The model's sleep has no time limit, so a missed wake-up is a deadlock that it reports.
        fn sleep_until(&self, flag: usize) {
            let ready = || self.flags[flag].load(Ordering::Acquire) == 1;
            while !ready() {
                self.wait_queue
                    .announce(&self.sleepers, Fencing::Both, None);
                if !ready() {
                    self.wait_queue.sleep(Duration::from_secs(1));
                }
                self.wait_queue.rise(&self.sleepers);
            }
        }

        fn publish(&self, flag: usize) {
            self.flags[flag].store(1, Ordering::Release);
            if self.sleepers.is_anybody_asleep(Fencing::Both) {
                self.wait_queue.wake();
            }
        }
    }

    #[test]
    fn no_ring_is_missed() {
        loom::model(|| {
            let shared = shared();
            let theirs = Arc::clone(&shared);
            let ringer = loom::thread::spawn(move || theirs.publish(0));
            shared.sleep_until(0);
            ringer.join().unwrap();
        });
    }

    #[test]
    fn no_ring_of_two_is_missed() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = shared();
            let ringers = [0, 1].map(|flag| {
                let theirs = Arc::clone(&shared);
                loom::thread::spawn(move || theirs.publish(flag))
            });
            shared.sleep_until(0);
            shared.sleep_until(1);
            ringers.into_iter().for_each(|r| r.join().unwrap());
        });
    }

    /// A doorbell, which stays rung until it is heard.
    struct ModelledDoorbell {
        is_rung: loom::sync::Mutex<bool>,
        rung: loom::sync::Condvar,
    }

    impl ModelledDoorbell {
        fn ring(&self) {
            let mut is_rung = self.is_rung.lock().unwrap();
            *is_rung = true;
            self.rung.notify_one();
        }

        fn sleep(&self) {
            let mut is_rung = self.is_rung.lock().unwrap();
            while !*is_rung {
                is_rung = self.rung.wait(is_rung).unwrap();
            }
            *is_rung = false;
        }
    }

    /// An owner sleeps at its doorbell every time, or never; an old ring only wakes it early.
    #[test]
    fn no_ring_of_a_doorbell_is_missed() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let doorbell = ModelledDoorbell {
                is_rung: loom::sync::Mutex::new(false),
                rung: loom::sync::Condvar::new(),
            };
            let all = Arc::new((shared(), doorbell));
            let ringers = [0, 1].map(|flag| {
                let theirs = Arc::clone(&all);
                loom::thread::spawn(move || {
                    let (shared, doorbell) = &*theirs;
                    shared.flags[flag].store(1, Ordering::Release);
                    if shared.sleepers.is_anybody_asleep(Fencing::Both) {
                        shared.wait_queue.wake_by(|name| {
                            assert_eq!(name, 7);
                            doorbell.ring();
                        });
                    }
                })
            });
            let (shared, doorbell) = &*all;
            for flag in [0, 1] {
                let ready = || shared.flags[flag].load(Ordering::Acquire) == 1;
                while !ready() {
                    shared
                        .wait_queue
                        .announce(&shared.sleepers, Fencing::Both, Some(7));
                    if !ready() {
                        doorbell.sleep();
                    }
                    shared.wait_queue.rise(&shared.sleepers);
                }
            }
            ringers.into_iter().for_each(|r| r.join().unwrap());
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_is_alone_fences_for_nobody() {
        assert_eq!(Fencing::among(1), Fencing::Both);
        let of_two = match register_barrier() {
            true => Fencing::Sleeper,
            false => Fencing::Both,
        };
        assert_eq!(Fencing::among(2), of_two);
    }
}
