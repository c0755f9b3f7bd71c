//! The medium: one rank's network, through which all its communicators go that were made of one another.
//!
//! A communicator's number in it, its *context*, says which tags are its own, and stands in every notice. Numbers only grow, and all
//! ranks of the communicator that it is made of agree on one (`Claim::first_free`, `Claim::another`): one that each of them
//! can have. It stands for a range of the network's tags, which is used again when there are no others. Communicators that have no
//! rank in common may have the same number.
//!
//! While there is one communicator, the network is its own, and nobody takes a lock for it (`Claim::own`). While there are several, they
//! share it behind one, as threads may use them at the same time. The network is left when the last communicator of the rank is dropped.

use super::{Network, NetworkError, Notice, Raised, Sleep};
#[cfg(target_os = "linux")]
use crate::transport::shm::wait::doorbell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

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
    bears_overlap: bool,
    has_windows: bool,
    rails: usize,
    /// How many threads want the network, and whether one sleeps in it.
    wanting: AtomicU32,
    is_asleep: AtomicBool,
    /// Nothing while the only communicator has it.
    shared: Mutex<Option<Box<State>>>,
}

/// What changes.
pub(super) struct State {
    pub(super) network: Box<dyn Network>,
    /// What messages are signed with now.
    signature: u64,
    /// The least number that no communicator of this rank has had.
    next: u32,
    open: BTreeSet<u32>,
    /// Which ranges of tags are in use, or were left in such a state that they cannot be used again.
    places: BTreeSet<u32>,
    /// Notices that nobody has heard, by their communicator.
    heard: BTreeMap<u32, VecDeque<(u32, Notice)>>,
    /// Of which communicator each window is, and flags that were raised and nobody has heard, by their communicator.
    pub(super) windows: BTreeMap<u64, u32>,
    raised: BTreeMap<u32, VecDeque<Raised>>,
}

impl State {
    /// The network, whose messages are signed so from now on.
    pub(super) fn signed(&mut self, signature: u64) -> &mut dyn Network {
        if self.signature != signature {
            self.signature = signature;
            self.network.sign(signature);
        }
        &mut *self.network
    }

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

    /// The next flag of a communicator that was raised.
    pub(super) fn raised(&mut self, number: u32) -> Option<Raised> {
        while let Some(raised) = self.network.raised() {
            if let Some(of) = self.windows.get(&raised.window) {
                self.raised.entry(*of).or_default().push_back(raised);
            }
        }
        self.raised.get_mut(&number)?.pop_front()
    }

    /// Takes a number, if a communicator of this rank can have it.
    fn claim(&mut self, number: u32, division: Division) -> Option<Range<u32>> {
        if number < self.next || !self.places.insert(division.place(number)) {
            return None;
        }
        let tags = division.tags(number);
        self.network.readmit(tags.clone());
        self.next = number + 1;
        self.open.insert(number);
        let open = &self.open;
        // Of those that this rank has no part in.
        self.heard.retain(|of, _| open.contains(of) || *of > number);
        Some(tags)
    }
}

impl Medium {
    /// What the first communicator, number 0, and all that are made of it go through.
    pub(crate) fn of_world(network: Box<dyn Network>) -> Claim {
        let medium = Medium {
            division: Division::of(network.tags()),
            doorbell: network.doorbell(),
            bears_overlap: network.bears_overlap(),
            has_windows: network.has_windows(),
            rails: network.rails(),
            wanting: AtomicU32::new(0),
            is_asleep: AtomicBool::new(false),
            shared: Mutex::new(None),
        };
        Claim {
            own: Some(Box::new(State {
                network,
                signature: 0,
                next: 1,
                open: BTreeSet::from([0]),
                places: BTreeSet::from([0]),
                heard: BTreeMap::new(),
                windows: BTreeMap::new(),
                raised: BTreeMap::new(),
            })),
            tags: medium.division.tags(0),
            medium: Arc::new(medium),
            number: 0,
            is_unclean: false,
        }
    }

    /// What several communicators share, for this thread. One that sleeps there is woken.
    fn shared(&self) -> MutexGuard<'_, Option<Box<State>>> {
        match self.shared.try_lock() {
            Ok(shared) => return shared,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {}
        }
        self.wanting.fetch_add(1, Ordering::SeqCst);
        if self.is_asleep.load(Ordering::SeqCst) {
            self.wake();
        }
        // Whoever panics while it is held leaves messages that their communicator takes back.
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        self.wanting.fetch_sub(1, Ordering::SeqCst);
        shared
    }

    fn wake(&self) {
        #[cfg(target_os = "linux")]
        if let Some(name) = self.doorbell {
            doorbell::ring(name);
        }
    }

    fn is_wanted(&self) -> bool {
        self.wanting.load(Ordering::SeqCst) > 0
    }
}

/// A communicator's number, with its tags, until it is dropped.
pub(crate) struct Claim {
    medium: Arc<Medium>,
    pub(super) number: u32,
    pub(super) tags: Range<u32>,
    /// Whether messages may be left over.
    pub(super) is_unclean: bool,
    /// The network, while there is no other communicator: what only one has needs no lock.
    own: Option<Box<State>>,
}

impl Claim {
    /// Does something with the network, in turns with the threads of other communicators.
    #[inline]
    pub(super) fn with<R>(&mut self, what: impl FnOnce(&mut State) -> R) -> R {
        match &mut self.own {
            Some(own) => what(own),
            None => self.with_shared(what),
        }
    }

    fn with_shared<R>(&mut self, what: impl FnOnce(&mut State) -> R) -> R {
        let mut shared = self.medium.shared();
        let all = shared.as_deref_mut();
        let state = all.expect("it is here while there are several communicators");
        if state.open.len() > 1 {
            return what(state);
        }
        // The others are gone.
        let own = shared.take();
        drop(shared);
        self.own = own;
        self.with(what)
    }

