//! The request state: one call of a plan under way, as the transport keeps it.

use crate::transport::endpoint::nodes::remote::Remote;
use crate::transport::endpoint::plan::distances::{PipelinedMost, distance};
use crate::transport::endpoint::plan::fast_path::FastPath;
use crate::transport::endpoint::plan::incoming::ConcurrentRendezvous;
use crate::transport::endpoint::plan::shorter::may_be_shorter;
use crate::transport::endpoint::plan::slots::{Lane, Slot, slots, watches};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::member::Stamp;
use crate::transport::shm::memory::arena::Block;
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::iovec::Iovec;
use crate::transport::shm::protocol::copy_and_send::Double;
use crate::transport::shm::protocol::deferred_copy::{Deferred, DeferredTrial};
use crate::transport::shm::protocol::send_descriptors::{Besides, SendDescriptors};
use crate::transport::shm::rendezvous::descriptor::Revoked;
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::segment::window::{WindowSet, WindowSize};
use crate::transport::{Combine, TransportError};
use allhands_core::progress::Post;
use allhands_core::schedule::{Extent, Plan, Space};
use exchanges::Exchanges;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

mod deferred;
mod exchanges;

/// The user's memory in a call.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// What the user gave.
    pub input: *const u8,
    /// What the user gets.
    pub output: *mut u8,
}

/// One call under way; made once for a plan and begun for each call, so a repeated call allocates nothing.
///
/// A request that is dropped, or fails, takes back every message that a peer could still read; a peer that reads at that moment
/// is waited for. It must not be forgotten while it is under way: peers may then read the call's buffers for ever.
pub struct RequestState {
    pub(crate) rank: u32,
    segment: Arc<SharedSegment>,
    slots: Box<[Slot]>,
    lanes: Box<[Lane]>,
    space_bytes: [usize; 4],
    /// The most bytes that go in a pipeline buffer.
    pub(crate) pipelined_most: PipelinedMost,
    /// Where memory is that another rank has written.
    pub(crate) distance: Distance,
    bases: [*mut u8; 4],
    window: Option<Arc<WindowSet>>,
    /// For each flag of a rank that this one waits for, how many notifications earlier waits took, beyond the credit.
    taken: Box<[Cell<i64>]>,
    /// Taken only when the request ends for good.
    descriptors: Option<SendDescriptors>,
    /// Held for its life alone: its address is a base.
    _scratch: Option<Block>,
    /// How its calls go where all is as in most of them.
    pub(crate) fast_path: Option<FastPath>,
    /// What goes to other nodes.
    pub(crate) remote: Option<Box<Remote>>,
    combine: Option<Combine>,
    deferred: Cell<Option<Deferred>>,
    deferred_trial: RefCell<DeferredTrial>,
    /// The copy that is made with a send.
    pub(crate) double: Option<Double>,
    pub(crate) exchanges: Exchanges,
    pub(crate) concurrent: ConcurrentRendezvous,
    /// Whether messages may be shorter than their rooms, as far as the plan goes.
    pub(crate) may_be_shorter: bool,
    pub(crate) call: u64,
    /// The hash of this call and all before it.
    pub(crate) chain: u64,
    under_way: bool,
}

// SAFETY: the addresses are of memory that the maker of the call keeps valid for the request, from
// whatever thread (the promise of `begin`); nothing else in a request belongs to a thread.
unsafe impl Send for RequestState {}

impl std::fmt::Debug for RequestState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestState")
            .field("rank", &self.rank)
            .field("call", &self.call)
            .field("under_way", &self.under_way)
            .finish_non_exhaustive()
    }
}

