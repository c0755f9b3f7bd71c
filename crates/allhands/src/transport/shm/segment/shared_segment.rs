//! The shared segment: what the ranks of one communicator share on a node.

mod parts;

use crate::transport::TransportError;
use crate::transport::shm::failure::fault::{Fault, FaultBoard};
use crate::transport::shm::failure::liveness::Liveness;
use crate::transport::shm::failure::member::{Member, More, Record, Stamp};
use crate::transport::shm::memory::arena::{Arena, Block};
use crate::transport::shm::memory::caches;
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::page_aliasing::PAGE_BYTES;
use crate::transport::shm::protocol::choose;
use crate::transport::shm::protocol::send_descriptors::SendDescriptors;
use crate::transport::shm::queue::inbox::Inbox;
use crate::transport::shm::queue::links::{Link, Links};
use crate::transport::shm::queue::ring::{Early, Ring};
use crate::transport::shm::rendezvous::receiver_initiated::ReadyToReceive;
use crate::transport::shm::segment::faults::LossOfHost;
use crate::transport::shm::segment::origin::Origin;
use crate::transport::shm::segment::window::{Opened, Openings, WindowSet, WindowSize};
use crate::transport::shm::wait::wait_queue::{Fencing, Sleepers};
use parts::{
    early_at, far_bytes, inboxes_at, members_at, more_at, near_bytes, own_early_at, rings_at,
};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What stands at the start of a segment's memory; zeros are a new segment.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Head {
    pub(crate) fault: FaultBoard,
    pub(crate) sleepers: Sleepers,
    /// Ranks that have let go of it.
    pub(crate) gone: AtomicU32,
    /// Set once a process was not allowed to read another's memory.
    pub(crate) unreachable: AtomicU32,
    /// Set once a process could not write another's.
    pub(crate) unwritable: AtomicU32,
    /// How long, in milliseconds, the rank had waited that said so last.
    pub(crate) reported_ms: AtomicU64,
    /// Where the far part is.
    far: AtomicU64,
}

/// The shared memory of one communicator, whose ranks are threads or processes of one node.
///
/// It has two parts: the near one is short, and what every communicator uses; the far one is long, and of its pages only those
/// are touched that are needed, which in a communicator that carries little are none.
///
/// Holds queues for messages between ranks, the signatures of recent calls, where each rank stands, and the first error.
/// All of it is in an arena and consists of atomics and of memory that these guard; zeros are a new
/// segment. Each rank uses it through one [`Endpoint`](crate::transport::endpoint::state::endpoint::Endpoint).
pub struct SharedSegment {
    arena: Arc<Arena>,
    near: u64,
    far: u64,
    /// Whether the last rank that lets go gives the memory back.
    temporary: bool,
    pub(crate) ranks: u32,
    links: Links,
    pub(super) fencing: Fencing,
    oversubscribed: bool,
    pub(crate) liveness: Liveness,
    /// The communicator that this one was made of.
    pub(crate) origin: Option<Origin>,
    /// What ranks are called in the communicator, where it has others than those of this node: by number, its own first.
    names: OnceLock<Box<[u32]>>,
    /// What is said when the host of one of these answers no more.
    pub(super) loss_of_host: OnceLock<LossOfHost>,
    /// Memory of requests that have ended, with messages that receivers have not read yet.
    retired: Mutex<Vec<SendDescriptors>>,
}

impl std::fmt::Debug for SharedSegment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedSegment")
            .field("ranks", &self.ranks())
            .field("fault", &self.head().fault.first())
            .finish_non_exhaustive()
    }
}

impl SharedSegment {
    /// A segment of `ranks` ranks that are threads of this process.
    ///
    /// # Errors
    /// [`TransportError::NoRanks`] if `ranks` is 0, [`TransportError::NoMemory`] if the system gives none.
    pub fn new(ranks: u32) -> Result<Arc<SharedSegment>, TransportError> {
        check_ranks(ranks)?;
        let arena = Arena::private()?;
        let near = arena.allocate(near_bytes(ranks))?.keep().0;
        let far = arena.allocate(far_bytes(ranks))?.keep().0;
        // SAFETY: new memory of the arena, zeros, which stays as long as the arena.
        Ok(Arc::new(unsafe {
            SharedSegment::at(arena, (near, far), ranks, Liveness::threads(), false)
        }))
    }

