//! The medium: one rank's network, through which all its communicators go that were made of one another.
//!
//! A communicator's number in it, its *context*, says which tags are its own, and stands in every notice. Numbers only grow, and all
//! ranks of the communicator that it is made of agree on one (`Medium::first_free`, `Medium::claim`): one that each of them
//! can have. It stands for a range of the network's tags, which is used again when there are no others. Communicators that have no
//! rank in common may have the same number.
//!
//! The network is left when the last communicator of the rank is dropped.

use super::{Network, Notice};
#[cfg(target_os = "linux")]
use crate::transport::shm::wait::doorbell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The bits of a communicator's tags, at most: 256 calls under way at once; and at least, for two.
const TAG_BITS: (u32, u32) = (15, 8);

/// How many notices are kept for a communicator that this rank does not have yet.
const MOST_EARLY: usize = 1 << 12;

/// Tags, as they are divided among communicators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Division {
    contexts: u32,
    tags_each: u32,
}

impl Division {
    /// Of so many tags. Where there are few, some are left for calls, and some for communicators.
    fn of(tags: u32) -> Division {
        let bits = tags.max(1).ilog2();
        let (most, least) = TAG_BITS;
        let for_calls = (least + (bits.saturating_sub(least)).div_ceil(2)).min(most);
        let contexts = 1 << bits.saturating_sub(for_calls);
        Division {
            contexts,
            tags_each: (tags / contexts).min(match contexts {
                1 => tags,
                _ => 1 << most,
            }),
        }
    }

    fn place(&self, number: u32) -> u32 {
        number % self.contexts
    }

    fn tags(&self, number: u32) -> Range<u32> {
        let first = self.place(number) * self.tags_each;
        first..first + self.tags_each
    }
}

/// One rank's network, for several communicators.
pub(crate) struct Medium {
    division: Division,
    doorbell: Option<u32>,
    /// How many threads want the network, and whether one sleeps in it.
    wanting: AtomicU32,
    is_asleep: AtomicBool,
    state: Mutex<State>,
}

/// What changes.
pub(super) struct State {
    pub(super) network: Box<dyn Network>,
    /// The least number that no communicator of this rank has had.
    next: u32,
    open: BTreeSet<u32>,
    /// Which ranges of tags are in use, or were left in such a state that they cannot be used again.
    places: BTreeSet<u32>,
    /// Notices that nobody has heard, by their communicator.
    heard: BTreeMap<u32, VecDeque<(u32, Notice)>>,
}

impl State {
    /// The next notice of a communicator, and whose it is.
    pub(super) fn hear(&mut self, number: u32) -> Option<(u32, Notice)> {
        while let Some((from, notice)) = self.network.hear() {
            let of = notice.context();
            let is_early = of >= self.next;
            if !is_early && !self.open.contains(&of) {
                continue;
            }
            let heard = self.heard.entry(of).or_default();
            if !is_early || heard.len() < MOST_EARLY {
                heard.push_back((from, notice));
            }
        }
        self.heard.get_mut(&number)?.pop_front()
    }
}

impl Medium {
    /// What the first communicator, number 0, and all that are made of it go through.
    pub(crate) fn of_world(network: Box<dyn Network>) -> Claim {
        let medium = Medium {
            division: Division::of(network.tags()),
            doorbell: network.doorbell(),
            wanting: AtomicU32::new(0),
            is_asleep: AtomicBool::new(false),
            state: Mutex::new(State {
                network,
                next: 1,
                open: BTreeSet::from([0]),
                places: BTreeSet::from([0]),
                heard: BTreeMap::new(),
            }),
        };
        Claim {
            tags: medium.division.tags(0),
            medium: Arc::new(medium),
            number: 0,
            is_unclean: false,
        }
    }

    /// How many communicators there may be at a time.
    pub(crate) fn contexts(&self) -> u32 {
        self.division.contexts
    }