    /// Sleeps in the network, if no other thread wants it: who comes later wakes this one, which is not told then that anything came.
    pub(super) fn sleep(&mut self, limit: Duration) -> Option<Result<Sleep, NetworkError>> {
        if let Some(own) = &mut self.own {
            return Some(own.network.sleep(limit));
        }
        let medium = &*self.medium;
        let mut shared = medium.shared();
        let state = shared.as_deref_mut()?;
        medium.is_asleep.store(true, Ordering::SeqCst);
        let slept = (!medium.is_wanted()).then(|| state.network.sleep(limit));
        medium.is_asleep.store(false, Ordering::SeqCst);
        drop(shared);
        match slept {
            Some(Ok(Sleep::Woken)) if medium.is_wanted() => Some(Ok(Sleep::Over)),
            slept => slept,
        }
    }

    pub(super) fn doorbell(&self) -> Option<u32> {
        self.medium.doorbell
    }

    /// See [`Network::bears_overlap`].
    pub(super) fn bears_overlap(&self) -> bool {
        self.medium.bears_overlap
    }

    /// See [`Network::has_windows`].
    pub(super) fn has_windows(&self) -> bool {
        self.medium.has_windows
    }

    /// See [`Network::rails`].
    pub(super) fn rails(&self) -> usize {
        self.medium.rails
    }

    /// How many communicators there may be at a time.
    pub(super) fn contexts(&self) -> u32 {
        self.medium.division.contexts
    }

    /// The first number from `least` on that a communicator of this rank can have, if there is any.
    pub(super) fn first_free(&mut self, least: u32) -> Option<u32> {
        let division = self.medium.division;
        self.with(|state| {
            let least = least.max(state.next);
            let mut all = least..least.saturating_add(division.contexts);
            all.find(|number| !state.places.contains(&division.place(*number)))
        })
    }

    /// Takes a number, if a communicator of this rank can have it. Whatever comes with its tags from now on is kept for it.
    pub(super) fn another(&mut self, number: u32) -> Option<Claim> {
        let division = self.medium.division;
        let tags = self.with(|state| state.claim(number, division))?;
        if let Some(own) = self.own.take() {
            *self.medium.shared() = Some(own);
        }
        Some(Claim {
            medium: Arc::clone(&self.medium),
            number,
            tags,
            is_unclean: false,
            own: None,
        })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let (number, tags, is_unclean) = (self.number, self.tags.clone(), self.is_unclean);
        let place = self.medium.division.place(number);
        self.with(|state| {
            state.open.remove(&number);
            state.heard.remove(&number);
            state.raised.remove(&number);
            if state.network.retire(tags) || !is_unclean {
                state.places.remove(&place);
            }
        });
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
        let mut world = Medium::of_world(Box::new(Threads::new(2).with_tags(1 << 15).network(0)));
        assert_eq!(world.contexts(), 8);
        let free = world.first_free(0).unwrap();
        let one = world.another(free).unwrap();
        assert_eq!((one.number, one.tags.clone()), (1, 4096..8192));
        assert!(world.another(1).is_none(), "it is taken");
        let five = world.another(5).unwrap();
        assert!(world.another(4).is_none(), "numbers grow");
        // 8 has the tags of the world, 9 those of 1.
        let all = [6, 7, 10, 11, 12];
        let claimed = all.map(|number| {
            assert_eq!(world.first_free(number), Some(number));
            world.another(number).unwrap()
        });
        assert_eq!(claimed.each_ref().map(|claim| claim.number), all);
        assert_eq!(world.first_free(0), None);
        drop(one);
        assert_eq!(world.first_free(0), Some(17));
        drop((five, claimed));
        assert_eq!(world.first_free(0), Some(13));
    }

    #[test]
    fn notices_find_their_communicator_also_one_that_is_not_there_yet() {
        let threads = Threads::new(2);
        let [mut mine, mut theirs] =
            [0, 1].map(|rank| Medium::of_world(Box::new(threads.network(rank))));
        let mut say = |number| {
            let notice = Notice([7; Notice::BYTES]).of_context(number);
            theirs.with(|state| state.network.notify(0, &notice));
        };
        let hear = |claim: &mut Claim, number| {
            let heard = claim.with(|state| state.hear(number));
            heard.map(|(from, _)| from)
        };
        [2, 0, 1].into_iter().for_each(&mut say);
        assert_eq!([(); 2].map(|()| hear(&mut mine, 0)), [Some(1), None]);
        let mut second = mine.another(2).unwrap();
        assert_eq!([(); 2].map(|()| hear(&mut second, 2)), [Some(1), None]);
        drop(second);
        // Nobody here has these any more, or ever.
        (1..4).for_each(say);
        let third = mine.another(3).unwrap();
        let heard = [1, 2, 3].map(|number| hear(&mut mine, number));
        assert_eq!(heard, [None, None, Some(1)]);
        drop(third);
    }

    #[test]
    fn a_network_is_shared_while_there_are_several_communicators() {
        let mut world = Medium::of_world(Box::new(Threads::new(2).network(0)));
        assert!(world.own.is_some());
        assert!(world.another(0).is_none() && world.own.is_some());
        let mut one = world.another(1).unwrap();
        assert!(world.own.is_none() && one.own.is_none());
        let two = one.another(2).unwrap();
        drop(world);
        one.with(|state| assert_eq!(state.open.len(), 2));
        assert!(one.own.is_none(), "there is another one");
        drop(two);
        one.with(|state| assert_eq!(state.open.len(), 1));
        assert!(one.own.is_some());
    }
}
