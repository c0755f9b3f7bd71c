//! Moves of a fast path: what an operation of a plan means to one rank, found out when the request is made.

use crate::transport::shm::protocol::choose::{self, Known, Message, Protocol, choose};
use crate::transport::shm::queue::ring::{EAGER_BYTES, MEDIUM_BYTES, Ring};
use crate::transport::shm::segment::shared_segment::{Carrier, SharedSegment};
use crate::transport::shm::segment::window::WindowSet;
use crate::transport::shm::tuning::{FAST_PATH_WINDOW_MOST, MEDIUM_ALWAYS_MOST};
use allhands_core::schedule::{Extent, OpKind, Plan, PlanOp, Side, Space};
use std::ops::Range;

/// An operation.
#[derive(Debug)]
pub(crate) struct Move {
    pub(crate) way: Way,
    /// For a message: of which ring.
    pub(crate) ring: *const Ring,
    pub(crate) peer: u32,
    pub(crate) channel: u16,
    pub(crate) bytes: u16,
    /// Whether it sends to a rank on another core that sends to this one at the same time.
    pub(crate) exchanges: bool,
    /// Whether its message goes in a medium buffer rather than in a cell.
    pub(crate) is_medium: bool,
    pub(crate) source: Place,
    pub(crate) target: Place,
    pub(crate) other: Place,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Send,
    Receive,
    /// What comes stands on this side of what is there.
    Combine(Side),
    Copy,
    Reduce,
    /// Raises a flag of the peer.
    Notify {
        flag: u16,
    },
    /// Waits until a flag of the peer has been raised so often.
    Wait {
        flag: u16,
        count: u32,
        ticket: u32,
    },
    /// Copies from here in the peer's window.
    Get(*const u8),
    /// Combines what is here in the peer's window, which stands on this side.
    GetReduce(*const u8, Side),
}

/// Bytes of an own space.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) space: usize,
    pub(crate) offset: usize,
}

impl Move {
    /// What an operation of a plan is, which sends and receives at once from one peer if it `exchanges`; none if it is not
    /// short, or of another kind.
    pub(crate) fn new(
        (segment, rank): (&SharedSegment, u32),
        plan: &Plan,
        (op, exchanges): (&PlanOp, bool),
    ) -> Option<Move> {
        let (way, message) = match op.kind {
            OpKind::Send { to, channel, .. } => (Way::Send, Some((to, channel))),
            OpKind::Recv { from, channel, .. } => (Way::Receive, Some((from, channel))),
            OpKind::RecvReduce {
                from,
                channel,
                side,
                ..
            } => (Way::Combine(side), Some((from, channel))),
            OpKind::Copy => (Way::Copy, None),
            OpKind::Reduce => (Way::Reduce, None),
            _ => return None,
        };
        let (is_short, is_medium) = lengths(segment, plan, (op, exchanges), message.is_some());
        if op.moves() || !is_short {
            return None;
        }
        let ring = match message {
            None => std::ptr::null(),
            Some((peer, _)) if peer >= segment.ranks() => return None,
            Some((peer, _)) => {
                let (from, to) = if way == Way::Send {
                    (rank, peer)
                } else {
                    (peer, rank)
                };
                let Carrier::Ring(ring) = segment.link(from, to) else {
                    return None;
                };
                std::ptr::from_ref(ring)
            }
        };
        let place = |list: Range<usize>| Place::of(plan, &plan.extents[list], op.bytes());
        let (peer, channel) = message.unwrap_or_default();
        Some(Move {
            way,
            ring,
            peer,
            channel,
            bytes: op.bytes() as u16,
            exchanges: exchanges && !segment.is_oversubscribed(),
            is_medium,
            source: place(op.source())?,
            target: place(op.target())?,
            other: place(op.other())?,
        })
    }

    /// What an operation on flags, or with a peer's window, is; none if it is not short, or of another kind.
    pub(crate) fn one_sided(
        window: &WindowSet,
        plan: &Plan,
        (ticket, op): (u32, &PlanOp),
    ) -> Option<Move> {
        if op.moves() || op.bytes() > FAST_PATH_WINDOW_MOST {
            return None;
        }
        let place = |list: Range<usize>| Place::of(plan, &plan.extents[list], op.bytes());
        // The window's extent stands in the place of the other operand.
        let there = |from: u32| match plan.extents[op.other()] {
            [extent] if extent.space == Space::Window => {
                let place = place(op.other())?;
                Some(window.base(from).wrapping_add(place.offset).cast_const())
            }
            _ => None,
        };
        let (way, peer) = match op.kind {
            OpKind::Notify { to, flag } => (Way::Notify { flag }, to),
            OpKind::Wait { at, flag, count } => {
                let way = Way::Wait {
                    flag,
                    count,
                    ticket,
                };
                (way, at)
            }
            OpKind::Get { from, .. } => (Way::Get(there(from)?), from),
            OpKind::GetReduce { from, side, .. } => (Way::GetReduce(there(from)?, side), from),
            _ => return None,
        };
        Some(Move {
            way,
            ring: std::ptr::null(),
            peer,
            channel: 0,
            bytes: op.bytes() as u16,
            exchanges: false,
            is_medium: false,
            source: place(op.source())?,
            target: place(op.target())?,
            other: Place::default(),
        })
    }
}

/// Whether an operation is short enough for a fast path, and whether its message goes in a medium buffer; it sends and receives at
/// once if it is `exchanged`.
fn lengths(
    segment: &SharedSegment,
    plan: &Plan,
    (op, exchanged): (&PlanOp, bool),
    is_message: bool,
) -> (bool, bool) {
    let facts = Message {
        oversubscribed: segment.is_oversubscribed(),
        exchanged,
        mapped: !segment.arena().is_shared() || is_mapped(plan, op),
        ..Message::new(op.bytes())
    };
    match is_message {
        false if plan.flags > 0 => (op.bytes() <= FAST_PATH_WINDOW_MOST, false),
        false => {
            let most = match segment.is_oversubscribed() {
                true => EAGER_BYTES,
                false if facts.mapped => MEDIUM_ALWAYS_MOST,
                false => MEDIUM_BYTES,
            };
            (op.bytes() <= most, false)
        }
        // Which protocol it is changes while protocols are measured.
        true if facts.bytes > MEDIUM_ALWAYS_MOST && !choose::is_tried(segment.arena()) => {
            (false, false)
        }
        true => match choose(&facts, &Known::of(segment.arena(), None)).0 {
            Protocol::Eager => (true, false),
            // Who shares its core leaves what takes two steps to the interpreter.
            Protocol::Medium | Protocol::Unclaimed => (!segment.is_oversubscribed(), true),
            Protocol::Pipelined | Protocol::Bounce | Protocol::Direct | Protocol::Assisted => {
                (false, false)
            }
        },
    }
}

/// Whether an operation's source is memory of the arena.
fn is_mapped(plan: &Plan, op: &PlanOp) -> bool {
    let of_user = |extent: &Extent| matches!(extent.space, Space::Input | Space::Output);
    !plan.extents[op.source()].iter().all(of_user)
}

impl Place {
    /// Where a list of extents lies that is one iovec of `bytes` bytes, or nothing at all.
    fn of(plan: &Plan, extents: &[Extent], bytes: usize) -> Option<Place> {
        match extents {
            [] => Some(Place::default()),
            [extent] => {
                let space = extent.space.index();
                let end = extent.offset.checked_add(extent.bytes)?;
                let is_inside = end <= plan.space_bytes[space] && extent.bytes == bytes;
                is_inside.then_some(Place {
                    space,
                    offset: extent.offset,
                })
            }
            _ => None,
        }
    }
}