    /// The shared segment of all ranks of a world, whose memory file is mapped at `mapped`.
    ///
    /// # Safety
    /// The mapping is shared by all of them, was zeros at first, and is used by nobody else but the roll; each process
    /// calls this once, with the same number of ranks.
    ///
    /// # Errors
    /// As [`SharedSegment::new`]; [`TransportError::NoMemory`] if less is mapped than the ranks need.
    #[cfg(target_os = "linux")]
    pub(crate) unsafe fn of_world(
        mapped: crate::launch::Mapped,
        ranks: u32,
        membership: Arc<crate::transport::shm::failure::liveness::Membership>,
    ) -> Result<Arc<SharedSegment>, TransportError> {
        check_ranks(ranks)?;
        let mapped = std::mem::ManuallyDrop::new(mapped);
        // SAFETY: the caller's promise; the mapping is never undone.
        let arena = unsafe { Arena::shared(mapped.address(), mapped.len()) };
        let near_bytes = near_bytes(ranks).next_multiple_of(PAGE_BYTES);
        let near = arena.reserve_first(near_bytes + far_bytes(ranks))?;
        let parts = (near, near + near_bytes as u64);
        // SAFETY: the first bytes of the arena, which all ranks find alike and nobody hands out.
        Ok(Arc::new(unsafe {
            SharedSegment::at(arena, parts, ranks, Liveness::processes(membership), false)
        }))
    }

    /// Memory for a segment of `ranks` ranks, to be shown to the others and opened by each with [`SharedSegment::open`].
    pub(crate) fn lay_out(&self, ranks: u32) -> Result<u64, TransportError> {
        check_ranks(ranks)?;
        let far = self.arena.allocate(far_bytes(ranks))?;
        let near = self.arena.allocate(near_bytes(ranks))?;
        // SAFETY: new, zeros, and longer than a head, which is atomics alone; nobody else has seen it.
        let head = unsafe { &*near.address().cast::<Head>() };
        // Whoever opens it is shown the near part's place later.
        head.far.store(far.keep().0, Ordering::Release);
        Ok(near.keep().0)
    }

    /// The segment of some ranks of this one that one of them has laid out at `offset`.
    ///
    /// # Safety
    /// [`SharedSegment::lay_out`] gave the offset for as many ranks, and every one of them opens it once.
    pub(crate) unsafe fn open(self: &Arc<Self>, offset: u64, ranks: &[u32]) -> Arc<SharedSegment> {
        let count = ranks.len() as u32;
        let liveness = self.liveness.of(ranks);
        // SAFETY: laid out there, as the caller promises, and atomics alone.
        let head = unsafe { &*self.arena.at(offset).cast::<Head>() };
        let parts = (offset, head.far.load(Ordering::Acquire));
        // SAFETY: the caller's promise; each handle counts as gone once, so the last one gives the memory back.
        let mut segment =
            unsafe { SharedSegment::at(Arc::clone(&self.arena), parts, count, liveness, true) };
        segment.origin = Some(Origin::new(self, ranks));
        Arc::new(segment)
    }

