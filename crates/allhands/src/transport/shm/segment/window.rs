//! The window: memory of every rank that peers write and read, and the flags that say when.
//!
//! A window set belongs to one plan on all ranks. The first rank that asks lays out the windows and flags of all, so a put
//! never waits for its target; the last one that lets go gives the memory back.
//!
//! Ordering: a notify [raises](Flag) a flag, a satisfied wait has seen it raised: so a wait that sees `count` notifications sees
//! what each of their senders had put before.

use crate::transport::shm::failure::member::Stamp;
use crate::transport::shm::memory::arena::{Arena, Block};
use crate::transport::shm::segment::flag::Flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What windows begin with, in bytes, and the length of a flag.
const LINE: usize = size_of::<Flag>();

/// What stands at the start of a window set.
#[derive(Debug)]
#[repr(C, align(128))]
struct Head {
    /// Ranks that still own the set.
    owners: AtomicU32,
}

/// What all ranks must ask for alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowSize {
    /// Bytes of a rank's window.
    pub(crate) bytes: usize,
    /// Flags of a rank.
    pub(crate) flags: usize,
}

impl WindowSize {
    fn window_bytes(self) -> usize {
        self.bytes.next_multiple_of(LINE)
    }

    /// The size of a set for `ranks` ranks.
    fn total(self, ranks: u32) -> usize {
        size_of::<Head>() + ranks as usize * (self.flags * LINE + self.window_bytes())
    }
}

/// The windows and flags of all ranks for one plan, as one rank holds them.
#[derive(Debug)]
pub(crate) struct WindowSet {
    arena: Arc<Arena>,
    /// Offset and bytes of the block in the arena.
    block: (u64, u64),
    ranks: u32,
    extent: WindowSize,
}

impl WindowSet {
    /// Lays out a set that `ranks` ranks will hold; gives its block, to be shown to the others.
    pub(crate) fn lay_out(block: Block, ranks: u32) -> (u64, u64) {
        // SAFETY: the block is new, zeros, a page or more, and nobody else has seen it.
        let head = unsafe { &*block.address().cast::<Head>() };
        head.owners.store(ranks, Ordering::Relaxed);
        block.keep()
    }

    /// The bytes that a set takes.
    pub(crate) fn size(ranks: u32, extent: WindowSize) -> usize {
        extent.total(ranks)
    }

    /// One rank's share of a set that was laid out at `block`; each of its ranks takes one.
    pub(crate) fn attach(
        arena: Arc<Arena>,
        block: (u64, u64),
        ranks: u32,
        extent: WindowSize,
    ) -> WindowSet {
        WindowSet {
            arena,
            block,
            ranks,
            extent,
        }
    }

    fn head(&self) -> &Head {
        // SAFETY: laid out before it was shown, and given back only when the last holder lets go.
        unsafe { &*self.arena.at(self.block.0).cast::<Head>() }
    }

    /// Where the window of `rank` starts.
    #[inline]
    pub(crate) fn base(&self, rank: u32) -> *mut u8 {
        assert!(
            rank < self.ranks,
            "the window of a rank of the communicator"
        );
        let flags = self.ranks as usize * self.extent.flags * LINE;
        let at = size_of::<Head>() + flags + rank as usize * self.extent.window_bytes();
        self.arena.at(self.block.0 + at as u64)
    }

    /// How long a window is, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.extent.bytes
    }

    /// How many flags a rank has.
    pub(crate) fn flags(&self) -> u16 {
        self.extent.flags as u16
    }

    #[inline]
    fn flag(&self, rank: u32, flag: u16) -> &Flag {
        let flag = usize::from(flag);
        assert!(
            rank < self.ranks && flag < self.extent.flags,
            "a flag of a rank of the communicator"
        );
        let at = size_of::<Head>() + (rank as usize * self.extent.flags + flag) * LINE;
        // SAFETY: inside the set, as just checked, aligned, zeros at first, and never used but as this flag.
        unsafe { &*self.arena.at(self.block.0 + at as u64).cast::<Flag>() }
    }

    /// Raises a flag of `rank` by one, as rank `by`.
    #[inline]
    pub(crate) fn notify(&self, by: u32, rank: u32, flag: u16) {
        self.flag(rank, flag).raise(by, self.ranks);
    }

    /// How often a flag of `rank` has been raised.
    #[inline]
    pub(crate) fn raised(&self, rank: u32, flag: u16) -> u64 {
        self.flag(rank, flag).raised(self.ranks)
    }
}

impl Drop for WindowSet {
    fn drop(&mut self) {
        // Release and acquire: what every holder did with the memory comes before its end.
        if self.head().owners.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: handed out as this block, kept by nobody, and we were the last who held it.
            drop(unsafe { Block::adopt(Arc::clone(&self.arena), self.block.0, self.block.1) });
        }
    }
}

/// The table in which the first rank shows the others where it has laid out a set; zeros are an empty one.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Openings([Opening; Openings::PLACES as usize]);

#[derive(Debug)]
#[repr(C, align(64))]
struct Opening {
    /// The key plus one of the set that is being opened; 0: the place is free.
    key: AtomicU64,
    /// Where the set lies; 0: not yet laid out.
    offset: AtomicU64,
    size: AtomicU64,
    bytes: AtomicU64,
    flags: AtomicU64,
    /// The rank that has laid it out, and the call for which it has.
    rank: AtomicU32,
    /// Ranks that have attached.
    taken: AtomicU32,
    stamp: [AtomicU64; 5],
}

