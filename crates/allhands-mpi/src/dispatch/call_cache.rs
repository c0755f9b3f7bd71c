//! The call cache: calls of a communicator that were made before with the same arguments but for their buffers' addresses.
//!
//! Where types and operator are the MPI's own, whose handles mean the same for ever, and data stands in one piece, such a call
//! needs nothing of what its arguments mean: its plan is at hand, and takes the new addresses. Of calls with lists that is so of a
//! reduce-scatter alone, whose counts are the same on all ranks: of others each rank knows its own, which says nothing of the next call.
//!
//! This and the plan cache of our communicator are the two places that remember a repeated call. A thread finds the communicator's
//! state by its handle, and here, by all words of the call, where its plan stands in the plan cache; nothing is looked up there. A call
//! that is not found here has its arguments looked at, and its plan is looked up by what they come to.

use crate::abi::{Abi, Handles};
use crate::buffer::part::Numbers;
use crate::context::call::Call;
use crate::report::counts::Served;
use allhands::interposition::{CachedCall, Interposition};
use allhands::{Communicator, Error};
use std::ffi::c_int;
use std::ptr::NonNull;

/// The arguments of a call as the user gave them.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    call: Call,
    /// All but addresses and communicator, in their order.
    words: [usize; Asked::MOST],
    given: usize,
    send: *const u8,
    receive: *const u8,
    /// The counts of a reduce-scatter, which are the same on all ranks.
    counts: Option<Numbers>,
    /// Whether this is all of them: other lists are not looked through.
    is_whole: bool,
}

/// Declares what takes an argument by its kind in the table of calls.
macro_rules! words {
    ($($kind:ident: $type:ty),*) => {$(
        #[inline(always)]
        pub(crate) fn $kind(mut self, value: $type) -> Asked {
            self.words[self.given] = value as usize;
            self.given += 1;
            self
        }
    )*};
}

impl Asked {
    /// The most arguments that a call has besides addresses and lists.
    const MOST: usize = 5;

    #[inline(always)]
    pub(crate) fn new(call: Call) -> Asked {
        Asked {
            call,
            words: [0; Asked::MOST],
            given: 0,
            send: std::ptr::null(),
            receive: std::ptr::null(),
            counts: None,
            is_whole: true,
        }
    }

    words! { count: i64, rank: c_int, datatype: usize, op: usize }

    #[inline(always)]
    pub(crate) fn send(self, send: *const u8) -> Asked {
        Asked { send, ..self }
    }

    #[inline(always)]
    pub(crate) fn receive(self, receive: *const u8) -> Asked {
        Asked { receive, ..self }
    }

    #[inline(always)]
    pub(crate) fn list(self, numbers: Numbers) -> Asked {
        let is_counts = matches!(self.call, Call::ReduceScatter);
        Asked {
            counts: is_counts.then_some(numbers),
            is_whole: is_counts,
            ..self
        }
    }

    #[inline(always)]
    pub(crate) fn types(self, _: Handles) -> Asked {
        Asked {
            is_whole: false,
            ..self
        }
    }

    /// The communicator has a call cache of its own.
    #[inline(always)]
    pub(crate) fn comm(self, _: usize) -> Asked {
        self
    }

    pub(crate) fn call(&self) -> Call {
        self.call
    }

    /// Whether its result replaces what it is made of.
    pub(crate) fn is_in_place(&self, abi: &Abi) -> bool {
        abi.is_in_place(self.send)
    }

    /// Whether such a call may be cached.
    #[inline(always)]
    pub(crate) fn is_cacheable(&self) -> bool {
        self.is_whole
    }

    /// What distinguishes it from other calls of its communicator of so many ranks, but for what its counts are, of which it has a hash.
    #[inline(always)]
    pub(crate) fn key(&self, abi: &Abi, ranks: usize) -> Key {
        let in_place = [self.send, self.receive].map(|start| usize::from(abi.is_in_place(start)));
        let mut words = self.words;
        if let Some(counts) = self.counts {
            words[Asked::MOST - 1] = hash(counts, ranks);
        }
        Key {
            what: self.call as usize | in_place[0] << 8 | in_place[1] << 9,
            words,
        }
    }

    /// Its counts, where they are a part of what distinguishes it; `None` if they are not there.
    pub(crate) fn counts(&self, ranks: usize) -> Option<Box<[i64]>> {
        match self.counts {
            None => Some(Box::default()),
            Some(counts) => (0..ranks).map(|rank| counts.at(rank).ok()).collect(),
        }
    }

