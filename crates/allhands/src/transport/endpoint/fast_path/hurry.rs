//! The fast path: how a call of a few short messages goes step by step, without the interpreter.
//!
//! What an operation of a plan means is found out once, when the request is made: whose ring, which memory, how many bytes. A call
//! then goes through a list. Whatever is not as in most calls (a full ring, a message that is not the expected one, a peer that
//! lets one wait) is left to the interpreter, which goes on from the step that was reached; so errors, sleep and the order of
//! messages are known there alone. Where ranks share cores it knows windows and flags, too: who has its turn on a core then
//! finds, as a rule, that all is there.

use crate::transport::endpoint::plan::moves::{Move, Place, Way};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::endpoint::state::request::RequestState;
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::iovec::{self, Iovec, Pieces, Sink};
use crate::transport::shm::queue::ring::{FIRST_LINE, Header, Kind};
use allhands_core::progress::{Cursor, Status};
use allhands_core::schedule::{OpKind, Plan, Side};
use std::iter::Once;

/// What has become of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    Done,
    NotYet,
    /// The interpreter must look.
    Odd,
}

impl Endpoint {
    /// Takes a call that has begun, and gone nowhere yet, along its fast path, if its plan has one; otherwise, and where that
    /// leads no further, the cursor is put where the interpreter goes on.
    #[inline]
    pub(crate) fn hurry(
        &mut self,
        request: &mut RequestState,
        plan: &Plan,
        cursor: &mut Cursor,
    ) -> Status {
        let Some(fast_path) = &request.fast_path else {
            cursor.reset(plan);
            return Status::Pending;
        };
        let looks = fast_path.looks;
        for (item, step) in fast_path.steps.iter().enumerate() {
            let moves = &fast_path.moves[step.start as usize..step.end as usize];
            let left = self.take_step(request, moves, looks);
            if left != 0 {
                self.hand_over(request, (item as u32, left), plan, cursor);
                return Status::Pending;
            }
        }
        request.arrive();
        Status::Done
    }

