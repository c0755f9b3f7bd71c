//! Operations: what each operation of a plan does among ranks that share memory.

use crate::transport::TransportError;
use crate::transport::endpoint::engine::node::{NodeEngine, status};
use crate::transport::endpoint::message::offer::Offer;
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::cross_memory_attach::{self, Outcome};
use crate::transport::shm::memory::iovec::{self, Iovec, Pieces, Sink};
use crate::transport::shm::protocol::choose::{
    Known, Message, Protocol, choose, choose_without_buffers, is_eager,
};
use crate::transport::shm::protocol::send_descriptors::{Entry, Found};
use crate::transport::shm::queue::ring::{EAGER_BYTES, FIRST_LINE, Header, Kind};
use crate::transport::shm::rendezvous::sender_assisted::{Piece, Target};
use crate::transport::shm::tuning::{BOUNCE_MOST, MEDIUM_ALWAYS_MOST};
use allhands_core::progress::{Engine, Post, Status};
use allhands_core::schedule::{OpKind, Side};

impl Engine for NodeEngine<'_> {
    type Error = TransportError;

    #[inline]
    fn start(&mut self, post: &Post<'_>) -> Result<Status, TransportError> {
        match post.kind() {
            OpKind::Send { to, channel, .. } => Ok(match self.request.queue(post.ticket) {
                true => self.send(post, to, channel),
                false => Status::Pending,
            }),
            OpKind::Recv { .. } | OpKind::RecvReduce { .. } => {
                self.request.queue(post.ticket);
                if self.request.concurrent.begin(post.ticket) || self.follows_copy(post) {
                    // All of the step are to have begun.
                    return Ok(Status::Pending);
                }
                self.poll(post)
            }
            OpKind::Copy if self.defers(post) => Ok(Status::Pending),
            OpKind::Copy if let Some(made) = self.is_made(post.ticket) => Ok(status(made)),
            OpKind::Copy => {
                self.copy(post);
                Ok(Status::Done)
            }
            OpKind::Reduce
            | OpKind::Put { .. }
            | OpKind::PutReduce { .. }
            | OpKind::Get { .. }
            | OpKind::GetReduce { .. } => {
                self.combine_or_get(post);
                Ok(Status::Done)
            }
            OpKind::Notify { to, flag } => {
                self.request.notify(to, flag);
                // Any rank may wait for it.
                self.endpoint.segment().wake_all();
                Ok(Status::Done)
            }
            OpKind::Wait { .. } | OpKind::Combine { .. } | OpKind::Await { .. } => self.poll(post),
        }
    }

    #[inline]
    fn poll(&mut self, post: &Post<'_>) -> Result<Status, TransportError> {
        match post.kind() {
            OpKind::Send { to, .. } if self.request.is_posted(post.ticket) => {
                Ok(self.posted(post, to))
            }
            OpKind::Send { to, channel, .. } => Ok(match self.request.may_go(post.ticket) {
                true => self.send(post, to, channel),
                false => Status::Pending,
            }),
            OpKind::Recv { .. } if self.request.concurrent.has(post.ticket) => {
                self.receive_several(post.ticket)
            }
            OpKind::Recv { from, channel, .. } => self.receive(post, from, channel, None),
            OpKind::RecvReduce {
                from,
                channel,
                side,
                ..
            } => self.receive(post, from, channel, Some(side)),
            OpKind::Wait { at, flag, count } => {
                Ok(status(self.request.take(post.ticket, at, flag, count)))
            }
            // No algorithm that needs it is admitted here.
            OpKind::Combine { fabric, .. } => Err(TransportError::NoFabric {
                fabric: fabric.name(),
            }),
            OpKind::Copy if let Some(made) = self.is_made(post.ticket) => Ok(status(made)),
            OpKind::Copy => Ok(status(self.request.advance_deferred(post.ticket))),
            // These are done when they start; the interpreter answers for an await itself.
            OpKind::Reduce
            | OpKind::Put { .. }
            | OpKind::PutReduce { .. }
            | OpKind::Get { .. }
            | OpKind::GetReduce { .. }
            | OpKind::Notify { .. }
            | OpKind::Await { .. } => Ok(Status::Done),
        }
    }
}

