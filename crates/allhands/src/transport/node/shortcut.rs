//! The shortcut: how a call of a few short messages goes step by step, without the interpreter.
//!
//! What an operation of a plan means is found out once, when the flight is made: whose ring, which memory, how many bytes. A call
//! then goes through a list. Whatever is not as in most calls (a full ring, a message that is not the expected one, a peer that
//! lets one wait) is left to the interpreter, which goes on from the step that was reached; so errors, sleep and the order of
//! messages are known there alone.

use super::engine::EXCHANGED_EAGER_MOST;
use super::fabric::{Carrier, Fabric};
use super::far::Distance;
use super::flight::Flight;
use super::port::Port;
use super::ring::{FIRST_LINE, Header, Kind, Ring};
use allhands_core::progress::{Cursor, Status};
use allhands_core::schedule::{Extent, OpKind, Plan, PlanOp, Side};
use std::ops::Range;

/// Looks for what a step waits for before the interpreter takes over.
const LOOKS: u32 = 512;

/// The most operations of a plan; those of a step are bits of a word.
const MOST: usize = 32;

/// The most bytes of an operation: what goes in a cell whatever else the call does.
const BYTES_MOST: usize = EXCHANGED_EAGER_MOST;

/// A plan's operations, as one flight makes them.
#[derive(Debug)]
pub(super) struct Shortcut {
    steps: Box<[Range<u32>]>,
    moves: Box<[Move]>,
}

/// An operation.
#[derive(Debug)]
struct Move {
    way: Way,
    /// For a message: of which ring.
    ring: *const Ring,
    peer: u32,
    channel: u16,
    bytes: u16,
    source: Place,
    target: Place,
    other: Place,
}

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Send,
    Receive,
    /// What comes stands on this side of what is there.
    Combine(Side),
    Copy,
    Reduce,
}

/// Bytes of an own space.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    space: usize,
    offset: usize,
}

/// What has become of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    Done,
    NotYet,
    /// The interpreter must look.
    Odd,
}

impl Shortcut {
    /// The shortcut of a plan of rank `rank`, if it has one.
    pub(super) fn new(fabric: &Fabric, rank: u32, plan: &Plan) -> Option<Shortcut> {
        let steps = plan.items.iter().map(|item| item.start..item.end);
        let is_plain = plan.strands.len() == 1 && plan.repeats.is_empty();
        if !is_plain || plan.ops.len() > MOST || plan.items.is_empty() {
            return None;
        }
        let steps: Box<[Range<u32>]> = steps.collect();
        if !steps.iter().all(|step| is_one_a_lane(plan, step)) {
            return None;
        }
        let moves = plan.ops.iter().map(|op| Move::new(fabric, rank, plan, op));
        Some(Shortcut {
            steps,
            moves: moves.collect::<Option<_>>()?,
        })
    }
}

/// Whether no two messages of a step go the same way on one channel: they would have to keep their order.
fn is_one_a_lane(plan: &Plan, step: &Range<u32>) -> bool {
    let ops = &plan.ops[step.start as usize..step.end as usize];
    let lane = |op: &PlanOp| match op.kind {
        OpKind::Send { to, channel, .. } => Some((true, to, channel)),
        OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
            Some((false, from, channel))
        }
        _ => None,
    };
    let mut lanes: Vec<_> = ops.iter().filter_map(lane).collect();
    let all = lanes.len();
    lanes.sort_unstable();
    lanes.dedup();
    lanes.len() == all
}

impl Move {
    /// What an operation of a plan is; none if it is not short, or of another kind.
    fn new(fabric: &Fabric, rank: u32, plan: &Plan, op: &PlanOp) -> Option<Move> {
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
        if op.moves() || op.bytes() > BYTES_MOST {
            return None;
        }
        let ring = match message {
            None => std::ptr::null(),
            Some((peer, _)) if peer >= fabric.ranks() => return None,
            Some((peer, _)) => {
                let (from, to) = if way == Way::Send {
                    (rank, peer)
                } else {
                    (peer, rank)
                };
                let Carrier::Ring(ring) = fabric.link(from, to) else {
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
            source: place(op.source())?,
            target: place(op.target())?,
            other: place(op.other())?,
        })
    }
}

impl Place {
    /// Where a list of extents lies that is one run of `bytes` bytes, or nothing at all.
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

impl Port {
    /// Takes a call that has begun, and gone nowhere yet, along its shortcut, if its plan has one; otherwise, and where that
    /// leads no further, the cursor is put where the interpreter goes on.
    #[inline]
    pub(crate) fn hurry(
        &mut self,
        flight: &mut Flight,
        plan: &Plan,
        cursor: &mut Cursor,
    ) -> Status {
        let Some(shortcut) = &flight.shortcut else {
            cursor.reset(plan);
            return Status::Pending;
        };
        let looks = if self.fabric.is_crowded() { 0 } else { LOOKS };
        for (item, step) in shortcut.steps.iter().enumerate() {
            let moves = &shortcut.moves[step.start as usize..step.end as usize];
            let left = self.take_step(flight, moves, looks);
            if left != 0 {
                self.hand_over(flight, (item as u32, left), plan, cursor);
                return Status::Pending;
            }
        }
        flight.arrive();
        Status::Done
    }

