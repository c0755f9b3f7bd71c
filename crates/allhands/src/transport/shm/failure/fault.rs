//! The fault: what stopped a communicator, in words that fit in memory which all its ranks share.

use crate::transport::shm::failure::member::Stamp;
use allhands_core::call::Collective;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Words of a fault: its kind, the finder, and at most two stamps with their ranks.
pub(crate) const WORDS: usize = 15;

/// What stopped a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Ranks `rank` and `other` made different calls.
    Mismatch {
        rank: u32,
        other: u32,
        mine: Stamp,
        theirs: Option<Stamp>,
    },
    /// Rank `rank` expected another length than rank `other` sent.
    Length {
        rank: u32,
        other: u32,
        expected: u64,
        received: u64,
    },
    Panicked {
        rank: u32,
    },
    Left {
        rank: u32,
    },
    /// The process of a rank ended; `how` as the roll has it.
    Died {
        rank: u32,
        how: u32,
    },
    Dropped {
        rank: u32,
    },
    /// Rank `rank` could not read the memory of rank `other`.
    Unreachable {
        rank: u32,
        other: u32,
        errno: u32,
    },
    /// Ranks ask for different windows.
    Window {
        rank: u32,
        key: u64,
        found: [u64; 2],
        wanted: [u64; 2],
    },
    /// Rank `rank` could not exchange messages with other nodes, as rank `lost` is lost, if that is why; otherwise it is `rank`.
    Network {
        rank: u32,
        lost: u32,
    },
    /// Rank `rank` could not exchange messages with other nodes, as that of rank `lost` answers no more, and all ranks there with it.
    HostLost {
        rank: u32,
        lost: u32,
    },
    /// Rank `rank` did not make a call of this collective, as something was wrong with it on that rank alone.
    Refused {
        rank: u32,
        collective: Collective,
    },
    GaveUp(GaveUp),
}

/// A wait that a rank gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GaveUp {
    pub(crate) rank: u32,
    pub(crate) collective: Collective,
    /// Whether it was interrupted; otherwise its time was up.
    pub(crate) interrupted: bool,
    pub(crate) waited: Duration,
    /// The ranks that had not come, the first of `missing_in_all`.
    pub(crate) missing: [u32; GaveUp::NAMED],
    pub(crate) missing_in_all: u32,
}

impl GaveUp {
    /// The most ranks that are named.
    pub(crate) const NAMED: usize = 10;

    fn words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        words[0] = 12;
        words[1] = u64::from(self.rank) << 32 | number(self.collective);
        words[2] = (self.waited.as_millis() as u64) << 1 | u64::from(self.interrupted);
        words[3] = u64::from(self.missing_in_all);
        for (word, pair) in words[4..].iter_mut().zip(self.missing.chunks(2)) {
            *word = u64::from(pair[0]) << 32 | u64::from(pair[1]);
        }
        words
    }

    fn from_words(words: &[u64; WORDS]) -> Option<GaveUp> {
        let half = |at: usize| (words[4 + at / 2] >> (32 * (1 - at % 2))) as u32;
        Some(GaveUp {
            rank: (words[1] >> 32) as u32,
            collective: *Collective::ALL.get(words[1] as u32 as usize)?,
            interrupted: words[2] & 1 == 1,
            waited: Duration::from_millis(words[2] >> 1),
            missing: std::array::from_fn(half),
            missing_in_all: words[3] as u32,
        })
    }

    /// Those of the missing ranks that are named.
    pub(crate) fn named(&self) -> &[u32] {
        &self.missing[..GaveUp::NAMED.min(self.missing_in_all as usize)]
    }
}

/// The number of a collective among all.
fn number(collective: Collective) -> u64 {
    let found = Collective::ALL.iter().position(|c| *c == collective);
    found.unwrap_or_default() as u64
}

impl Fault {
    pub(crate) fn words(self) -> [u64; WORDS] {
        let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        let mut words = [0; WORDS];
        let mut put = |list: &[u64]| words[..list.len()].copy_from_slice(list);
        match self {
            Fault::Mismatch {
                rank,
                other,
                mine,
                theirs,
            } => {
                let known = u64::from(theirs.is_some());
                let theirs = theirs.unwrap_or_default();
                put(&[1, pair(rank, other), known]);
                words[3] = mine.hash;
                words[4..8].copy_from_slice(&mine.words);
                words[8] = theirs.hash;
                words[9..13].copy_from_slice(&theirs.words);
            }
            Fault::Length {
                rank,
                other,
                expected,
                received,
            } => put(&[2, pair(rank, other), expected, received]),
            Fault::Panicked { rank } => put(&[3, pair(rank, 0)]),
            Fault::Left { rank } => put(&[4, pair(rank, 0)]),
            Fault::Died { rank, how } => put(&[5, pair(rank, how)]),
            Fault::Dropped { rank } => put(&[6, pair(rank, 0)]),
            Fault::Unreachable { rank, other, errno } => {
                put(&[7, pair(rank, other), u64::from(errno)]);
            }
            Fault::Window {
                rank,
                key,
                found,
                wanted,
            } => put(&[
                8,
                pair(rank, 0),
                key,
                found[0],
                found[1],
                wanted[0],
                wanted[1],
            ]),
            Fault::Network { rank, lost } => put(&[9, pair(rank, lost)]),
            Fault::HostLost { rank, lost } => put(&[11, pair(rank, lost)]),
            Fault::Refused { rank, collective } => {
                put(&[10, pair(rank, number(collective) as u32)]);
            }
            Fault::GaveUp(wait) => put(&wait.words()),
        }
        words
    }

