//! The flight: one call of a plan under way, as the transport keeps it.

use super::fabric::Fabric;
use super::member::Stamp;
use super::port::Port;
use super::rendezvous::{Descriptor, Revoked};
use super::segments::Segment;
use super::window::WindowSet;
use crate::transport::{Combine, TransportError};
use allhands_core::schedule::{Extent, OpKind, Plan, Space};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The memory of one call besides its window.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// What the user gave.
    pub input: *const u8,
    /// What the user gets.
    pub output: *mut u8,
    /// The call's own memory.
    pub scratch: *mut u8,
}

/// Messages of one direction between two ranks on one channel: first in, first out.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// Operations that have asked for their turn.
    issued: u32,
    /// Operations whose turn is over.
    served: u32,
}

/// What a flight keeps for an operation of its plan.
#[derive(Default)]
struct Slot {
    lane: u32,
    turn: u32,
    /// Made with the first long message of this operation and used again.
    descriptor: Option<Arc<Descriptor>>,
    /// Whether the descriptor is out with the receiver.
    posted: bool,
}

/// One call under way; made once for a plan and begun for each call, so a repeated call allocates nothing.
///
/// A flight that is dropped, or fails, takes back every message that a peer could still read; a peer that
/// reads at that moment is waited for. It must not be forgotten while it is under way: peers may
/// then read the call's buffers for ever.
pub struct Flight {
    pub(super) rank: u32,
    fabric: Arc<Fabric>,
    slots: Box<[Slot]>,
    lanes: Box<[Lane]>,
    space_bytes: [usize; 4],
    bases: [*mut u8; 4],
    window: Option<Arc<WindowSet>>,
    /// For each flag of a rank that this one waits for, how many notifications earlier waits took, beyond the
    /// credit; grows from call to call.
    taken: Box<[i64]>,
    pub(super) combine: Option<Combine>,
    pub(super) call: u64,
    pub(super) stamp: Stamp,
    under_way: bool,
}

// SAFETY: the addresses are of memory that the maker of the call keeps valid for the flight, from
// whatever thread (the promise of `begin`); nothing else in a flight belongs to a thread.
unsafe impl Send for Flight {}

impl std::fmt::Debug for Flight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flight")
            .field("rank", &self.rank)
            .field("call", &self.call)
            .field("under_way", &self.under_way)
            .finish_non_exhaustive()
    }
}