    /// Makes the operations of a step; gives those that are not done, as bits.
    #[inline]
    fn take_step(&mut self, flight: &Flight, moves: &[Move], looks: u32) -> u32 {
        let (mut left, mut is_odd) = (0, false);
        for (at, next) in moves.iter().enumerate() {
            let gone = self.go(flight, next);
            left |= u32::from(gone != Gone::Done) << at;
            is_odd |= gone == Gone::Odd;
        }
        if left == 0 {
            return 0;
        }
        for _ in 0..looks {
            if is_odd {
                return left;
            }
            std::hint::spin_loop();
            for (at, next) in moves.iter().enumerate() {
                if left & (1 << at) == 0 {
                    continue;
                }
                let gone = self.go(flight, next);
                left ^= u32::from(gone == Gone::Done) << at;
                is_odd |= gone == Gone::Odd;
            }
            if left == 0 {
                return 0;
            }
        }
        left
    }

    /// Has the interpreter go on from a step, of which some operations are under way.
    #[cold]
    fn hand_over(
        &mut self,
        flight: &mut Flight,
        (item, left): (u32, u32),
        plan: &Plan,
        cursor: &mut Cursor,
    ) {
        let step = plan.items[item as usize];
        let under_way = (step.start..step.end).filter(|op| left & (1 << (op - step.start)) != 0);
        under_way.clone().for_each(|op| {
            flight.queue(op);
        });
        cursor.resume(plan, item, under_way);
    }

    /// Makes an operation, if it can be made now.
    #[inline]
    fn go(&mut self, flight: &Flight, next: &Move) -> Gone {
        let bytes = usize::from(next.bytes);
        let at = |place: Place| flight.address(place.space, place.offset);
        match next.way {
            Way::Send => self.send_at_once(flight, next, at(next.source)),
            Way::Receive => self.receive_at_once(flight, next, |payload| {
                // SAFETY: a payload of this length is readable until its release; the target is the call's own memory, as
                // long, and apart from it.
                unsafe { Distance::Far.copy(payload, at(next.target), bytes) };
            }),
            Way::Combine(side) => self.receive_at_once(flight, next, |payload| {
                let own = at(next.source).cast_const();
                let (left, right) = match side {
                    Side::Left => (payload, own),
                    Side::Right => (own, payload),
                };
                // SAFETY: as above; payloads and the extents of plans that reduce are whole elements, aligned for them.
                unsafe { flight.combine().run(left, right, at(next.target), bytes) };
            }),
            Way::Copy => {
                // SAFETY: own memory that the call may use; the schedule orders operations that touch the same bytes.
                unsafe { std::ptr::copy(at(next.source), at(next.target), bytes) };
                Gone::Done
            }
            Way::Reduce => {
                let (left, right) = (at(next.source), at(next.other));
                // SAFETY: as above, and extents of plans that reduce are whole elements.
                unsafe { flight.combine().run(left, right, at(next.target), bytes) };
                Gone::Done
            }
        }
    }

    #[inline]
    fn send_at_once(&mut self, flight: &Flight, next: &Move, from: *const u8) -> Gone {
        let header = Header {
            call: flight.call,
            signature: flight.chain,
            bytes: next.bytes,
            channel: next.channel,
            from: self.rank as u16,
            kind: Kind::Eager,
        };
        let bytes = usize::from(next.bytes);
        // SAFETY: a ring of the fabric, which the flight keeps; a rank has one port, used by one thread at a time, so it is the
        // one producer, and the side is what earlier pushes left. The payload has room for so many bytes, which are the call's
        // own memory, apart from it; they are written in two parts, the first line last.
        let sent = unsafe {
            let side = &mut self.sent[next.peer as usize];
            (*next.ring).push(side, header, |payload| {
                if bytes > FIRST_LINE {
                    let rest = bytes - FIRST_LINE;
                    std::ptr::copy(from.add(FIRST_LINE), payload.add(FIRST_LINE), rest);
                }
                Distance::Far.copy(from, payload, bytes.min(FIRST_LINE));
            })
        };
        if !sent {
            return Gone::NotYet;
        }
        self.fabric.ring(next.peer);
        Gone::Done
    }

    #[inline]
    fn receive_at_once(
        &mut self,
        flight: &Flight,
        next: &Move,
        take: impl FnOnce(*const u8),
    ) -> Gone {
        let from = next.peer as usize;
        let expected = |header: &Header| {
            header.call == flight.call
                && header.signature == flight.chain
                && header.bytes == next.bytes
                && header.channel == next.channel
                && header.kind == Kind::Eager
        };
        // SAFETY: a ring of the fabric, which the flight keeps, of which this rank is the one consumer; the position is what
        // earlier releases left. The payload is used only until the release.
        let ring = unsafe { &*next.ring };
        if !self.unexpected[from].is_empty() {
            return Gone::Odd;
        }
        // SAFETY: as above.
        let front = unsafe { ring.front(self.received[from], |header, payload| (header, payload)) };
        match front {
            None => Gone::NotYet,
            Some((header, payload)) if expected(&header) => {
                take(payload);
                // SAFETY: shown just now. A sender that found the ring full is woken when it can see free cells.
                if unsafe { ring.release(&mut self.received[from], Kind::Eager) } {
                    self.fabric.ring(next.peer);
                }
                Gone::Done
            }
            Some(_) => Gone::Odd,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
