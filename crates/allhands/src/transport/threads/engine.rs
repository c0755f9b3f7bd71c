//! The engine: what each operation of a plan does when ranks are threads.

use super::flight::Flight;
use super::port::{Payload, Port};
use super::ring::{EAGER_BYTES, Header, Kind};
use super::segments::{self, Segment};
use crate::transport::{Combine, TransportError};
use allhands_core::progress::{Engine, Post, Status};
use allhands_core::schedule::{OpKind, Side};
use std::sync::Arc;

/// Drives one flight through one port; made anew for each look at the call, at no cost.
#[derive(Debug)]
pub struct ThreadEngine<'a> {
    port: &'a mut Port,
    flight: &'a mut Flight,
}

impl Engine for ThreadEngine<'_> {
    type Error = TransportError;

    #[inline]
    fn start(&mut self, post: &Post<'_>) -> Result<Status, TransportError> {
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
                unsafe { segments::copy(self.own(post.source()), self.own(post.target())) };
                Ok(Status::Done)
            }
            OpKind::Reduce => {
                let (left, right) = (self.own(post.source()), self.own(post.other()));
                // SAFETY: as above, and extents are whole elements.
                unsafe { segments::reduce(&self.combine(), left, right, self.own(post.target())) };
                Ok(Status::Done)
            }
            OpKind::Put { to, .. } => {
                let target = post.target().iter();
                let target = target.map(|e| self.flight.window_segment(to, e));
                // SAFETY: the peer's window is memory of the fabric that this flight keeps alive; the
                // schedule's flags grant these bytes to us now.
                unsafe { segments::copy(self.own(post.source()), target) };
                Ok(Status::Done)
            }
            OpKind::Get { from, .. } => {
                let source = post.other().iter();
                let source = source.map(|e| self.flight.window_segment(from, e));
                // SAFETY: as for a put.
                unsafe { segments::copy(source, self.own(post.target())) };
                Ok(Status::Done)
            }
            OpKind::GetReduce { from, side, .. } => {
                let source = post.other().iter();
                let source = source.map(|e| self.flight.window_segment(from, e));
                let (own, into) = (self.own(post.source()), self.own(post.target()));
                // SAFETY: as for a put; windows are aligned for elements and extents are whole elements.
                unsafe { segments::reduce_on(&self.combine(), side, source, own, into) };
                Ok(Status::Done)
            }
            OpKind::Notify { to, flag } => {
                self.flight.notify(to, flag);
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
                Ok(status(self.flight.take(post.ticket, (at, flag), count)))
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

impl<'a> ThreadEngine<'a> {
    pub(super) fn new(port: &'a mut Port, flight: &'a mut Flight) -> ThreadEngine<'a> {
        assert_eq!(
            port.rank(),
            flight.rank,
            "a flight goes through its own port"
        );
        ThreadEngine { port, flight }
    }

    fn own<'e>(
        &'e self,
        extents: &'e [allhands_core::schedule::Extent],
    ) -> impl Iterator<Item = Segment> + 'e {
        extents.iter().map(|e| self.flight.segment(e))
    }

    fn combine(&self) -> Combine {
        self.flight
            .combine
            .expect("a call that reduces has an operator")
    }

    /// Takes a send as far as it goes.
    #[inline]
    fn send(&mut self, post: &Post<'_>, to: u32, channel: u16) -> Status {
        let ticket = post.ticket;
        if self.flight.is_posted(ticket) {
            return status(self.flight.is_read(ticket));
        }
        if !self.flight.may_go(ticket) {
            return Status::Pending;
        }
        let header = Header {
            call: self.flight.call,
            signature: self.flight.stamp.hash,
            bytes: 0,
            channel,
            kind: Kind::Eager,
        };
        if post.bytes <= EAGER_BYTES {
            return self.send_eager(post, to, header);
        }
        self.send_rendezvous(post, to, header)
    }

    #[inline]
    fn send_eager(&mut self, post: &Post<'_>, to: u32, header: Header) -> Status {
        let bytes = post.bytes as u32;
        let header = Header { bytes, ..header };
        let flight = &*self.flight;
        let sent = self.port.send(to, header, |payload| {
            let payload = Segment {
                address: payload,
                bytes: post.bytes,
            };
            let from = post.source().iter().map(|e| flight.segment(e));
            // SAFETY: the call's own memory, to a cell that is ours and has room for `post.bytes`.
            unsafe { segments::copy(from, std::iter::once(payload)) };
        });
        if sent {
            self.flight.went(post.ticket);
        }
        status(sent)
    }

    fn send_rendezvous(&mut self, post: &Post<'_>, to: u32, header: Header) -> Status {
        let descriptor = self.flight.descriptor(post.ticket);
        let header = Header {
            bytes: size_of::<Offer>() as u32,
            kind: Kind::Rendezvous,
            ..header
        };
        let offer = Offer {
            descriptor: Arc::as_ptr(&descriptor),
            bytes: post.bytes,
        };
        let sent = self.port.send(to, header, |payload| {
            let segments = post.source().iter().map(|e| self.flight.segment(e));
            // SAFETY: the descriptor is not out (`is_posted` said so). The call's memory stays as it is
            // until the operation is done, which it is only when the message is read, or the flight
            // is stopped, which takes it back. The ring's release passes the address on.
            unsafe { descriptor.post(segments) };
            // SAFETY: a cell's payload has room for an offer and is aligned for it.
            unsafe { payload.cast::<Offer>().write(offer) };
        });
        if sent {
            self.flight.set_posted(post.ticket);
            self.flight.went(post.ticket);
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
        let read = |payload: Payload<'_>| {
            let incoming = payload.segments();
            let into = post.target().iter().map(|e| flight.segment(e));
            let Some(side) = side else {
                // SAFETY: a payload is readable while we are shown it; `into` is the call's own memory.
                return unsafe { segments::copy(incoming, into) };
            };
            let own = post.source().iter().map(|e| flight.segment(e));
            let combine = flight.combine.expect("a call that reduces has an operator");
            // SAFETY: as above; payloads are aligned for elements and extents are whole elements.
            unsafe { segments::reduce_on(&combine, side, incoming, own, into) };
        };
        let received = self.port.receive(flight, from, channel, post.bytes, read)?;
        if received {
            self.flight.went(post.ticket);
        }
        Ok(status(received))
    }
}

/// The payload of a cell that announces a long message.
#[derive(Clone, Copy)]
pub(super) struct Offer {
    pub(super) descriptor: *const super::rendezvous::Descriptor,
    pub(super) bytes: usize,
}

fn status(done: bool) -> Status {
    if done { Status::Done } else { Status::Pending }
}