    /// How this call is made again, if that takes nothing but the addresses.
    pub(crate) fn replay(&self, cached: CachedCall) -> Option<Replay> {
        if self.send == self.receive && (cached.input.is_some() || cached.output.is_some()) {
            // One of them may mean nothing on this rank, and be another the next time.
            return None;
        }
        let side = |start: Option<*const u8>| match start {
            None => Some(Side::Nothing),
            Some(start) if start == self.send => Some(Side::Send),
            Some(start) if start == self.receive => Some(Side::Receive),
            // A copy, made for this call.
            Some(_) => None,
        };
        Some(Replay {
            input: side(cached.input)?,
            output: side(cached.output)?,
            cached,
        })
    }
}

/// A number for a list of counts, by which most lists differ.
#[inline]
fn hash(counts: Numbers, ranks: usize) -> usize {
    let count = |rank| counts.at(rank).unwrap_or(0) as usize;
    let mix = |mixed: usize, rank: usize| {
        (mixed.rotate_left(7) ^ count(rank)).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize)
    };
    (0..ranks).fold(0, mix)
}

/// What distinguishes calls of a communicator.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    /// The call, and which buffers are its constant for `in place`.
    what: usize,
    words: [usize; Asked::MOST],
}

impl Key {
    /// The set of its call in the cache.
    #[inline(always)]
    fn set(&self) -> usize {
        // Counts and roots differ in their lowest bits, which come to stand beside one another.
        let mix = |mixed: usize, word: &usize| mixed.rotate_left(7) ^ word;
        let mixed = self.words.iter().fold(self.what, mix) as u64;
        let spread = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (spread >> (u64::BITS - CallCache::SETS.trailing_zeros())) as usize
    }

    /// Word by word, as the comparison of arrays is a call.
    #[inline(always)]
    fn is(&self, other: &Key) -> bool {
        let words = self.words.iter().zip(&other.words);
        words.fold(self.what ^ other.what, |differ, (one, other)| {
            differ | (one ^ other)
        }) == 0
    }
}

/// Which of the user's buffers an operation reads or writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Nothing,
    Send,
    Receive,
}

/// How a call is made again.
#[derive(Clone, Copy)]
pub(crate) struct Replay {
    cached: CachedCall,
    input: Side,
    output: Side,
}

/// A call that was made before.
pub(crate) struct Entry {
    key: Key,
    /// See [`Asked::counts`].
    counts: Box<[i64]>,
    replay: Replay,
    /// The bits that are zero in an aligned address.
    unaligned: usize,
    /// What the report says of it.
    pub(crate) served: Served,
}

/// The calls of a communicator that were made last, two in each set of those whose arguments come to the same number.
pub(crate) struct CallCache {
    /// For each set, the numbers of its calls among the entries, from 1, the later one first; 0: none.
    sets: [[u8; CallCache::WAYS]; CallCache::SETS],
    /// Most communicators know a few alone.
    entries: Vec<Entry>,
}

// SAFETY: addresses in a cached call are compared and never used; its operator is a constant.
unsafe impl Send for CallCache {}

impl CallCache {
    /// Programs make some dozens of calls by turns: with several counts, from several roots.
    const SETS: usize = 64;
    const WAYS: usize = 2;
    const _NUMBERS_FIT: () = assert!(CallCache::SETS * CallCache::WAYS <= u8::MAX as usize);
    const _POWER_OF_TWO: () = assert!(CallCache::SETS.is_power_of_two());

    /// None yet.
    pub(crate) fn new() -> CallCache {
        CallCache {
            sets: [[0; CallCache::WAYS]; CallCache::SETS],
            entries: Vec::new(),
        }
    }

    /// The same call as one that was made before.
    #[inline(always)]
    pub(crate) fn find(&self, key: &Key, asked: &Asked) -> Option<&Entry> {
        let [later, earlier] = self.sets[key.set()];
        let is_it = |number: u8| {
            let entry = self.entries.get(usize::from(number).wrapping_sub(1));
            entry.filter(|entry| entry.key.is(key) && entry.has_counts_of(asked))
        };
        is_it(later).or_else(|| is_it(earlier))
    }