    /// The same with other numbers for its ranks.
    pub(crate) fn renumbered(mut self, number: impl Fn(u32) -> u32) -> Fault {
        match &mut self {
            Fault::Mismatch { rank, other, .. }
            | Fault::Length { rank, other, .. }
            | Fault::Unreachable { rank, other, .. }
            | Fault::Network { rank, lost: other }
            | Fault::HostLost { rank, lost: other } => {
                (*rank, *other) = (number(*rank), number(*other));
            }
            Fault::Panicked { rank }
            | Fault::Left { rank }
            | Fault::Died { rank, .. }
            | Fault::Dropped { rank }
            | Fault::Window { rank, .. }
            | Fault::Refused { rank, .. } => *rank = number(*rank),
            Fault::GaveUp(wait) => {
                let named = GaveUp::NAMED.min(wait.missing_in_all as usize);
                wait.rank = number(wait.rank);
                for rank in &mut wait.missing[..named] {
                    *rank = number(*rank);
                }
            }
        }
        self
    }

    /// The rank that knows best how it came to this: it did what the others trip over, or found it.
    pub(crate) fn culprit(self, finder: u32) -> u32 {
        match self {
            Fault::Panicked { rank }
            | Fault::Left { rank }
            | Fault::Died { rank, .. }
            | Fault::Dropped { rank }
            | Fault::Network { rank, .. }
            | Fault::HostLost { rank, .. }
            | Fault::Refused { rank, .. }
            | Fault::GaveUp(GaveUp { rank, .. }) => rank,
            Fault::Mismatch { .. }
            | Fault::Length { .. }
            | Fault::Unreachable { .. }
            | Fault::Window { .. } => finder,
        }
    }

    pub(crate) fn from_words(words: &[u64; WORDS]) -> Option<Fault> {
        let (rank, other) = ((words[1] >> 32) as u32, words[1] as u32);
        let stamp = |at: usize| Stamp {
            hash: words[at],
            words: std::array::from_fn(|i| words[at + 1 + i]),
        };
        Some(match words[0] {
            1 => Fault::Mismatch {
                rank,
                other,
                mine: stamp(3),
                theirs: (words[2] != 0).then(|| stamp(8)),
            },
            2 => Fault::Length {
                rank,
                other,
                expected: words[2],
                received: words[3],
            },
            3 => Fault::Panicked { rank },
            4 => Fault::Left { rank },
            5 => Fault::Died { rank, how: other },
            6 => Fault::Dropped { rank },
            7 => Fault::Unreachable {
                rank,
                other,
                errno: words[2] as u32,
            },
            8 => Fault::Window {
                rank,
                key: words[2],
                found: [words[3], words[4]],
                wanted: [words[5], words[6]],
            },
            9 => Fault::Network { rank, lost: other },
            11 => Fault::HostLost { rank, lost: other },
            10 => Fault::Refused {
                rank,
                collective: *Collective::ALL.get(other as usize)?,
            },
            12 => Fault::GaveUp(GaveUp::from_words(words)?),
            _ => return None,
        })
    }
}

/// Where the first fault of a communicator stands, and which calls cannot be made for it; zeros are none.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct FaultBoard {
    /// 0: no fault; 1: one is being written; 2: it can be read.
    state: AtomicU32,
    finder: AtomicU32,
    words: [AtomicU64; WORDS],
    /// The first call that cannot be made, with every bit turned round, so that zero is none; it only grows.
    reach: AtomicU64,
    /// The first call of which other nodes know that it cannot be made, turned round as well.
    reported: AtomicU64,
}

impl FaultBoard {
    /// Posts a fault that rank `finder` found, unless there is one already, or another rank is about to post one: then it can be
    /// read afterwards. (Who said that calls cannot be made before anybody can tell why would have them made.)
    pub(crate) fn post(&self, finder: u32, fault: Fault) {
        let (won, lost) = (Ordering::Relaxed, Ordering::Relaxed);
        if self.state.compare_exchange(0, 1, won, lost).is_err() {
            return self.wait_for_words();
        }
        self.finder.store(finder, Ordering::Relaxed);
        for (word, value) in self.words.iter().zip(fault.words()) {
            word.store(value, Ordering::Relaxed);
        }
        // Release: whoever sees the 2 sees the words.
        self.state.store(2, Ordering::Release);
    }

