//! The engine: what each operation of a plan does among ranks that share memory.

use super::flight::Flight;
use super::outbox::STAGE_MOST;
use super::port::{Expected, Port};
use super::ring::{EAGER_BYTES, Header, Kind, PIECES};
use super::runs::{self, Run, Sink, Stream};
use crate::transport::TransportError;
use allhands_core::progress::{Engine, Post, Status};
use allhands_core::schedule::{OpKind, Side};

/// Drives one flight through one port; made anew for each look at the call, at no cost.
#[derive(Debug)]
pub struct NodeEngine<'a> {
    port: &'a mut Port,
    flight: &'a mut Flight,
}

impl Engine for NodeEngine<'_> {
    type Error = TransportError;

    #[inline]
    fn start(&mut self, post: &Post<'_>) -> Result<Status, TransportError> {
        let flight = &*self.flight;
        match post.kind() {
            OpKind::Send { to, channel, .. } => {
                self.flight.queue(post.ticket);
                Ok(self.send(post, to, channel))
            }
            OpKind::Recv { .. } | OpKind::RecvReduce { .. } => {
                self.flight.queue(post.ticket);
                self.poll(post)
            }
            OpKind::Copy => {
                // SAFETY: own memory that the call may use; the schedule orders operations that touch
                // the same bytes.
                unsafe { runs::copy(flight.runs(post.source()), flight.runs(post.target())) };
                Ok(Status::Done)
            }
            OpKind::Reduce => {
                let (left, right) = (flight.runs(post.source()), flight.runs(post.other()));
                // SAFETY: as above, and extents are whole elements.
                unsafe { runs::reduce(&flight.combine(), left, right, flight.runs(post.target())) };
                Ok(Status::Done)
            }
            OpKind::Put { to, .. } => {
                let target = post.target().iter().map(|e| flight.window_run(to, e));
                // SAFETY: the peer's window is memory of the arena that this flight keeps; the
                // schedule's flags grant these bytes to us now.
                unsafe { runs::copy(flight.runs(post.source()), target) };
                Ok(Status::Done)
            }
            OpKind::Get { from, .. } => {
                let source = post.other().iter().map(|e| flight.window_run(from, e));
                // SAFETY: as for a put.
                unsafe { runs::copy(source, flight.runs(post.target())) };
                Ok(Status::Done)
            }
            OpKind::GetReduce { from, side, .. } => {
                let source = post.other().iter().map(|e| flight.window_run(from, e));
                let (own, into) = (flight.runs(post.source()), flight.runs(post.target()));
                // SAFETY: as for a put; windows are aligned for elements and extents are whole elements.
                unsafe {
                    match side {
                        Side::Left => runs::reduce(&flight.combine(), source, own, into),
                        Side::Right => runs::reduce(&flight.combine(), own, source, into),
                    }
                };
                Ok(Status::Done)
            }
            OpKind::Notify { to, flag } => {
                flight.notify(to, flag);
                // Any rank may wait for it.
                self.port.fabric().ring_all();
                Ok(Status::Done)
            }
            OpKind::Wait { .. } | OpKind::Await { .. } => self.poll(post),
        }
    }

    #[inline]
    fn poll(&mut self, post: &Post<'_>) -> Result<Status, TransportError> {
        match post.kind() {
            OpKind::Send { to, channel, .. } => Ok(self.send(post, to, channel)),
            OpKind::Recv { from, channel, .. } => self.receive(post, from, channel, None),
            OpKind::RecvReduce {
                from,
                channel,
                side,
                ..
            } => self.receive(post, from, channel, Some(side)),
            OpKind::Wait { at, flag, count } => {
                Ok(status(self.flight.take(post.ticket, at, flag, count)))
            }
            // These are done when they start; the interpreter answers for an await itself.
            OpKind::Copy
            | OpKind::Reduce
            | OpKind::Put { .. }
            | OpKind::Get { .. }
            | OpKind::GetReduce { .. }
            | OpKind::Notify { .. }
            | OpKind::Await { .. } => Ok(Status::Done),
        }
    }
}