    /// Keeps a call, of which the report says this, in the place of the earlier one of its set.
    pub(crate) fn keep(
        &mut self,
        (key, counts): (Key, Box<[i64]>),
        replay: Replay,
        served: Served,
    ) {
        let element = replay.cached.element_bytes.max(1);
        let alignment = (1 << element.trailing_zeros()).min(align_of::<u128>());
        let set = &mut self.sets[key.set()];
        let number_of = |number: u8| usize::from(number).wrapping_sub(1);
        let own = |number: &u8| {
            let known = self.entries.get(number_of(*number));
            known.is_some_and(|known| known.key.is(&key) && known.counts == counts)
        };
        // A call that was made anew, as its plan has left the plan cache, has its entry already.
        let way = set.iter().position(own).unwrap_or(CallCache::WAYS - 1);
        let mut number = set[way];
        let entry = Entry {
            key,
            counts,
            replay,
            unaligned: alignment - 1,
            served,
        };
        match self.entries.get_mut(number_of(number)) {
            Some(old) => *old = entry,
            None => {
                if self.entries.len() == self.entries.capacity() {
                    self.entries.reserve_exact(1 + self.entries.len() / 2);
                }
                self.entries.push(entry);
                // There are no more than fit the sets.
                number = self.entries.len() as u8;
            }
        }
        set[..=way].rotate_right(1);
        set[0] = number;
    }
}

impl Entry {
    /// Whether a call whose key is the same has the same counts.
    #[inline(always)]
    fn has_counts_of(&self, asked: &Asked) -> bool {
        match asked.counts {
            None => true,
            Some(counts) => {
                let mut all = (0..).zip(&self.counts);
                all.all(|(rank, count)| counts.at(rank).is_ok_and(|at| at == *count))
            }
        }
    }