    /// Waits until the fault that somebody is posting is there; not for ever, as he may have been killed.
    #[cold]
    fn wait_for_words(&self) {
        const PATIENCE: Duration = Duration::from_secs(1);
        let since = Instant::now();
        // Acquire: what comes after this, and whoever sees that, comes after the words.
        while self.state.load(Ordering::Acquire) != 2 && since.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
    }

    /// Says that no call from number `call` on can be made; after the fault is posted.
    pub(crate) fn stop_from(&self, call: u64) {
        // Release: whoever sees that a call cannot be made sees why.
        self.reach.fetch_max(!call, Ordering::Release);
    }

    /// The first call that cannot be made.
    #[inline]
    pub(crate) fn stops_from(&self) -> u64 {
        !self.reach.load(Ordering::Acquire)
    }

    /// Notes that other nodes know that no call from number `call` on can be made; whether they did not know it yet.
    pub(crate) fn is_news(&self, call: u64) -> bool {
        // Nothing else is read by who sees it.
        self.reported.fetch_max(!call, Ordering::Relaxed) < !call
    }

    /// The first fault and who found it.
    ///
    /// A finder that was killed while it wrote leaves none; then every rank finds what is wrong, that death, by itself.
    #[inline]
    pub(crate) fn first(&self) -> Option<(u32, Fault)> {
        if self.state.load(Ordering::Acquire) != 2 {
            return None;
        }
        self.read()
    }

    #[cold]
    fn read(&self) -> Option<(u32, Fault)> {
        let words = self.words.each_ref().map(|w| w.load(Ordering::Relaxed));
        Fault::from_words(&words).map(|fault| (self.finder.load(Ordering::Relaxed), fault))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_fault_comes_back_and_the_first_stays() {
        let stamp = |n: u64| Stamp {
            hash: n,
            words: [n + 1, n + 2, n + 3, n + 4],
        };
        let faults = [
            Fault::Mismatch {
                rank: 3,
                other: 5,
                mine: stamp(10),
                theirs: Some(stamp(20)),
            },
            Fault::Mismatch {
                rank: 3,
                other: 5,
                mine: stamp(10),
                theirs: None,
            },
            Fault::Length {
                rank: 1,
                other: 2,
                expected: 1 << 40,
                received: 7,
            },
            Fault::Panicked { rank: 9 },
            Fault::Left { rank: 9 },
            Fault::Died { rank: 9, how: 77 },
            Fault::Dropped { rank: 9 },
            Fault::Unreachable {
                rank: 1,
                other: 2,
                errno: 3,
            },
            Fault::Window {
                rank: 1,
                key: 2,
                found: [3, 4],
                wanted: [5, 6],
            },
            Fault::Network { rank: 5, lost: 6 },
            Fault::HostLost { rank: 5, lost: 6 },
            Fault::Refused {
                rank: 6,
                collective: Collective::Scan,
            },
            Fault::GaveUp(GaveUp {
                rank: 3,
                collective: Collective::Barrier,
                interrupted: true,
                waited: Duration::from_millis(2500),
                missing: [0, 1, 2, 4, 70_000, 0, 0, 0, 0, 9],
                missing_in_all: 5,
            }),
        ];
        for fault in faults {
            // SAFETY: zeros are an empty board: it is atomics alone.
            let board: FaultBoard = unsafe { std::mem::zeroed() };
            assert_eq!(board.first(), None);
            board.post(4, fault);
            board.post(5, Fault::Left { rank: 0 });
            assert_eq!(board.first(), Some((4, fault)));
        }
    }

    #[test]
    fn the_earliest_call_that_failed_counts() {
        // SAFETY: as above.
        let board: FaultBoard = unsafe { std::mem::zeroed() };
        assert_eq!(board.stops_from(), u64::MAX);
        for (call, first) in [(9, 9), (12, 9), (7, 7), (0, 0)] {
            board.stop_from(call);
            assert_eq!(board.stops_from(), first);
        }
    }

    #[test]
    fn an_earlier_call_is_news() {
        // SAFETY: as above.
        let board: FaultBoard = unsafe { std::mem::zeroed() };
        for (call, is_news) in [(9, true), (9, false), (12, false), (7, true), (0, true)] {
            assert_eq!(board.is_news(call), is_news);
        }
        assert!(!board.is_news(u64::MAX));
    }

    #[test]
    fn who_comes_second_waits_for_the_first_word() {
        // SAFETY: as above.
        let board: FaultBoard = unsafe { std::mem::zeroed() };
        board.state.store(1, Ordering::Relaxed);
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                board.post(7, Fault::Left { rank: 7 });
                board.first()
            });
            std::thread::sleep(Duration::from_millis(20));
            assert!(!second.is_finished(), "the first is not there yet");
            for (word, value) in board.words.iter().zip(Fault::Left { rank: 4 }.words()) {
                word.store(value, Ordering::Relaxed);
            }
            board.state.store(2, Ordering::Release);
            let seen = second.join().unwrap();
            assert_eq!(seen, Some((0, Fault::Left { rank: 4 })));
        });
    }
}