    /// The segment whose near and far parts are there.
    ///
    /// # Safety
    /// That memory has the sizes of a segment's for `ranks` ranks, was zeros when the first of them came, is used as a segment
    /// alone, and stays: for ever, or, if it is temporary, until every rank has dropped its one handle.
    pub(crate) unsafe fn at(
        arena: Arc<Arena>,
        (near, far): (u64, u64),
        ranks: u32,
        liveness: Liveness,
        temporary: bool,
    ) -> SharedSegment {
        let oversubscribed = liveness.is_oversubscribed(ranks);
        SharedSegment {
            arena,
            near,
            far,
            temporary,
            ranks,
            links: Links::new(ranks),
            fencing: Fencing::among(ranks),
            oversubscribed,
            liveness,
            origin: None,
            names: OnceLock::new(),
            loss_of_host: OnceLock::new(),
            retired: Mutex::default(),
        }
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// What rank `rank` is called in the communicator.
    #[cold]
    pub(crate) fn name(&self, rank: u32) -> u32 {
        let name = self.names.get().and_then(|names| names.get(rank as usize));
        name.copied().unwrap_or(rank)
    }

    /// Says what ranks are called, those of this node first; every rank of the node says the same.
    pub(crate) fn call_ranks(&self, names: &[u32]) {
        self.names.get_or_init(|| names.into());
    }

    /// The memory that its ranks share.
    pub(crate) fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Whether the node has more ranks than cores.
    #[must_use]
    pub fn is_oversubscribed(&self) -> bool {
        self.oversubscribed
    }

    /// Whether as many ranks as `ranks` would be more than the node has cores.
    pub(crate) fn is_oversubscribed_with(&self, ranks: u32) -> bool {
        self.liveness.is_oversubscribed(ranks)
    }

    /// Where memory is that another rank has written.
    pub(crate) fn distance(&self) -> Distance {
        match self.oversubscribed {
            true => Distance::Near,
            false => Distance::Far,
        }
    }

    /// Whether who receives a medium buffer leaves its lines unclaimed: of ranks that share cores, half the writers have them still.
    #[inline]
    pub(crate) fn leaves_unclaimed(&self) -> bool {
        self.oversubscribed || choose::is_unclaimed(&self.arena)
    }

    /// As [`SharedSegment::distance`], in a call in which all ranks have `bytes` bytes and what is received is sent on by nobody.
    pub(crate) fn distance_of(&self, bytes: usize) -> Distance {
        match bytes.saturating_mul(self.ranks as usize) < caches::last_level_bytes() {
            true => self.distance(),
            false => Distance::Beyond,
        }
    }

    /// Whether memory is in nobody's cache when it is copied, in a call in which all ranks have `bytes` bytes.
    pub(crate) fn is_cold(&self, bytes: usize) -> bool {
        bytes.saturating_mul(self.ranks as usize) >= caches::cold_least_bytes()
    }

    /// Whether processes may read one another's memory, as far as is known.
    pub(crate) fn may_attach(&self) -> bool {
        self.head().unreachable.load(Ordering::Relaxed) == 0
    }

    /// Says that they may not.
    pub(crate) fn forbid_attaching(&self) {
        self.head().unreachable.store(1, Ordering::Relaxed);
    }

    /// Whether a rank that waits for a message to be read can help.
    pub(crate) fn may_assist(&self) -> bool {
        self.head().unwritable.load(Ordering::Relaxed) == 0
    }

    /// Says that it cannot.
    pub(crate) fn forbid_assisting(&self) {
        self.head().unwritable.store(1, Ordering::Relaxed);
    }

    /// Who watches over the ranks' lives.
    pub(crate) fn liveness(&self) -> &Liveness {
        &self.liveness
    }

    #[inline]
    pub(crate) fn head(&self) -> &Head {
        // SAFETY: the memory is a segment's (the promise of `at`), which begins with this; it is atomics alone.
        unsafe { &*self.arena.at(self.near).cast::<Head>() }
    }

    fn openings(&self) -> &Openings {
        // SAFETY: as above, of the far part.
        unsafe { &*self.arena.at(self.far).cast::<Openings>() }
    }

    #[inline]
    pub(crate) fn member(&self, rank: u32) -> &Member {
        assert!(rank < self.ranks, "a rank of the communicator");
        let at = members_at() + rank as usize * size_of::<Member>();
        // SAFETY: inside the segment's memory, aligned, and atomics alone.
        unsafe { &*self.arena.at(self.near + at as u64).cast::<Member>() }
    }

    /// What is known of a rank's calls.
    #[inline]
    pub(crate) fn record(&self, rank: u32) -> Record<'_> {
        let member = self.member(rank);
        let at = more_at() + rank as usize * size_of::<More>();
        // SAFETY: as for a member, of the far part.
        let more = unsafe { &*self.arena.at(self.far + at as u64).cast::<More>() };
        Record { member, more }
    }