    /// The network, for this thread. One that sleeps there is woken.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        match self.state.try_lock() {
            Ok(state) => return state,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
        self.wanting.fetch_add(1, Ordering::SeqCst);
        if self.is_asleep.load(Ordering::SeqCst) {
            self.wake();
        }
        // Whoever panics while it is held leaves messages that their communicator takes back.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.wanting.fetch_sub(1, Ordering::SeqCst);
        state
    }

    fn wake(&self) {
        #[cfg(target_os = "linux")]
        if let Some(name) = self.doorbell {
            doorbell::ring(name);
        }
    }

    pub(super) fn doorbell(&self) -> Option<u32> {
        self.doorbell
    }

    /// Whether another thread wants the network, so that one that has slept there knows why it was woken.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanting.load(Ordering::SeqCst) > 0
    }

    /// Sleeps there, if nobody else wants it: who comes later wakes it.
    pub(super) fn asleep<R>(
        &self,
        state: &mut State,
        sleep: impl FnOnce(&mut dyn Network) -> R,
    ) -> Option<R> {
        self.is_asleep.store(true, Ordering::SeqCst);
        let slept = (!self.is_wanted()).then(|| sleep(&mut *state.network));
        self.is_asleep.store(false, Ordering::SeqCst);
        slept
    }

    /// The first number from `least` on that a communicator of this rank can have, if there is any.
    pub(crate) fn first_free(&self, least: u32) -> Option<u32> {
        let state = self.state();
        let least = least.max(state.next);
        let all = least..least.saturating_add(self.contexts());
        all.into_iter()
            .find(|number| !state.places.contains(&self.division.place(*number)))
    }

    /// Takes a number, if a communicator of this rank can have it. Whatever comes with its tags from now on is kept for it.
    pub(crate) fn claim(self: &Arc<Medium>, number: u32) -> Option<Claim> {
        let mut state = self.state();
        let place = self.division.place(number);
        if number < state.next || !state.places.insert(place) {
            return None;
        }
        let tags = self.division.tags(number);
        state.network.readmit(tags.clone());
        state.next = number + 1;
        state.open.insert(number);
        let State { open, heard, .. } = &mut *state;
        // Of those that this rank has no part in.
        heard.retain(|of, _| open.contains(of) || *of > number);
        Some(Claim {
            medium: Arc::clone(self),
            number,
            tags,
            is_unclean: false,
        })
    }
}

/// A communicator's number, with its tags, until it is dropped.
pub(crate) struct Claim {
    pub(super) medium: Arc<Medium>,
    pub(super) number: u32,
    pub(super) tags: Range<u32>,
    /// Whether messages may be left over.
    pub(super) is_unclean: bool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.medium.state();
        state.open.remove(&self.number);
        state.heard.remove(&self.number);
        let is_clean = state.network.retire(self.tags.clone()) || !self.is_unclean;
        if is_clean {
            let place = self.medium.division.place(self.number);
            state.places.remove(&place);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::net::Threads;

    #[test]
    fn tags_are_divided() {
        for (tags, contexts, tags_each) in [
            (1 << 31, 1 << 16, 1 << 15),
            (u32::MAX, 1 << 16, 1 << 15),
            (1 << 24, 1 << 9, 1 << 15),
            (1 << 20, 1 << 6, 1 << 14),
            (1 << 15, 1 << 3, 1 << 12),
            (511, 1, 511),
            (256, 1, 256),
            (7, 1, 7),
        ] {
            let division = Division::of(tags);
            assert_eq!(
                division,
                Division {
                    contexts,
                    tags_each
                },
                "{tags}"
            );
            assert!(u64::from(contexts) * u64::from(tags_each) <= u64::from(tags));
        }
    }

    #[test]
    fn numbers_grow_and_tags_are_used_again_when_they_are_free() {
        let world = Medium::of_world(Box::new(Threads::new(2).with_tags(1 << 15).network(0)));
        let medium = Arc::clone(&world.medium);
        assert_eq!(medium.contexts(), 8);
        let one = medium.claim(medium.first_free(0).unwrap()).unwrap();
        assert_eq!((one.number, one.tags.clone()), (1, 4096..8192));
        assert!(medium.claim(1).is_none(), "it is taken");
        let five = medium.claim(5).unwrap();
        assert!(medium.claim(4).is_none(), "numbers grow");
        // 8 has the tags of the world, 9 those of 1.
        let all = [6, 7, 10, 11, 12];
        let claimed = all.map(|number| medium.claim(medium.first_free(number).unwrap()).unwrap());
        assert_eq!(claimed.each_ref().map(|claim| claim.number), all);
        assert_eq!(medium.first_free(0), None);
        drop(one);
        assert_eq!(medium.first_free(0), Some(17));
        drop((five, claimed));
        assert_eq!(medium.first_free(0), Some(13));
    }

    #[test]
    fn notices_find_their_communicator_also_one_that_is_not_there_yet() {
        let threads = Threads::new(2);
        let [mine, theirs] = [0, 1].map(|rank| Medium::of_world(Box::new(threads.network(rank))));
        let say = |number| {
            let notice = Notice([7; Notice::BYTES]).of_context(number);
            theirs.medium.state().network.notify(0, &notice);
        };
        let hear = |number| mine.medium.state().hear(number).map(|(from, _)| from);
        [2, 0, 1].into_iter().for_each(say);
        assert_eq!((hear(0), hear(0)), (Some(1), None));
        let second = mine.medium.claim(2).unwrap();
        assert_eq!((hear(2), hear(2)), (Some(1), None));
        drop(second);
        // Nobody here has these any more, or ever.
        (1..4).for_each(say);
        let third = mine.medium.claim(3).unwrap();
        assert_eq!((hear(1), hear(2), hear(3)), (None, None, Some(1)));
        drop(third);
    }
}