    /// Makes the operations of a step; gives those that are not done, as bits.
    #[inline]
    fn take_step(&mut self, request: &RequestState, moves: &[Move], looks: u32) -> u32 {
        let (mut left, mut is_odd) = (0, false);
        for (at, next) in moves.iter().enumerate() {
            #[cfg(all(test, not(loom)))]
            tests::trace::started(next);
            let gone = self.go(request, next);
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
            pause();
            for (at, next) in moves.iter().enumerate() {
                if left & (1 << at) == 0 {
                    continue;
                }
                let gone = self.go(request, next);
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
        request: &mut RequestState,
        (item, left): (u32, u32),
        plan: &Plan,
        cursor: &mut Cursor,
    ) {
        let step = plan.items[item as usize];
        let under_way = (step.start..step.end).filter(|op| left & (1 << (op - step.start)) != 0);
        // Waits have no turns.
        let is_message = |op: &u32| !matches!(plan.ops[*op as usize].kind, OpKind::Wait { .. });
        under_way.clone().filter(is_message).for_each(|op| {
            request.queue(op);
        });
        cursor.resume(plan, item, under_way);
    }

    /// Makes an operation, if it can be made now.
    #[inline]
    fn go(&mut self, request: &RequestState, next: &Move) -> Gone {
        let bytes = usize::from(next.bytes);
        let at = |place: Place| request.address(place.space, place.offset);
        match next.way {
            Way::Send if next.is_medium => self.send_medium_at_once(request, next, at(next.source)),
            Way::Send => self.send_at_once(request, next, at(next.source)),
            Way::Receive => {
                let take = |payload| {
                    // SAFETY: a payload of this length is readable until its release; the target is the call's own memory, as
                    // long, and apart from it.
                    unsafe { Distance::Far.copy(payload, at(next.target), bytes) };
                };
                let sink = || Sink::copy(iovec_of(request, next, next.target));
                self.receive_at_once(request, next, take, sink)
            }
            Way::Combine(side) => self.combine_at_once(request, next, side),
            Way::Copy => {
                // SAFETY: own memory that the call may use; the schedule orders operations that touch the same bytes.
                unsafe { Distance::Near.copy(at(next.source), at(next.target), bytes) };
                Gone::Done
            }
            Way::Reduce => {
                let (left, right) = (at(next.source), at(next.other));
                // SAFETY: as above, and extents of plans that reduce are whole elements.
                unsafe { request.combine().run(left, right, at(next.target), bytes) };
                Gone::Done
            }
            Way::Notify { flag } => {
                request.notify(next.peer, flag);
                // Any rank may wait for it.
                self.segment.wake_all();
                Gone::Done
            }
            Way::Wait {
                flag,
                count,
                ticket,
            } => match request.take(ticket, next.peer, flag, count) {
                true => Gone::Done,
                false => Gone::NotYet,
            },
            // SAFETY: the peer's window is memory of the arena that the request keeps, in which so many bytes lie from there on;
            // the schedule's flags grant them to us now. The target is the call's own memory, as long, and apart from them.
            Way::Get(from) => unsafe {
                Distance::Far.copy(from, at(next.target), bytes);
                Gone::Done
            },
            Way::GetReduce(from, side) => {
                let own = at(next.source).cast_const();
                let (left, right) = match side {
                    Side::Left => (from, own),
                    Side::Right => (own, from),
                };
                // SAFETY: as above; windows are aligned for elements, and extents of plans that reduce are whole elements.
                unsafe { request.combine().run(left, right, at(next.target), bytes) };
                Gone::Done
            }
        }
    }

    /// Receives what stands on `side` of what is there.
    #[inline]
    fn combine_at_once(&mut self, request: &RequestState, next: &Move, side: Side) -> Gone {
        let at = |place: Place| request.address(place.space, place.offset);
        let take = |payload| {
            let own = at(next.source).cast_const();
            let (left, right) = match side {
                Side::Left => (payload, own),
                Side::Right => (own, payload),
            };
            let bytes = usize::from(next.bytes);
            // SAFETY: a payload of this length is readable until its release; payloads and the extents of plans that reduce are
            // whole elements, aligned for them.
            unsafe { request.combine().run(left, right, at(next.target), bytes) };
        };
        let iovec = |place| iovec_of(request, next, place);
        let sink = || {
            Sink::reduce(
                iovec(next.target),
                iovec(next.source),
                request.combine(),
                side,
            )
        };
        self.receive_at_once(request, next, take, sink)
    }

    #[inline]
    fn send_at_once(&mut self, request: &RequestState, next: &Move, from: *const u8) -> Gone {
        let header = self.header(request, next);
        let bytes = usize::from(next.bytes);
        // SAFETY: a ring of the segment, which the request keeps; a rank has one endpoint, used by one thread at a time, so it is the
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
        self.segment.wake(next.peer);
        Gone::Done
    }

    /// As [`Endpoint::send_at_once`], of a message that had better go in a medium buffer.
    fn send_medium_at_once(&mut self, request: &RequestState, next: &Move, from: *mut u8) -> Gone {
        let header = Header {
            kind: Kind::Medium,
            ..self.header(request, next)
        };
        let bytes = usize::from(next.bytes);
        let oversubscribed = self.segment.is_oversubscribed();
        let unclaimed = self.segment.leaves_unclaimed();
        let (shown, pieces) = Pieces::of_medium(bytes, oversubscribed, next.exchanges, unclaimed);
        let sent = self.send_medium(next.peer, (header, shown), |buffer, filled| {
            let iovec = |address| Iovec { address, bytes };
            let from = std::iter::once(iovec(from));
            // SAFETY: the call's own memory, to a medium buffer that is ours and has room for so many bytes; each piece is written once.
            unsafe { iovec::copy_in_pieces(from, iovec(buffer), pieces, filled) };
        });
        match sent {
            Some(true) => Gone::Done,
            Some(false) => Gone::NotYet,
            // It goes another way.
            None => Gone::Odd,
        }
    }

    fn header(&self, request: &RequestState, next: &Move) -> Header {
        Header {
            call: request.call,
            signature: request.chain,
            bytes: next.bytes,
            channel: next.channel,
            from: self.rank as u16,
            kind: Kind::Eager,
        }
    }

    /// Gives a message that is there to `take`, if it is in a cell, or to `sink`.
    #[inline]
    fn receive_at_once<I: Iterator<Item = Iovec>>(
        &mut self,
        request: &RequestState,
        next: &Move,
        take: impl FnOnce(*const u8),
        sink: impl FnOnce() -> Sink<I>,
    ) -> Gone {
        let from = next.peer as usize;
        let expected = |header: &Header| {
            header.call == request.call
                && header.signature == request.chain
                && header.bytes == next.bytes
                && header.channel == next.channel
        };
        // SAFETY: a ring of the segment, which the request keeps, of which this rank is the one consumer; its side is what
        // earlier releases left. The payload is used only until the release.
        let ring = unsafe { &*next.ring };
        if !self.unexpected[from].is_empty() {
            return Gone::Odd;
        }
        // SAFETY: as above.
        let front =
            unsafe { ring.front(&self.received[from], |header, payload| (header, payload)) };
        let (header, payload) = match front {
            None => return Gone::NotYet,
            Some((header, payload)) if expected(&header) => (header, payload),
            Some(_) => return Gone::Odd,
        };
        match header.kind {
            Kind::Eager => {
                take(payload);
                // SAFETY: shown just now. A sender that found the ring full is woken when it can see free cells.
                if unsafe { ring.release(&mut self.received[from], Kind::Eager) } {
                    self.segment.wake(next.peer);
                }
                Gone::Done
            }
            Kind::Medium => match self.take_medium(ring, next.peer, (&header, payload), sink()) {
                Ok(()) => Gone::Done,
                // The interpreter finds the same.
                Err(_) => Gone::Odd,
            },
            Kind::Pipelined | Kind::Rendezvous => Gone::Odd,
        }
    }
}

/// The memory of one of a move's places in a call.
#[inline]
fn iovec_of(request: &RequestState, next: &Move, place: Place) -> Once<Iovec> {
    std::iter::once(Iovec {
        address: request.address(place.space, place.offset),
        bytes: usize::from(next.bytes),
    })
}

/// Between two looks. In this file's tests ranks look until all is there, and there are more of them than cores.
#[inline]
fn pause() {
    match cfg!(test) {
        true => std::thread::yield_now(),
        false => std::hint::spin_loop(),
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