    /// The first lap of the ring from `from` to `to`, if they have one.
    pub(crate) fn early(&self, from: u32, to: u32) -> Option<&Early> {
        let (part, start, number) = match self.links.link(from, to) {
            // To oneself hardly anything is sent.
            Link::Ring(_) if from == to => (self.far, own_early_at(self.ranks), to),
            Link::Ring(number) => (
                self.near,
                early_at(self.ranks),
                self.links.between_others(number, from, to),
            ),
            Link::Inbox => return None,
        };
        let at = start + number as usize * size_of::<Early>();
        // SAFETY: inside that part, as `Links` numbers no more than it counts; aligned; zeros are an empty lap.
        Some(unsafe { &*self.arena.at(part + at as u64).cast::<Early>() })
    }

    /// What carries messages from `from` to `to`.
    #[inline]
    pub(crate) fn link(&self, from: u32, to: u32) -> Carrier<'_> {
        match self.links.link(from, to) {
            Link::Ring(number) => {
                let at = rings_at(self.ranks) + number as usize * size_of::<Ring>();
                // SAFETY: inside the segment's memory, as `Links` numbers no more rings than it counts; aligned; zeros
                // are an empty ring.
                Carrier::Ring(unsafe { &*self.arena.at(self.far + at as u64).cast::<Ring>() })
            }
            Link::Inbox => Carrier::Inbox(self.inbox(to)),
        }
    }

    /// What tells `from` that `to` is ready to receive, where they have a ring.
    pub(crate) fn ready_to_receive(&self, from: u32, to: u32) -> Option<&ReadyToReceive> {
        match self.link(from, to) {
            Carrier::Ring(ring) => Some(&ring.ready_to_receive),
            Carrier::Inbox(_) => None,
        }
    }

    /// The inbox of a rank; only where there are links that are no rings.
    pub(crate) fn inbox(&self, rank: u32) -> &Inbox {
        assert!(rank < self.links.inboxes(), "a rank that has an inbox");
        let at = inboxes_at(self.ranks) + rank as usize * size_of::<Inbox>();
        // SAFETY: as for a ring.
        unsafe { &*self.arena.at(self.far + at as u64).cast::<Inbox>() }
    }

    /// Wakes `rank` if it sleeps; call it after publishing what it waits for.
    #[inline]
    pub(crate) fn wake(&self, rank: u32) {
        if self.head().sleepers.is_anybody_asleep(self.fencing) {
            self.member(rank).wait_queue.wake();
        }
    }

    /// Wakes every rank that sleeps.
    #[inline]
    pub(crate) fn wake_all(&self) {
        if self.head().sleepers.is_anybody_asleep(self.fencing) {
            self.ring_each();
        }
    }

    #[cold]
    pub(super) fn ring_each(&self) {
        (0..self.ranks).for_each(|rank| self.member(rank).wait_queue.wake());
    }

    /// Says that `rank` is about to sleep; it must look for work once more before it does.
    pub(crate) fn announce_sleep(&self, rank: u32, doorbell: Option<u32>) {
        let wait_queue = &self.member(rank).wait_queue;
        wait_queue.announce(&self.head().sleepers, self.fencing, doorbell);
    }

    /// Ends what [`SharedSegment::announce_sleep`] began.
    pub(crate) fn rise(&self, rank: u32) {
        self.member(rank).wait_queue.rise(&self.head().sleepers);
    }

    /// Says that rank `rank` makes no further call, and why.
    pub(crate) fn leave(&self, rank: u32, panicked: bool) {
        self.member(rank).leave(panicked);
        // Waiting peers notice in time by themselves; this only makes it sooner.
        self.wake_all();
    }

    /// The windows that all ranks share under `key`. Every rank asks once for a key; the first lays them out.
    ///
    /// Flags carry no signature, and a rank need not wait for any; so what calls are compared by is shown with the window.
    ///
    /// # Errors
    /// [`TransportError::Mismatch`], [`TransportError::WindowDiffers`], [`TransportError::NoMemory`], or what stopped the communicator meanwhile.
    pub(crate) fn window(
        &self,
        rank: u32,
        key: u64,
        wanted: WindowSize,
        call: &Stamp,
    ) -> Result<WindowSet, TransportError> {
        let openings = self.openings();
        // The call that is about to begin.
        let next = self.member(rank).entered();
        let mut since = None;
        let block = loop {
            match openings.open(key, self.ranks, wanted, call) {
                Opened::Set(block) => break block,
                Opened::Yours => {
                    let block = self.arena.allocate(WindowSet::size(self.ranks, wanted))?;
                    let block = WindowSet::lay_out(block, self.ranks);
                    openings.show(key, self.ranks, wanted, block, (rank, call));
                    break block;
                }
                Opened::NotYet => {
                    std::thread::yield_now();
                    self.liveness.check_now_and_then(&mut since, || {
                        match self.stopped(rank, next) {
                            Some(error) => Err(error),
                            None => self.stop_if_dead(rank, None),
                        }
                    })?;
                }
                Opened::OtherCall(other, theirs) => {
                    let (first, fault) = self.other_window(rank, (other, theirs), *call);
                    return Err(self.poison_from(first, rank, fault));
                }
                Opened::Differs(found) => {
                    let numbers = |size: WindowSize| [size.bytes as u64, size.flags as u64];
                    let fault = Fault::Window {
                        rank,
                        key,
                        found: numbers(found),
                        wanted: numbers(wanted),
                    };
                    return Err(self.poison_from(next, rank, fault));
                }
            }
        };
        let arena = Arc::clone(&self.arena);
        Ok(WindowSet::attach(arena, block, self.ranks, wanted))
    }

    /// Whether the window with a key, which is the next of this rank, can be opened without waiting for ranks that are behind.
    pub(crate) fn can_open(&self, key: u64) -> bool {
        self.openings().has_place(key)
    }

    /// Keeps send descriptors until their messages are read.
    pub(crate) fn retire(&self, descriptors: SendDescriptors) {
        // Whole between any two statements, so a panic spoils nothing.
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        retired.retain(|descriptors| !descriptors.is_free());
        retired.push(descriptors);
    }
}