impl NodeEngine<'_> {
    /// Takes a send whose turn it is as far as it goes.
    #[inline]
    fn send(&mut self, post: &Post<'_>, to: u32, channel: u16) -> Status {
        let ticket = post.ticket;
        let header = Header {
            call: self.request.call,
            signature: self.request.chain,
            bytes: 0,
            channel,
            from: self.request.rank as u16,
            kind: Kind::Eager,
        };
        let is_oversubscribed = self.endpoint.segment().is_oversubscribed();
        if is_eager(
            post.bytes,
            self.request.exchanges(ticket),
            is_oversubscribed,
        ) {
            return self.send_eager(post, to, header);
        }
        self.send_by_choice(post, to, header)
    }

    /// Takes a send further whose message is no short one.
    #[inline(never)]
    fn send_by_choice(&mut self, post: &Post<'_>, to: u32, header: Header) -> Status {
        if *self.request.gone(post.ticket) > 0
            && let Some(status) = self.send_pipelined(post, to, header)
        {
            // The rest of a message goes as its first part has, whatever was found out meanwhile.
            return status;
        }
        let known = match post.bytes {
            // What was measured is of longer ones, and to look for it would cost these something.
            ..=MEDIUM_ALWAYS_MOST => Known::default(),
            _ => self.known(post, to),
        };
        let message = self.message(post, &known);
        let sent = match choose(&message, &known).0 {
            Protocol::Eager => Some(self.send_eager(post, to, header)),
            Protocol::Medium | Protocol::Unclaimed => self.send_medium(post, to, header),
            Protocol::Pipelined => self.send_pipelined(post, to, header),
            Protocol::Bounce | Protocol::Direct | Protocol::Assisted => None,
        };
        match sent {
            Some(status) => status,
            None if post.bytes <= EAGER_BYTES => self.send_eager(post, to, header),
            None if self.write_to_ready(post, to, &header) => {
                self.request.went(post.ticket);
                Status::Done
            }
            None => {
                let mapped = self.is_reachable(post);
                let protocol = choose_without_buffers(&Message { mapped, ..message }, &known);
                self.send_long(post, to, (header, protocol))
            }
        }
    }

    /// What decides how an operation's message goes.
    fn message(&self, post: &Post<'_>, known: &Known) -> Message {
        let segment = self.endpoint.segment();
        // There are few bounce buffers for the longest, so they are asked for where they would be used.
        let has_room = || {
            post.bytes <= BOUNCE_MOST
                || !known.would_bounce(post.bytes)
                || self.request.descriptors().may_bounce_long()
        };
        Message {
            bytes: post.bytes,
            oversubscribed: segment.is_oversubscribed(),
            exchanged: self.request.exchanges(post.ticket),
            mapped: post.bytes > MEDIUM_ALWAYS_MOST && self.is_reachable(post),
            may_attach: segment.may_attach(),
            streams: self.request.distance == Distance::Beyond,
            copied: self.request.is_copied(post.ticket),
            alone: self.request.sends_alone(post.ticket),
            only: self.request.sends_only(post.ticket),
            reduced: self.request.is_reduction(),
            combined: self.request.combines(post.ticket),
            has_room: has_room(),
        }
    }

    /// What was measured, and what the receiver of the last message of an operation wanted; of those that are exchanged both are to want
    /// the same.
    fn known(&mut self, post: &Post<'_>, to: u32) -> Known {
        let wanted = match self.request.exchanges(post.ticket) {
            true => {
                let message = self.long_message(post);
                let trials = self.endpoint.trials(to);
                trials.and_then(|trials| trials.wanted(message))
            }
            false => self.request.descriptors().entry(post.ticket).protocol(),
        };
        Known::of(self.endpoint.segment().arena(), wanted)
    }

    #[inline]
    fn send_eager(&mut self, post: &Post<'_>, to: u32, header: Header) -> Status {
        let bytes = post.bytes as u16;
        let header = Header { bytes, ..header };
        let request = &*self.request;
        let sent = self.endpoint.send(to, header, |payload| {
            let payload = Iovec {
                address: payload,
                bytes: post.bytes,
            };
            // SAFETY: the call's own memory, to a cell that is ours and has room for `post.bytes`.
            unsafe {
                match post.source() {
                    [extent] => {
                        let (from, line) = (request.iovec(extent), FIRST_LINE);
                        if from.bytes > line {
                            iovec::copy_iovec(
                                from.piece(line, usize::MAX),
                                payload.piece(line, usize::MAX),
                            );
                        }
                        iovec::copy_iovec(from.piece(0, line), payload.piece(0, line));
                    }
                    extents => iovec::copy(request.iovecs(extents), std::iter::once(payload)),
                }
            };
        });
        if sent {
            self.request.went(post.ticket);
        }
        status(sent)
    }

    /// Sends a message of some kilobytes by way of a medium buffer; `None` where there is none.
    fn send_medium(&mut self, post: &Post<'_>, to: u32, header: Header) -> Option<Status> {
        let segment = self.endpoint.segment();
        let header = Header {
            bytes: post.bytes as u16,
            kind: Kind::Medium,
            ..header
        };
        let request = &*self.request;
        let exchanges = request.exchanges(post.ticket);
        let (shown, pieces) = Pieces::of_medium(
            post.bytes,
            segment.is_oversubscribed(),
            exchanges,
            segment.leaves_unclaimed(),
        );
        let sent = self
            .endpoint
            .send_medium(to, (header, shown), |buffer, filled| {
                let buffer = Iovec {
                    address: buffer,
                    bytes: post.bytes,
                };
                let from = request.iovecs(post.source());
                // SAFETY: the call's own memory, to a medium buffer that is ours and has room for `post.bytes`; each piece is written once.
                unsafe { iovec::copy_in_pieces(from, buffer, pieces, filled) };
            })?;
        if sent {
            self.request.went(post.ticket);
        }
        Some(status(sent))
    }

    /// Announces a long message, which is bounced, or read where it is.
    fn send_long(&mut self, post: &Post<'_>, to: u32, (header, way): (Header, Protocol)) -> Status {
        let bounced = way == Protocol::Bounce;
        let descriptors = self.request.descriptors();
        let (ticket, entry) = (post.ticket, self.request.descriptors().entry(post.ticket));
        if !entry.descriptor.is_free() {
            // The message of the last call, or iteration, is bounced and not yet read.
            return Status::Pending;
        }
        let header = Header {
            bytes: size_of::<Offer>() as u16,
            kind: Kind::Rendezvous,
            ..header
        };
        let offer = Offer {
            entry: descriptors.entry_offset(ticket),
            bytes: post.bytes,
        };
        let request = &*self.request;
        let besides = request.besides(ticket);
        let sent = self.endpoint.send(to, header, |payload| {
            if bounced {
                descriptors.describe_bounced(ticket, post.bytes, besides);
                entry.descriptor.post(0);
            } else {
                // The call's memory stays as it is until the operation is done, which it is only when the message is
                // read, or the request is stopped, which takes it back. The ring's release passes all of this on.
                let iovecs = request.iovecs(post.source());
                descriptors.describe(ticket, (way, besides), iovecs);
                entry.descriptor.post(post.bytes as u64);
            }
            // SAFETY: a cell's payload has room for an offer and is aligned for it.
            unsafe { payload.cast::<Offer>().write(offer) };
        });
        if !sent {
            return Status::Pending;
        }
        if bounced {
            let oversubscribed = self.endpoint.segment().is_oversubscribed();
            let pieces = Pieces::of_bounce_buffer(post.bytes, oversubscribed, entry.protocol());
            // SAFETY: the call's own memory, of the length that was just described.
            unsafe { descriptors.fill(ticket, request.iovecs(post.source()), pieces) };
            self.endpoint.segment().wake(to);
        } else {
            self.request.set_posted(ticket);
        }
        self.request.went(ticket);
        // A bounced message needs the call's memory no more.
        status(bounced)
    }

    /// Whether the receiver has a message in its own memory: a thread everywhere, a process in the arena.
    fn is_reachable(&self, post: &Post<'_>) -> bool {
        let arena = self.endpoint.segment().arena();
        let inside = |iovec: Iovec| arena.offset_of(iovec.address, iovec.bytes).is_some();
        !arena.is_shared() || self.request.iovecs(post.source()).all(inside)
    }

    /// What has become of a message that its receiver reads from the call's memory.
    fn posted(&mut self, post: &Post<'_>, to: u32) -> Status {
        let ticket = post.ticket;
        if self.request.is_read(ticket) {
            return Status::Done;
        }
        let descriptors = self.request.descriptors();
        let entry = descriptors.entry(ticket);
        let descriptor = &entry.descriptor;
        let is_to_all = entry.assist.is_to_all();
        if (self.request.is_idle(ticket) || is_to_all)
            && let Some(piece) = entry.assist.take_to_assist(post.bytes)
        {
            self.assist(post, entry, piece);
            while is_to_all && let Some(piece) = entry.assist.take_to_assist(post.bytes) {
                self.assist(post, entry, piece);
            }
        } else if descriptor.is_refused() {
            self.endpoint.segment().forbid_attaching();
            let besides = self.request.besides(ticket);
            descriptors.describe_bounced(ticket, post.bytes, besides);
            descriptor.post(0);
            let oversubscribed = self.endpoint.segment().is_oversubscribed();
            // SAFETY: the call's own memory, of the length that was just described.
            unsafe {
                descriptors.fill(
                    ticket,
                    self.request.iovecs(post.source()),
                    Pieces::of_bounce_buffer(post.bytes, oversubscribed, entry.protocol()),
                )
            };
            self.endpoint.segment().wake(to);
        }
        Status::Pending
    }

    /// Copies a piece of a message to where its receiver, who asked for it, wants it.
    #[cold]
    fn assist(&self, post: &Post<'_>, entry: &Entry, piece: Piece) {
        let Piece { start, bytes, .. } = piece;
        let mut iovecs = self
            .request
            .iovecs(post.source())
            .filter(|iovec| iovec.bytes > 0);
        let whole = iovecs
            .next()
            .expect("a receiver asks for a message with an iovec");
        let (from, segment) = (whole.piece(start, bytes), self.endpoint.segment());
        let arena = segment.arena();
        let (into, process) = match piece.target {
            Target::Memory { place, process } => (
                Found::at(arena, place, post.bytes).piece(start, bytes),
                process,
            ),
            Target::BounceBuffers => {
                let bounce_buffer = entry.bounced(arena, piece.bounce_buffer, from.bytes);
                (
                    Found::Here(bounce_buffer.expect("a receiver asks only where there is one")),
                    0,
                )
            }
        };
        let outcome = match into {
            // SAFETY: the message is the call's own memory until its receiver is done with it; the piece where it goes is
            // ours until we say that it is copied, and as long.
            Found::Here(iovec) => unsafe {
                iovec::copy_iovec(from, iovec);
                Outcome::All
            },
            // SAFETY: as above.
            Found::There(iovec) => unsafe { cross_memory_attach::store(process, from, iovec) },
        };
        if outcome != Outcome::All {
            segment.forbid_assisting();
        }
        entry.assist.done(outcome == Outcome::All);
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
        if !self.request.may_go(post.ticket) {
            return Ok(Status::Pending);
        }
        let request = &*self.request;
        let sink = || {
            let into = request.iovecs(post.target());
            match side {
                None => Sink::copy(into),
                Some(side) => {
                    Sink::reduce(into, request.iovecs(post.source()), request.combine(), side)
                }
            }
        };
        let received = self
            .endpoint
            .receive(request, from, channel, post.bytes, sink)?;
        if received {
            self.request.went(post.ticket);
        }
        Ok(status(received))
    }
}