impl Flight {
    /// A flight of `plan` on `port`.
    ///
    /// `window_key` names the window and flags of a plan that has some: all ranks give the same key for the
    /// same plan, and never the same for another or for a second flight, as each outstanding call
    /// owns its window. Keys that only grow, one for each flight in the order of the calls, will do.
    ///
    /// # Errors
    /// [`TransportError::WindowDiffers`] if another rank's window under this key is not the same.
    pub fn new(port: &Port, plan: &Plan, window_key: u64) -> Result<Flight, TransportError> {
        let (rank, fabric) = (port.rank(), Arc::clone(port.fabric()));
        let window_bytes = plan.space_bytes[Space::Window.index()];
        let window = if window_bytes > 0 || plan.flags > 0 {
            Some(fabric.window(rank, window_key, window_bytes, plan.flags)?)
        } else {
            None
        };
        let (watches, taken) = watches(plan);
        let (slots, lanes) = slots(plan, &watches);
        let mut bases = [std::ptr::null_mut(); 4];
        if let Some(window) = &window {
            bases[Space::Window.index()] = window.base(rank);
            if watches.iter().any(|watch| watch.0 != rank) {
                window.set_watched();
            }
        }
        Ok(Flight {
            rank,
            fabric,
            slots,
            lanes: vec![Lane::default(); lanes].into(),
            space_bytes: plan.space_bytes,
            bases,
            window,
            taken,
            combine: None,
            call: 0,
            stamp: Stamp {
                hash: 0,
                words: [0; 4],
            },
            under_way: false,
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

    pub(super) fn depart(
        &mut self,
        call: u64,
        stamp: Stamp,
        buffers: Buffers,
        combine: Option<Combine>,
    ) {
        self.bases[Space::Input.index()] = buffers.input.cast_mut();
        self.bases[Space::Output.index()] = buffers.output;
        self.bases[Space::Scratch.index()] = buffers.scratch;
        (self.call, self.stamp, self.combine) = (call, stamp, combine);
        self.under_way = true;
    }

    pub(super) fn arrive(&mut self) {
        debug_assert!(
            self.slots.iter().all(|s| !s.posted),
            "all messages are read"
        );
        self.under_way = false;
    }

    /// Ends a call that cannot complete: afterwards no peer touches its buffers.
    pub(super) fn stop(&mut self) {
        for slot in self.slots.iter_mut().filter(|s| s.posted) {
            slot.posted = false;
            if let Some(descriptor) = &slot.descriptor
                && descriptor.revoke() == Revoked::Unread
            {
                self.fabric.keep(Arc::clone(descriptor));
                slot.descriptor = None;
            }
        }
        self.lanes.fill(Lane::default());
        self.under_way = false;
    }

    /// Queues operation `ticket` behind the earlier ones of its lane.
    #[inline]
    pub(super) fn queue(&mut self, ticket: u32) {
        let slot = &mut self.slots[ticket as usize];
        let lane = &mut self.lanes[slot.lane as usize];
        slot.turn = lane.issued;
        lane.issued = lane.issued.wrapping_add(1);
    }

    /// Whether all earlier operations of the lane of `ticket` have had their turn.
    #[inline]
    pub(super) fn may_go(&self, ticket: u32) -> bool {
        let slot = &self.slots[ticket as usize];
        self.lanes[slot.lane as usize].served == slot.turn
    }

    /// Ends the turn of operation `ticket`.
    #[inline]
    pub(super) fn went(&mut self, ticket: u32) {
        let lane = &mut self.lanes[self.slots[ticket as usize].lane as usize];
        lane.served = lane.served.wrapping_add(1);
    }

    #[inline]
    pub(super) fn is_posted(&self, ticket: u32) -> bool {
        self.slots[ticket as usize].posted
    }

    /// Whether the receiver has read the message that `ticket` posted.
    #[inline]
    pub(super) fn is_read(&mut self, ticket: u32) -> bool {
        let slot = &mut self.slots[ticket as usize];
        slot.posted = !slot.descriptor.as_ref().is_none_or(|d| d.is_done());
        !slot.posted
    }

    /// The descriptor of `ticket`, which is not out.
    pub(super) fn descriptor(&mut self, ticket: u32) -> Arc<Descriptor> {
        let slot = &mut self.slots[ticket as usize];
        let descriptor = slot
            .descriptor
            .get_or_insert_with(|| Arc::new(Descriptor::new()));
        Arc::clone(descriptor)
    }

    pub(super) fn set_posted(&mut self, ticket: u32) {
        self.slots[ticket as usize].posted = true;
    }

    /// The memory of an extent of an own space.
    #[inline]
    pub(super) fn segment(&self, extent: &Extent) -> Segment {
        self.within(self.bases[extent.space.index()], extent)
    }

    /// The memory of an extent of the window of `rank`.
    pub(super) fn window_segment(&self, rank: u32, extent: &Extent) -> Segment {
        assert_eq!(
            extent.space,
            Space::Window,
            "a peer's window is all one reaches"
        );
        self.within(self.window().base(rank), extent)
    }

    #[inline]
    fn within(&self, base: *mut u8, extent: &Extent) -> Segment {
        let inside = extent
            .offset
            .checked_add(extent.bytes)
            .is_some_and(|end| end <= self.space_bytes[extent.space.index()]);
        assert!(inside, "an extent lies inside its space");
        Segment {
            address: base.wrapping_add(extent.offset),
            bytes: extent.bytes,
        }
    }

    /// Raises a flag and wakes who may wait for it.
    pub(super) fn notify(&self, to: u32, flag: u16) {
        self.window().notify(to, flag);
        if self.window().is_watched() {
            (0..self.fabric.ranks()).for_each(|rank| self.fabric.member(rank).bell.ring());
        } else {
            self.fabric.member(to).bell.ring();
        }
    }

    /// Takes `count` notifications of flag `flag` of rank `at` for the wait `ticket`, if there are as many.
    pub(super) fn take(&mut self, ticket: u32, (at, flag): (u32, u16), count: u32) -> bool {
        let raised = self.window().raised(at, flag) as i64;
        let taken = &mut self.taken[self.slots[ticket as usize].lane as usize];
        let enough = raised >= *taken + i64::from(count);
        if enough {
            *taken += i64::from(count);
        }
        enough
    }

    fn window(&self) -> &WindowSet {
        self.window
            .as_ref()
            .expect("a plan with one-sided operations has a window or flags")
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.under_way {
            return;
        }
        let rank = self.rank;
        let error = if std::thread::panicking() {
            TransportError::RankPanicked { rank }
        } else {
            TransportError::CallDropped { rank }
        };
        // First the reason, then the effect: a receiver that finds a message taken back finds out why.
        self.fabric.poison(rank, error);
        self.stop();
    }
}

/// The flags that a plan waits for, by (rank, flag), and what its waits have taken at first: less than nothing, by the credit.
fn watches(plan: &Plan) -> (Vec<(u32, u16)>, Box<[i64]>) {
    let mut watches: Vec<(u32, u16)> = Vec::new();
    for op in &plan.ops {
        if let OpKind::Wait { at, flag, .. } = op.kind {
            watches.push((at, flag));
        }
    }
    watches.sort_unstable();
    watches.dedup();
    let taken = watches
        .iter()
        .map(|(_, flag)| -i64::from(plan.credits[usize::from(*flag)]));
    let taken = taken.collect();
    (watches, taken)
}

/// A slot for each operation, and the number of lanes; a wait's is that of its flag among `watches`.
fn slots(plan: &Plan, watches: &[(u32, u16)]) -> (Box<[Slot]>, usize) {
    let mut lanes = BTreeMap::new();
    let slots = plan.ops.iter().map(|op| {
        let key = match op.kind {
            OpKind::Send { to, channel, .. } => Some((true, to, channel)),
            OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
                Some((false, from, channel))
            }
            OpKind::Copy
            | OpKind::Reduce
            | OpKind::Put { .. }
            | OpKind::Get { .. }
            | OpKind::GetReduce { .. }
            | OpKind::Notify { .. }
            | OpKind::Wait { .. }
            | OpKind::Await { .. } => None,
        };
        let watch = match op.kind {
            OpKind::Wait { at, flag, .. } => watches.binary_search(&(at, flag)).ok(),
            _ => None,
        };
        let next = lanes.len() as u32;
        let lane = key.map(|key| *lanes.entry(key).or_insert(next));
        Slot {
            lane: lane.or(watch.map(|w| w as u32)).unwrap_or(0),
            ..Slot::default()
        }
    });
    let slots = slots.collect();
    (slots, lanes.len())
}