/// What carries messages between two ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Carrier<'a> {
    /// A queue of their own.
    Ring(&'a Ring),
    /// The receiver's queue for all that have no ring to it.
    Inbox(&'a Inbox),
}

fn check_ranks(ranks: u32) -> Result<(), TransportError> {
    match ranks {
        0 => Err(TransportError::NoRanks),
        1..=0xffff => Ok(()),
        _ => Err(TransportError::TooManyRanks { ranks }),
    }
}

impl Drop for SharedSegment {
    fn drop(&mut self) {
        let retired = self
            .retired
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for descriptors in retired
            .drain(..)
            .filter(|descriptors| !descriptors.is_free())
        {
            descriptors.abandon();
        }
        // Release and acquire: what every rank did with the memory comes before its end.
        if self.temporary && self.head().gone.fetch_add(1, Ordering::AcqRel) + 1 == self.ranks {
            self.give_mailboxes_back();
            let parts = [
                (self.near, near_bytes(self.ranks)),
                (self.far, far_bytes(self.ranks)),
            ];
            for (offset, bytes) in parts {
                let arena = Arc::clone(&self.arena);
                // SAFETY: laid out with this size, kept by nobody, and every rank has let go.
                drop(unsafe { Block::adopt(arena, offset, Arena::size_of(bytes)) });
            }
        }
    }
}
