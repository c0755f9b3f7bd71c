//! The member: what the ranks of a shared segment know about one of them.

use crate::transport::shm::failure::names::{Later, Names};
use crate::transport::shm::wait::wait_queue::WaitQueue;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// How many of a rank's latest calls peers can compare with theirs.
pub(crate) const RECENT: u64 = 64;
/// The first calls, which stand apart from later ones: a communicator of which few are made takes no more memory.
const FIRST: u64 = 8;

/// Where a rank stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It may make further calls.
    Present,
    /// It has dropped its endpoint.
    Left,
    /// It panicked.
    Panicked,
}

/// A signature as numbers that fit in atomics; its algorithm is a number in the table of names of the rank that shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// [`Signature::hash`](crate::transport::Signature::hash).
    pub(crate) hash: u64,
    /// Collective and root, length, element, algorithm and operator.
    pub(crate) words: [u64; 4],
}

/// A call that a rank has entered. A sequence lock of atomics: readers never block the writer.
#[derive(Debug)]
#[repr(C)]
struct Entry {
    /// The call's number plus one; 0 while the entry is written and before.
    call: AtomicU64,
    chain: AtomicU64,
    hash: AtomicU64,
    words: [AtomicU64; 4],
}

/// What only this rank writes in every call; on lines apart from what peers read in every call.
#[derive(Debug)]
#[repr(C, align(128))]
struct Calls {
    entered: AtomicU64,
    first: [Entry; FIRST as usize],
}

/// One rank of a shared segment; zeros are a rank that has made no call.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Member {
    pub(crate) wait_queue: WaitQueue,
    presence: AtomicU32,
    taken: AtomicU32,
    /// What the rank has refused since its last call, as [`Refusals`](super::refusals) has it.
    refusals: AtomicU64,
    calls: Calls,
    /// The names that its stamps number.
    names: Names,
}

/// What is to be known of a rank that has made more than a few calls; zeros at first.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct More {
    recent: [Entry; RECENT as usize],
    names: Later,
    /// Where its mailbox lies; 0: it has none.
    pub(crate) mailbox: AtomicU64,
}

/// All that is known of a rank's calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) member: &'a Member,
    pub(crate) more: &'a More,
}

impl Member {
    /// Makes the caller this rank's one endpoint; `false` if there is or was one.
    pub(crate) fn take(&self) -> bool {
        self.taken.swap(1, Ordering::AcqRel) == 0
    }

    /// Whether the rank has, or had, its endpoint.
    pub(crate) fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Acquire) != 0
    }

    /// Where the rank stands. Calls that it entered before it left are seen after this.
    pub(crate) fn presence(&self) -> Presence {
        match self.presence.load(Ordering::Acquire) {
            0 => Presence::Present,
            1 => Presence::Left,
            _ => Presence::Panicked,
        }
    }

    /// Says that the rank makes no further call.
    pub(crate) fn leave(&self, panicked: bool) {
        self.presence
            .fetch_max(1 + u32::from(panicked), Ordering::Release);
    }

    /// Says what the rank, which is the caller, has refused.
    pub(crate) fn refuse(&self, refusals: u64) {
        self.refusals.store(refusals, Ordering::Release);
    }

    /// What the rank has refused.
    pub(crate) fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Acquire)
    }

    /// How many calls the rank has entered.
    pub(crate) fn entered(&self) -> u64 {
        self.calls.entered.load(Ordering::Acquire)
    }
}