/// What a look at the table gives.
#[derive(Debug)]
pub(crate) enum Opened {
    /// The set.
    Set((u64, u64)),
    /// It is for the caller to lay out and to [`Openings::show`].
    Yours,
    /// Somebody is laying it out, or the place is taken by an earlier set: look again.
    NotYet,
    /// Others asked for something else.
    Differs(WindowSize),
    /// This rank asked for another call.
    OtherCall(u32, Stamp),
}

impl Openings {
    const PLACES: u64 = 64;

    fn place(&self, key: u64) -> &Opening {
        &self.0[(key % Openings::PLACES) as usize]
    }

    /// Whether there is room for the set of `key`, which the caller opens next: no earlier set is still to be opened by others.
    pub(crate) fn has_place(&self, key: u64) -> bool {
        let now = self.place(key).key.load(Ordering::Acquire);
        now == 0 || now == key + 1
    }

    /// Looks for the set of `key`; all `ranks` ranks do so, each until it has the set.
    pub(crate) fn open(&self, key: u64, ranks: u32, wanted: WindowSize, call: &Stamp) -> Opened {
        let place = self.place(key);
        let order = Ordering::Acquire;
        match place.key.compare_exchange(0, key + 1, order, order) {
            Ok(_) => return Opened::Yours,
            Err(now) if now != key + 1 => return Opened::NotYet,
            Err(_) => {}
        }
        // Acquire: what was laid out is seen with its place.
        let offset = place.offset.load(Ordering::Acquire);
        if offset == 0 {
            return Opened::NotYet;
        }
        let found = WindowSize {
            bytes: place.bytes.load(Ordering::Relaxed) as usize,
            flags: place.flags.load(Ordering::Relaxed) as usize,
        };
        let [hash, words @ ..] = place.stamp.each_ref().map(|w| w.load(Ordering::Relaxed));
        if hash != call.hash {
            let rank = place.rank.load(Ordering::Relaxed);
            return Opened::OtherCall(rank, Stamp { hash, words });
        }
        if found != wanted {
            return Opened::Differs(found);
        }
        let block = (offset, place.size.load(Ordering::Relaxed));
        self.take(key, ranks);
        Opened::Set(block)
    }

    /// Shows the others the set that the caller has laid out after [`Opened::Yours`], and attaches the caller.
    pub(crate) fn show(
        &self,
        key: u64,
        ranks: u32,
        extent: WindowSize,
        block: (u64, u64),
        (rank, call): (u32, &Stamp),
    ) {
        let place = self.place(key);
        place.rank.store(rank, Ordering::Relaxed);
        let [a, b, c, d] = call.words;
        for (place, word) in place.stamp.iter().zip([call.hash, a, b, c, d]) {
            place.store(word, Ordering::Relaxed);
        }
        place.size.store(block.1, Ordering::Relaxed);
        place.bytes.store(extent.bytes as u64, Ordering::Relaxed);
        place.flags.store(extent.flags as u64, Ordering::Relaxed);
        place.offset.store(block.0, Ordering::Release);
        self.take(key, ranks);
    }

    fn take(&self, key: u64, ranks: u32) {
        let place = self.place(key);
        if place.taken.fetch_add(1, Ordering::AcqRel) + 1 == ranks {
            place.taken.store(0, Ordering::Relaxed);
            place.offset.store(0, Ordering::Relaxed);
            // Release: whoever claims the place finds it as it was at first.
            place.key.store(0, Ordering::Release);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_rank_gets_the_same_set_and_the_last_gives_it_back() {
        let arena = Arena::private().unwrap();
        // SAFETY: zeros are an empty table: it is atomics alone.
        let openings: Openings = unsafe { std::mem::zeroed() };
        let extent = WindowSize {
            bytes: 100,
            flags: 9,
        };
        let call = Stamp::default();
        for key in [5, 5 + Openings::PLACES] {
            std::thread::scope(|scope| {
                for rank in 0..4u32 {
                    let (arena, openings, call) = (&arena, &openings, &call);
                    scope.spawn(move || {
                        let block = loop {
                            match openings.open(key, 4, extent, call) {
                                Opened::Set(block) => break block,
                                Opened::Yours => {
                                    let block = arena.allocate(WindowSet::size(4, extent)).unwrap();
                                    let block = WindowSet::lay_out(block, 4);
                                    openings.show(key, 4, extent, block, (rank, call));
                                    break block;
                                }
                                Opened::NotYet => std::thread::yield_now(),
                                differs => panic!("{differs:?}"),
                            }
                        };
                        let set = WindowSet::attach(Arc::clone(arena), block, 4, extent);
                        for to in 0..4 {
                            set.notify(rank, to, 8);
                        }
                        while set.raised(rank, 8) < 4 {
                            std::thread::yield_now();
                        }
                        // SAFETY: the window of this rank, which only it writes.
                        unsafe { set.base(rank).write(rank as u8) };
                        assert_eq!(set.raised(rank, 7), 0);
                    });
                }
            });
        }
        let again = arena.allocate(WindowSet::size(4, extent)).unwrap();
        assert_eq!(again.offset(), crate::transport::shm::memory::arena::START);
    }
}