impl<'a> NodeEngine<'a> {
    #[inline]
    pub(super) fn new(port: &'a mut Port, flight: &'a mut Flight) -> NodeEngine<'a> {
        debug_assert_eq!(
            port.rank(),
            flight.rank,
            "a flight goes through its own port"
        );
        NodeEngine { port, flight }
    }

    /// Takes a send as far as it goes.
    #[inline]
    fn send(&mut self, post: &Post<'_>, to: u32, channel: u16) -> Status {
        let ticket = post.ticket;
        if self.flight.is_posted(ticket) {
            return self.posted(post, to);
        }
        if !self.flight.may_go(ticket) {
            return Status::Pending;
        }
        let header = Header {
            call: self.flight.call,
            signature: self.flight.chain,
            bytes: 0,
            channel,
            from: self.flight.rank as u16,
            kind: Kind::Eager,
        };
        if post.bytes <= EAGER_BYTES {
            return self.send_eager(post, to, header);
        }
        if post.bytes <= self.flight.piece_bytes() * PIECES {
            return self.send_pieces(post, to, header);
        }
        self.send_long(post, to, header)
    }

    /// Sends as many pieces as there is room for.
    fn send_pieces(&mut self, post: &Post<'_>, to: u32, header: Header) -> Status {
        let (ticket, most) = (post.ticket, self.flight.piece_bytes());
        loop {
            let moved = self.flight.moved(ticket);
            let bytes = (post.bytes - moved).min(most);
            let last = moved + bytes == post.bytes;
            let header = Header {
                bytes: bytes as u16,
                kind: if last { Kind::Eager } else { Kind::Piece },
                ..header
            };
            let flight = &*self.flight;
            let sent = self.port.send(to, header, |payload| {
                let payload = Run {
                    address: payload,
                    bytes,
                };
                let mut source = Stream::new(flight.runs(post.source()));
                source.skip(moved);
                // SAFETY: the call's own memory, to a cell that is ours and has room for `bytes`.
                unsafe { source.fill(payload) };
            });
            if !sent {
                return Status::Pending;
            }
            self.flight
                .set_moved(ticket, if last { 0 } else { moved + bytes });
            if last {
                self.flight.went(ticket);
                return Status::Done;
            }
        }
    }

    #[inline]
    fn send_eager(&mut self, post: &Post<'_>, to: u32, header: Header) -> Status {
        let bytes = post.bytes as u16;
        let header = Header { bytes, ..header };
        let flight = &*self.flight;
        let sent = self.port.send(to, header, |payload| {
            let payload = Run {
                address: payload,
                bytes: post.bytes,
            };
            // SAFETY: the call's own memory, to a cell that is ours and has room for `post.bytes`.
            unsafe { runs::copy(flight.runs(post.source()), std::iter::once(payload)) };
        });
        if sent {
            self.flight.went(post.ticket);
        }
        status(sent)
    }

    /// Announces a long message, and stages it if its receiver had better not read it where it is.
    fn send_long(&mut self, post: &Post<'_>, to: u32, header: Header) -> Status {
        let outbox = self.flight.outbox();
        let (ticket, entry) = (post.ticket, self.flight.outbox().entry(post.ticket));
        if !entry.descriptor.is_free() {
            // The message of the last call, or iteration, is staged and not yet read.
            return Status::Pending;
        }
        let staged = self.is_staged(post);
        let header = Header {
            bytes: size_of::<Offer>() as u16,
            kind: Kind::Rendezvous,
            ..header
        };
        let offer = Offer {
            entry: outbox.entry_offset(ticket),
            bytes: post.bytes,
        };
        let flight = &*self.flight;
        let sent = self.port.send(to, header, |payload| {
            if staged {
                outbox.describe_staged(ticket, post.bytes);
                entry.descriptor.post(0);
            } else {
                // The call's memory stays as it is until the operation is done, which it is only when the message is
                // read, or the flight is stopped, which takes it back. The ring's release passes all of this on.
                outbox.describe(ticket, flight.runs(post.source()));
                entry.descriptor.post(post.bytes as u64);
            }
            // SAFETY: a cell's payload has room for an offer and is aligned for it.
            unsafe { payload.cast::<Offer>().write(offer) };
        });
        if !sent {
            return Status::Pending;
        }
        if staged {
            // SAFETY: the call's own memory, of the length that was just described.
            unsafe { outbox.fill(ticket, flight.runs(post.source())) };
            self.port.fabric().ring(to);
        } else {
            self.flight.set_posted(ticket);
        }
        self.flight.went(ticket);
        // A staged message needs the call's memory no more.
        status(staged)
    }

    /// Whether a message is copied to the stage: where its receiver cannot reach it, or not cheaply.
    fn is_staged(&self, post: &Post<'_>) -> bool {
        let fabric = self.port.fabric();
        if !fabric.arena().is_shared() || (post.bytes > STAGE_MOST && fabric.may_reach()) {
            return false;
        }
        let reachable = |run: Run| fabric.arena().offset_of(run.address, run.bytes).is_some();
        !self.flight.runs(post.source()).all(reachable)
    }

    /// What has become of a message that its receiver reads from the call's memory.
    fn posted(&mut self, post: &Post<'_>, to: u32) -> Status {
        let ticket = post.ticket;
        if self.flight.is_read(ticket) {
            return Status::Done;
        }
        let outbox = self.flight.outbox();
        let descriptor = &outbox.entry(ticket).descriptor;
        if descriptor.is_refused() {
            self.port.fabric().forbid_reaching();
            outbox.describe_staged(ticket, post.bytes);
            descriptor.post(0);
            // SAFETY: the call's own memory, of the length that was just described.
            unsafe { outbox.fill(ticket, self.flight.runs(post.source())) };
            self.port.fabric().ring(to);
        }
        Status::Pending
    }

    /// Receives the message that is next on its lane, if it is there.
    #[inline]
    fn receive(
        &mut self,
        post: &Post<'_>,
        from: u32,
        channel: u16,
        side: Option<Side>,
    ) -> Result<Status, TransportError> {
        if !self.flight.may_go(post.ticket) {
            return Ok(Status::Pending);
        }
        let flight = &*self.flight;
        let sink = || {
            let into = flight.runs(post.target());
            match side {
                None => Sink::copy(into),
                Some(side) => {
                    Sink::reduce(into, flight.runs(post.source()), flight.combine(), side)
                }
            }
        };
        let expected = Expected {
            flight,
            from,
            channel,
            bytes: post.bytes,
            received: flight.moved(post.ticket),
        };
        let received = self.port.receive(&expected, sink)?;
        let done = received == Some(post.bytes);
        if let Some(bytes) = received {
            self.flight
                .set_moved(post.ticket, if done { 0 } else { bytes });
        }
        if done {
            self.flight.went(post.ticket);
        }
        Ok(status(done))
    }
}

/// The payload of a cell that announces a long message.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Offer {
    /// Where its entry lies in the arena.
    pub(super) entry: u64,
    pub(super) bytes: usize,
}

#[inline]
fn status(done: bool) -> Status {
    if done { Status::Done } else { Status::Pending }
}