impl Record<'_> {
    /// Where a call is noted.
    #[inline]
    fn place(&self, call: u64) -> &Entry {
        match self.member.calls.first.get(call as usize) {
            Some(entry) => entry,
            None => &self.more.recent[(call % RECENT) as usize],
        }
    }

    /// The number of `name`, which is new or known. Only the rank itself calls this, once for a plan.
    pub(crate) fn number(self, name: &str) -> u32 {
        self.member.names.number(&self.more.names, name)
    }

    /// The text of a number that [`Record::number`] gave.
    pub(crate) fn text(self, number: u32) -> String {
        self.member.names.text(&self.more.names, number)
    }

    /// Says that the rank, which is the caller, enters call `call`; `chain` is the hash of this and all earlier calls.
    #[inline]
    pub(crate) fn enter(self, call: u64, stamp: &Stamp, chain: u64) {
        let entry = self.place(call);
        entry.call.store(0, Ordering::Relaxed);
        // A reader that sees one of the words below also sees the 0 above, or a later number.
        fence(Ordering::Release);
        entry.chain.store(chain, Ordering::Relaxed);
        entry.hash.store(stamp.hash, Ordering::Relaxed);
        for (word, value) in entry.words.iter().zip(stamp.words) {
            word.store(value, Ordering::Relaxed);
        }
        entry.call.store(call + 1, Ordering::Release);
        self.member.calls.entered.store(call + 1, Ordering::Release);
    }

    /// Says that the rank, which is the caller, has not entered call `call` after all, the last one.
    pub(crate) fn withdraw(self, call: u64) {
        self.member.calls.entered.store(call, Ordering::Release);
        self.place(call).call.store(0, Ordering::Release);
    }

    /// The hash of call `call` and all before it, if the rank, which is the caller, entered it not long ago.
    pub(crate) fn chain(self, call: u64) -> Option<u64> {
        let entry = self.place(call);
        let entered = entry.call.load(Ordering::Relaxed) == call + 1;
        entered.then(|| entry.chain.load(Ordering::Relaxed))
    }

    /// What the rank called as call `call`, if it has and not long ago.
    pub(crate) fn entry(self, call: u64) -> Option<Stamp> {
        let entry = self.place(call);
        if entry.call.load(Ordering::Acquire) != call + 1 {
            return None;
        }
        let stamp = Stamp {
            hash: entry.hash.load(Ordering::Relaxed),
            words: entry.words.each_ref().map(|w| w.load(Ordering::Relaxed)),
        };
        // Pairs with the writer's fence: unchanged, so no word above belongs to a later call.
        fence(Ordering::Acquire);
        (entry.call.load(Ordering::Relaxed) == call + 1).then_some(stamp)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::shm::memory::arena::Arena;

    fn stamp(call: u64) -> Stamp {
        Stamp {
            hash: call * 3,
            words: [call, call + 1, call + 2, call + 3],
        }
    }

    #[test]
    fn readers_see_whole_entries_or_none() {
        let arena = Arena::private().unwrap();
        let block = arena.allocate(size_of::<Member>()).unwrap();
        let more = arena.allocate(size_of::<More>()).unwrap();
        // SAFETY: zeros are a member, a block is aligned for it and outlives it.
        let member = unsafe { &*block.address().cast::<Member>() };
        // SAFETY: as above.
        let more = unsafe { &*more.address().cast::<More>() };
        let record = Record { member, more };
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut seen = 0;
                while member.presence() == Presence::Present {
                    let call = member.entered();
                    for back in [1, 2, RECENT - 1, RECENT] {
                        if let Some(at) = call.checked_sub(back)
                            && let Some(found) = record.entry(at)
                        {
                            assert_eq!(found, stamp(at));
                            seen += 1;
                        }
                    }
                }
                seen
            });
            (0..200_000).for_each(|call| record.enter(call, &stamp(call), call));
            std::thread::sleep(std::time::Duration::from_millis(5));
            member.leave(false);
            assert!(reader.join().unwrap() > 0);
        });
        assert_eq!(
            record.entry(200_000 - RECENT),
            Some(stamp(200_000 - RECENT))
        );
        assert_eq!(record.entry(200_000 - RECENT - 1), None);
        member.leave(true);
        member.leave(false);
        assert_eq!(member.presence(), Presence::Panicked);
    }
}