impl RequestState {
    /// A request of `plan` on `endpoint`, by whose numbers the plan calls its peers ([`Endpoint::localize`]).
    ///
    /// `window_key` names the window and flags of a plan that has some: all ranks give the same key for the
    /// same plan, and never the same for another or for a second request, as each outstanding call owns its window. Keys that only grow will do.
    /// `call` is the stamp of the calls that it will serve.
    ///
    /// # Errors
    /// [`TransportError::Mismatch`] if another rank makes another call under this key, [`TransportError::WindowDiffers`] if its window is another.
    pub fn new(
        endpoint: &Endpoint,
        plan: &Plan,
        window_key: u64,
        call: &Stamp,
    ) -> Result<RequestState, TransportError> {
        let (rank, segment) = (endpoint.rank(), Arc::clone(endpoint.segment()));
        let size = WindowSize {
            bytes: plan.space_bytes[Space::Window.index()],
            flags: usize::from(plan.flags),
        };
        let window = if size.bytes > 0 || size.flags > 0 {
            let window = segment.window(rank, window_key, size, call)?;
            // Flags carry no signature: calls before this one that differed might never be found out.
            endpoint.agree_so_far()?;
            Some(Arc::new(window))
        } else {
            None
        };
        let (watches, taken) = watches(plan);
        let (slots, lanes) = slots(plan, &watches);
        let mut bases = [std::ptr::null_mut(); 4];
        if let Some(window) = &window {
            bases[Space::Window.index()] = window.base(rank);
        }
        let scratch_bytes = plan.space_bytes[Space::Scratch.index()];
        // Scratch lies where peers can read it: what is passed on is copied once.
        let scratch = (scratch_bytes > 0)
            .then(|| segment.arena().allocate(scratch_bytes))
            .transpose()?;
        if let Some(scratch) = &scratch {
            bases[Space::Scratch.index()] = scratch.address();
        }
        let descriptors = SendDescriptors::new(segment.arena(), plan, segment.ranks())?;
        let exchanges = |at: usize| slots[at].exchanges;
        let fast_path = FastPath::new((&segment, rank), plan, window.as_deref(), exchanges);
        let concurrent = segment
            .is_oversubscribed()
            .then(|| ConcurrentRendezvous::new(plan, segment.ranks()));
        let distance = distance(&segment, plan, &slots);
        let may_double = !segment.is_oversubscribed();
        let double = may_double.then(|| Double::of(plan, exchanges)).flatten();
        let pipelined_most = PipelinedMost::new(&segment, distance, double.is_some());
        Ok(RequestState {
            rank,
            distance,
            exchanges: Exchanges::of(plan, &slots, double.as_ref(), segment.ranks()),
            concurrent: concurrent.unwrap_or_default(),
            may_be_shorter: may_be_shorter(plan, call),
            segment,
            fast_path,
            slots,
            lanes: vec![Lane::default(); lanes].into(),
            space_bytes: plan.space_bytes,
            pipelined_most: pipelined_most.in_elements(plan.element_bytes),
            bases,
            remote: endpoint.remote(plan, window.as_ref())?,
            window,
            taken: taken.into_iter().map(Cell::new).collect(),
            descriptors: Some(descriptors),
            _scratch: scratch,
            combine: None,
            deferred: Cell::new(None),
            deferred_trial: RefCell::new(DeferredTrial::new()),
            double,
            call: 0,
            chain: 0,
            under_way: false,
        })
    }

    /// The word that stands at this byte of scratch, as the last call has left it; `None` beyond its end or while a call is under way.
    pub(crate) fn word_of_scratch(&self, at: usize) -> Option<usize> {
        const WORD: usize = size_of::<usize>();
        let end = at.checked_add(WORD)?;
        if self.under_way || end > self.space_bytes[Space::Scratch.index()] {
            return None;
        }
        // SAFETY: the scratch has these bytes, and lives as long as this does; its bytes are of no type, so any are a word. With no call
        // under way nobody writes them: what peers may still read of it they only read.
        Some(unsafe {
            self.bases[Space::Scratch.index()]
                .add(at)
                .cast::<usize>()
                .read_unaligned()
        })
    }

    /// The sequence number of the call under way, or of the last one.
    #[must_use]
    pub fn call(&self) -> u64 {
        self.call
    }