    /// Makes the call with other addresses; `None`: they need another look, and nothing has happened.
    #[inline(always)]
    pub(crate) fn run(&self, comm: &Communicator, asked: &Asked) -> Option<Result<(), Box<Error>>> {
        let Replay {
            cached,
            input,
            output,
        } = &self.replay;
        let address = |side: Side| match side {
            Side::Nothing => NonNull::<u128>::dangling().as_ptr().cast_const().cast(),
            Side::Send => asked.send,
            Side::Receive => asked.receive,
        };
        let (from, to) = (address(*input), address(*output));
        let is_aligned = (from.addr() | to.addr()) & self.unaligned == 0;
        let is_apart = from != to || input == output;
        if !is_aligned || !is_apart || from.is_null() || to.is_null() {
            return None;
        }
        // SAFETY: the user's buffers are as long as those of the call that was kept, as counts and types are the same,
        // and left alone during the call; the rest was just checked. Operators of kept calls are constants.
        unsafe { comm.run_cached(cached, from, to.cast_mut()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use allhands::{Operation, Sum, operation, threads};

    fn known(replay: Replay) -> Entry {
        let key = Key {
            what: 0,
            words: [0; Asked::MOST],
        };
        Entry {
            key,
            counts: Box::default(),
            replay,
            unaligned: align_of::<u64>() - 1,
            served: Served::default(),
        }
    }

    fn sums<'a>(input: &'a [u64], output: &'a mut [u64]) -> Operation<'a> {
        operation::allreduce(input, output, &Sum)
    }

    fn asked(send: &[u64], receive: &mut [u64]) -> Asked {
        let (send, receive) = (send.as_ptr().cast(), receive.as_ptr().cast());
        Asked::new(Call::Allreduce).send(send).receive(receive)
    }

    #[test]
    fn a_repeated_call_takes_the_new_buffers() {
        let sums = threads::run(2, |comm| {
            let comm = &comm;
            let (one, mut first) = ([comm.rank() as u64 + 1], [0; 1]);
            let before = asked(&one, &mut first);
            let early = comm.cached_call(&sums(&one, &mut first));
            assert!(early.is_none(), "its shape has not been called");
            // One for each turn of its windows.
            (0..2).for_each(|_| comm.run(sums(&one, &mut first)).unwrap());
            let cached = comm.cached_call(&sums(&one, &mut first)).unwrap();
            let replay = before.replay(cached).unwrap();
            let (other, mut second) = ([comm.rank() as u64 + 10], [0; 1]);
            let again = known(replay).run(comm, &asked(&other, &mut second));
            assert!(matches!(again, Some(Ok(()))));
            (first[0], second[0])
        })
        .unwrap();
        assert_eq!(sums, [(3, 21), (3, 21)]);
    }

    #[test]
    fn addresses_that_need_a_look_are_not_repeated() {
        threads::run(2, |comm| {
            let comm = &comm;
            let (one, mut sum) = ([1u64; 2], [0u64; 2]);
            comm.run(sums(&one, &mut sum)).unwrap();
            let right = asked(&one, &mut sum);
            let learn = |asked: &Asked, sum: &mut [u64]| {
                asked.replay(comm.cached_call(&sums(&one, sum)).unwrap())
            };
            let known = known(learn(&right, &mut sum).unwrap());
            let odd = right.send.wrapping_add(1);
            for send in [odd, std::ptr::null(), right.receive] {
                assert!(known.run(comm, &right.send(send)).is_none());
            }
            let (elsewhere, both) = (right.send(odd), right.send(right.receive));
            assert!(learn(&elsewhere, &mut sum).is_none(), "a copy was made");
            assert!(learn(&both, &mut sum).is_none(), "either may be meant");
        })
        .unwrap();
    }

    #[test]
    fn calls_differ_by_every_word_and_by_what_is_in_place() {
        let key = |what, last| Key {
            what,
            words: [1, 2, 3, 4, last],
        };
        assert!(key(1, 5).is(&key(1, 5)));
        assert!(!key(1, 5).is(&key(1, 6)));
        assert!(!key(1, 5).is(&key(1 | 1 << 8, 5)));
    }

    #[test]
    fn calls_by_turns_stay() {
        threads::run(2, |comm| {
            let (one, mut sum) = ([1u64; 1], [0u64; 1]);
            comm.run(sums(&one, &mut sum)).unwrap();
            let cached = comm.cached_call(&sums(&one, &mut sum)).unwrap();
            let replay = asked(&one, &mut sum).replay(cached).unwrap();
            // Counts of a solver of systems, and the roots of its broadcasts.
            let key = |root, count| Key {
                what: Call::Bcast as usize,
                words: [count, 0x4c00_080b, root, 0, 0],
            };
            let keys = (0..4).flat_map(|root| [1, 2, 3, 64, 1000].map(|count| key(root, count)));
            let keys: Vec<Key> = keys.collect();
            let (mut cache, asked) = (CallCache::new(), asked(&one, &mut sum));
            for _ in 0..100 {
                for key in &keys {
                    cache.keep((*key, Box::default()), replay, Served::default());
                    assert!(cache.find(key, &asked).is_some());
                }
            }
            let stay = keys.iter().filter(|key| cache.find(key, &asked).is_some());
            assert_eq!(stay.count(), keys.len());
            assert_eq!(cache.entries.len(), keys.len());
        })
        .unwrap();
    }

    #[test]
    fn calls_differ_by_each_of_their_counts() {
        threads::run(2, |comm| {
            let (one, mut sum) = ([1u64; 1], [0u64; 1]);
            comm.run(sums(&one, &mut sum)).unwrap();
            let cached = comm.cached_call(&sums(&one, &mut sum)).unwrap();
            let replay = asked(&one, &mut sum).replay(cached).unwrap();
            let of = |counts: &[c_int]| {
                let asked = Asked::new(Call::ReduceScatter).list(Numbers::Int(counts.as_ptr()));
                assert!(asked.is_cacheable());
                asked
            };
            let key = Key {
                what: Call::ReduceScatter as usize,
                words: [0; Asked::MOST],
            };
            let mut cache = CallCache::new();
            for counts in [[1, 0], [0, 1]] {
                // As if their hashes were the same.
                let asked = of(&counts);
                assert!(cache.find(&key, &asked).is_none(), "{counts:?}");
                cache.keep((key, asked.counts(2).unwrap()), replay, Served::default());
                assert!(cache.find(&key, &asked).is_some(), "{counts:?}");
            }
            assert!(cache.find(&key, &of(&[1, 0])).is_some(), "both stay");
            assert!(cache.find(&key, &of(&[1, 1])).is_none());
            let hashes =
                [[1, 0], [0, 1], [1, 1]].map(|c: [c_int; 2]| hash(Numbers::Int(c.as_ptr()), 2));
            assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2]);
            let nowhere = Asked::new(Call::ReduceScatter).list(Numbers::Int(std::ptr::null()));
            assert!(nowhere.counts(2).is_none() && cache.find(&key, &nowhere).is_none());
            let other = Asked::new(Call::Allgatherv).list(Numbers::Int([1, 2].as_ptr()));
            assert!(
                !other.is_cacheable(),
                "others' counts may differ from call to call"
            );
        })
        .unwrap();
    }
}