    /// Whether a call has begun and is neither complete nor stopped.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.under_way
    }

    pub(crate) fn depart(
        &mut self,
        call: u64,
        chain: u64,
        buffers: Buffers,
        combine: Option<Combine>,
    ) {
        self.bases[Space::Input.index()] = buffers.input.cast_mut();
        self.bases[Space::Output.index()] = buffers.output;
        (self.call, self.chain, self.combine) = (call, chain, combine);
        self.double.iter().for_each(Double::open);
        self.under_way = true;
    }

    pub(crate) fn arrive(&mut self) {
        debug_assert!(
            self.slots.iter().all(|s| !s.posted),
            "all messages are read"
        );
        self.deferred_trial.get_mut().end();
        self.under_way = false;
    }

    /// Ends a call that cannot complete: afterwards no peer touches its buffers.
    pub(crate) fn stop(&mut self) {
        if let Some(remote) = &mut self.remote {
            remote.stop();
        }
        let Some(descriptors) = &self.descriptors else {
            return;
        };
        let mut read = true;
        for (ticket, slot) in (0..).zip(&mut self.slots).filter(|(_, s)| s.posted) {
            slot.posted = false;
            // A process that has ended reads no more, wherever it was.
            let is_gone = || self.segment.liveness().is_any_dead();
            read &= descriptors.entry(ticket).descriptor.revoke(is_gone) == Revoked::Read;
        }
        // What is bounced, or was taken back, may still be found: it stays where it is, and the request ends for good.
        if !(read && descriptors.is_free())
            && let Some(descriptors) = self.descriptors.take()
        {
            self.segment.retire(descriptors);
        }
        self.lanes.fill(Lane::default());
        self.slots.iter_mut().for_each(|slot| slot.gone = 0);
        self.deferred.set(None);
        self.deferred_trial.get_mut().forget();
        self.concurrent.reset(&self.segment, self.rank);
        self.under_way = false;
    }

    /// Queues operation `ticket` behind the earlier ones of its lane; whether it is its turn at once.
    #[inline]
    pub(crate) fn queue(&mut self, ticket: u32) -> bool {
        let slot = &mut self.slots[ticket as usize];
        let lane = &mut self.lanes[slot.lane as usize];
        slot.turn = lane.issued;
        lane.issued = lane.issued.wrapping_add(1);
        lane.served == slot.turn
    }

    /// Whether all earlier operations of the lane of `ticket` have had their turn.
    #[inline]
    pub(crate) fn may_go(&self, ticket: u32) -> bool {
        let slot = &self.slots[ticket as usize];
        self.lanes[slot.lane as usize].served == slot.turn
    }

    /// Ends the turn of operation `ticket`.
    #[inline]
    pub(crate) fn went(&mut self, ticket: u32) {
        let lane = &mut self.lanes[self.slots[ticket as usize].lane as usize];
        lane.served = lane.served.wrapping_add(1);
    }

    /// Bytes of the message of `ticket` that are away, while more are to follow.
    pub(crate) fn gone(&mut self, ticket: u32) -> &mut usize {
        &mut self.slots[ticket as usize].gone
    }

    #[inline]
    pub(crate) fn is_posted(&self, ticket: u32) -> bool {
        self.slots[ticket as usize].posted
    }

    /// Whether the receiver has read the message that `ticket` posted.
    #[inline]
    pub(crate) fn is_read(&mut self, ticket: u32) -> bool {
        let read = self.descriptors().entry(ticket).descriptor.is_done();
        let slot = &mut self.slots[ticket as usize];
        slot.posted = !read;
        slot.looks = slot.looks.saturating_add(1);
        read
    }

    /// Whether `ticket` sends to a rank that sends to this one at the same time.
    pub(crate) fn exchanges(&self, ticket: u32) -> bool {
        self.slots[ticket as usize].exchanges
    }

    /// Whether what comes in exchange for the message of `ticket` is combined.
    pub(crate) fn combines(&self, ticket: u32) -> bool {
        self.slots[ticket as usize].combines
    }

    /// Whether what `ticket` sends is copied with it.
    pub(crate) fn is_copied(&self, ticket: u32) -> bool {
        self.double
            .as_ref()
            .is_some_and(|double| double.is_of(ticket))
    }

    /// Whether what is sent to `peer`, which sends to this rank at the same time, is copied with it.
    pub(crate) fn copies_what_goes_to(&self, peer: u32) -> bool {
        self.double.as_ref().is_some_and(|double| double.to == peer)
    }

    /// Whether `ticket` sends a message in a step that sends and copies nothing else.
    pub(crate) fn sends_alone(&self, ticket: u32) -> bool {
        self.slots[ticket as usize].alone
    }

    /// Whether the call under way has an operator, with which ranks combine what they receive.
    pub(crate) fn is_reduction(&self) -> bool {
        self.combine.is_some()
    }

    /// Whether `ticket` sends the only message that this rank sends in a call.
    pub(crate) fn sends_only(&self, ticket: u32) -> bool {
        self.slots[ticket as usize].only
    }

    /// What else goes on while `ticket` sends a message.
    pub(crate) fn besides(&self, ticket: u32) -> Besides {
        Besides {
            exchanged: self.exchanges(ticket),
            alone: self.sends_alone(ticket),
        }
    }

    /// Whether this rank, which has posted the message of `ticket`, seems to have nothing else to do.
    pub(crate) fn is_idle(&self, ticket: u32) -> bool {
        /// Looks in a row; between two of them everything else that the call has to do goes as far as it can.
        const IDLE: u8 = 4;
        self.slots[ticket as usize].looks >= IDLE
    }

    /// The operator of a call that reduces.
    #[inline]
    pub(crate) fn combine(&self) -> Combine {
        self.combine.expect("a call that reduces has an operator")
    }

    /// The memory for long messages.
    pub(crate) fn descriptors(&self) -> &SendDescriptors {
        let descriptors = self.descriptors.as_ref();
        descriptors.expect("a request that was stopped does not begin again")
    }

    /// Posts a message that goes one way in parts.
    pub(crate) fn announce_parts(&self, post: &Post<'_>) {
        let (ticket, descriptors) = (post.ticket, self.descriptors());
        descriptors.describe_pipelined(ticket, post.bytes, self.besides(ticket));
        descriptors.entry(ticket).descriptor.post(0);
    }

    pub(crate) fn set_posted(&mut self, ticket: u32) {
        let slot = &mut self.slots[ticket as usize];
        (slot.posted, slot.looks) = (true, 0);
    }

    /// The memory of a list of extents of own spaces.
    #[inline]
    pub(crate) fn iovecs<'e>(&'e self, extents: &'e [Extent]) -> Iovecs<'e> {
        Iovecs {
            request: self,
            extents: extents.iter(),
        }
    }

    /// The memory of an extent of an own space.
    #[inline]
    pub(crate) fn iovec(&self, extent: &Extent) -> Iovec {
        self.within(self.bases[extent.space.index()], extent)
    }

    /// The memory of an extent of the window of `rank`.
    pub(crate) fn window_iovec(&self, rank: u32, extent: &Extent) -> Iovec {
        assert_eq!(
            extent.space,
            Space::Window,
            "a peer's window is all one reaches"
        );
        self.within(self.window().base(rank), extent)
    }

    #[inline]
    pub(crate) fn address(&self, space: usize, offset: usize) -> *mut u8 {
        self.bases[space].wrapping_add(offset)
    }

    #[inline]
    fn within(&self, base: *mut u8, extent: &Extent) -> Iovec {
        let inside = extent
            .offset
            .checked_add(extent.bytes)
            .is_some_and(|end| end <= self.space_bytes[extent.space.index()]);
        assert!(inside, "an extent lies inside its space");
        Iovec {
            address: base.wrapping_add(extent.offset),
            bytes: extent.bytes,
        }
    }

    pub(crate) fn notify(&self, to: u32, flag: u16) {
        self.window().notify(self.rank, to, flag);
    }

    /// Takes `count` notifications of flag `flag` of rank `at` for the wait `ticket`, if there are as many.
    #[inline]
    pub(crate) fn take(&self, ticket: u32, at: u32, flag: u16, count: u32) -> bool {
        let raised = self.window().raised(at, flag) as i64;
        let taken = &self.taken[self.slots[ticket as usize].lane as usize];
        let due = taken.get() + i64::from(count);
        let enough = raised >= due;
        if enough {
            taken.set(due);
        }
        enough
    }

    fn window(&self) -> &WindowSet {
        self.window
            .as_ref()
            .expect("a plan with one-sided operations has a window or flags")
    }
}

impl Drop for RequestState {
    fn drop(&mut self) {
        if self.under_way {
            let rank = self.rank;
            let fault = if std::thread::panicking() {
                Fault::Panicked { rank }
            } else {
                Fault::Dropped { rank }
            };
            // First the reason, then the effect: a receiver that finds a message taken back finds out why.
            self.segment.poison_from(self.call, rank, fault);
            self.stop();
        }
        if let Some(descriptors) = self.descriptors.take()
            && !descriptors.is_free()
        {
            self.segment.retire(descriptors);
        }
    }
}

/// The memory of a list of extents, one by one.
#[derive(Clone, Debug)]
pub(crate) struct Iovecs<'e> {
    request: &'e RequestState,
    extents: std::slice::Iter<'e, Extent>,
}

impl Iterator for Iovecs<'_> {
    type Item = Iovec;

    #[inline]
    fn next(&mut self) -> Option<Iovec> {
        self.extents.next().map(|extent| self.request.iovec(extent))
    }
}
