//! Receiving: how an endpoint finds the message that is expected, puts others aside, and reads long ones where they are.

use crate::transport::endpoint::exchange::expected::Expected;
use crate::transport::endpoint::message::begun::Begun;
use crate::transport::endpoint::message::offer::Offer;
use crate::transport::endpoint::message::unexpected::{Content, Unexpected};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::endpoint::state::request::RequestState;
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::cross_memory_attach::Outcome;
use crate::transport::shm::memory::iovec::{Iovec, Sink};
use crate::transport::shm::protocol::copy_protocol::LongMessage;
use crate::transport::shm::protocol::send_descriptors::Entry;
use crate::transport::shm::queue::buffers::{Part, Pipelined};
use crate::transport::shm::queue::inbox::Inbox;
use crate::transport::shm::queue::ring::{Header, Kind, Ring};
use crate::transport::shm::rendezvous::descriptor::Asked;
use crate::transport::shm::segment::shared_segment::Carrier;
use crate::transport::{AlignedBytes, TransportError};
use std::sync::Arc;

/// A message at the front of a ring.
struct Message {
    iovec: Iovec,
    part: Part,
    holder: Holder,
}

/// What a message is in.
#[derive(Clone, Copy)]
enum Holder {
    Cell,
    /// The medium buffer of this code.
    Medium(u64),
    /// A pipeline buffer.
    Pipelined(Pipelined),
}

impl Endpoint {
    /// Gives the next message from `from` on `channel` for the request's call to `sink`; `false` if it is not
    /// there yet. Messages for others are put aside.
    #[inline]
    pub(crate) fn receive<I: Iterator<Item = Iovec>>(
        &mut self,
        request: &RequestState,
        from: u32,
        channel: u16,
        bytes: usize,
        sink: impl Fn() -> Sink<I>,
    ) -> Result<bool, TransportError> {
        let expected = Expected {
            request,
            from,
            channel,
            bytes,
            is_one_of_several: false,
        };
        self.receive_expected(&expected, sink)
    }

    /// As [`Endpoint::receive`], of a message that others are received with: a long one is not here yet, but among those that
    /// are `begun`.
    pub(crate) fn receive_or_begin<I: Iterator<Item = Iovec>>(
        &mut self,
        request: &RequestState,
        (from, channel, bytes): (u32, u16, usize),
        sink: impl Fn() -> Sink<I>,
        begun: &mut Vec<Begun>,
    ) -> Result<bool, TransportError> {
        let expected = Expected {
            request,
            from,
            channel,
            bytes,
            is_one_of_several: true,
        };
        let received = self.receive_expected(&expected, sink)?;
        begun.extend(self.asked.take());
        Ok(received)
    }

    #[inline]
    fn receive_expected<I: Iterator<Item = Iovec>>(
        &mut self,
        expected: &Expected<'_>,
        sink: impl Fn() -> Sink<I>,
    ) -> Result<bool, TransportError> {
        let from = expected.from;
        if !self.unexpected[from as usize].is_empty()
            && let Some(received) = self.receive_put_aside(expected, &sink)?
        {
            return Ok(received);
        }
        let segment = Arc::as_ptr(&self.segment);
        // SAFETY: `self` holds the segment for longer than this function runs.
        match unsafe { &*segment }.link(from, self.rank) {
            Carrier::Ring(ring) => self.receive_from_ring(expected, ring, &sink),
            Carrier::Inbox(inbox) => {
                self.empty_inbox(inbox)?;
                Ok(self.receive_put_aside(expected, &sink)?.unwrap_or(false))
            }
        }
    }

    #[inline]
    fn receive_from_ring<I: Iterator<Item = Iovec>>(
        &mut self,
        expected: &Expected<'_>,
        ring: &Ring,
        sink: &impl Fn() -> Sink<I>,
    ) -> Result<bool, TransportError> {
        let from = expected.from;
        loop {
            let side = &self.received[from as usize];
            // SAFETY: a rank has one endpoint, used by one thread at a time, so it is the one consumer; its
            // side is what earlier releases left. The payload is used only until the release.
            let front = unsafe { ring.front(side, |header, payload| (header, payload)) };
            let Some((header, payload)) = front else {
                return Ok(false);
            };
            let message = self.find(ring, from, &header, payload);
            if !expected.is(&header) {
                self.take_aside(ring, from, (header, message))?;
                continue;
            }
            self.agree(expected.request, from, &header)?;
            if header.kind != Kind::Rendezvous {
                self.fits(expected, message.part.of, sink)?;
                match message.holder {
                    Holder::Medium(_) => self.read_medium(ring, from, message.iovec, sink())?,
                    Holder::Pipelined(buffer) => {
                        self.read_pipelined(expected, (message.iovec, buffer), sink());
                    }
                    // SAFETY: a payload is readable until its release and aligned for elements; the sink's memory is the
                    // call's own, and its extents are whole elements.
                    Holder::Cell => unsafe {
                        sink().feed(message.iovec, expected.request.distance);
                    },
                }
                self.release(ring, from, &header, message.holder);
                if !message.part.is_last() {
                    continue;
                }
                return Ok(true);
            }
            // SAFETY: the payload of this kind is an offer, which its sender wrote.
            let offer = unsafe { payload.cast::<Offer>().read() };
            self.release(ring, from, &header, Holder::Cell);
            let received = self.claim(expected, offer, sink)?;
            if !received {
                let content = Content::Rendezvous(offer);
                self.unexpected[from as usize].push_front(Unexpected { header, content });
            }
            return Ok(received);
        }
    }

    /// Reads a part of a message that has come in a pipeline buffer.
    fn read_pipelined<I: Iterator<Item = Iovec>>(
        &mut self,
        expected: &Expected<'_>,
        (iovec, buffer): (Iovec, Pipelined),
        sink: Sink<I>,
    ) {
        let Pipelined { part, entry, .. } = buffer;
        let is_exchanged = entry == 0;
        let whole = LongMessage {
            bytes: part.of,
            combined: !sink.copies(),
            exchanged: true,
            copied: expected.request.copies_what_goes_to(expected.from),
            alone: true,
        };
        if !is_exchanged && part.start == 0 {
            self.begin_parts(expected, (entry, part), whole.combined);
        }
        // SAFETY: a part is readable until its release and aligned for elements; the sink's memory is the call's own, and its
        // extents are whole elements.
        unsafe {
            sink.behind(part.start)
                .feed(iovec, expected.request.distance);
        };
        match part.is_last() {
            true if is_exchanged => self.end_pipelined(expected.request, expected.from, whole),
            true => self.end_parts(expected.from),
            false => {}
        }
    }

    /// Puts the message aside that a ring shows.
    fn take_aside(
        &mut self,
        ring: &Ring,
        from: u32,
        (header, message): (Header, Message),
    ) -> Result<(), TransportError> {
        if header.kind == Kind::Medium {
            self.await_medium(ring, from, message.iovec.bytes)?;
        }
        self.put_aside(header, (message.iovec, message.part))?;
        self.release(ring, from, &header, message.holder);
        Ok(())
    }

    /// Puts aside what `from` has sent for other calls than the request's: it may be ahead there, with all the pipeline buffers that
    /// this call waits for.
    #[cold]
    pub(crate) fn make_way(
        &mut self,
        request: &RequestState,
        from: u32,
    ) -> Result<(), TransportError> {
        let segment = Arc::clone(&self.segment);
        let Carrier::Ring(ring) = segment.link(from, self.rank) else {
            return Ok(());
        };
        loop {
            let side = &self.received[from as usize];
            // SAFETY: as in `receive_from_ring`.
            let front = unsafe { ring.front(side, |header, payload| (header, payload)) };
            match front {
                Some((header, payload)) if header.call != request.call => {
                    let message = self.find(ring, from, &header, payload);
                    self.take_aside(ring, from, (header, message))?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Gives the expected message to `sink` if it was put aside; `Some(false)` if it is there and cannot be read yet.
    fn receive_put_aside<I: Iterator<Item = Iovec>>(
        &mut self,
        expected: &Expected<'_>,
        sink: &impl Fn() -> Sink<I>,
    ) -> Result<Option<bool>, TransportError> {
        let from = expected.from;
        loop {
            let queue = &self.unexpected[from as usize];
            let Some(at) = queue.iter().position(|m| expected.is(&m.header)) else {
                return Ok(None);
            };
            let Unexpected { header, content } = &queue[at];
            self.agree(expected.request, from, header)?;
            let (received, is_last) = match content {
                Content::Eager(kept, part) => {
                    let payload = Iovec {
                        address: kept.address(),
                        bytes: kept.len(),
                    };
                    self.fits(expected, part.of, sink)?;
                    // SAFETY: as for a payload in its cell.
                    unsafe { sink().behind(part.start).feed(payload, Distance::Near) };
                    (true, part.is_last())
                }
                Content::Rendezvous(offer) => {
                    let offer = *offer;
                    (self.claim(expected, offer, sink)?, true)
                }
            };
            if received {
                self.unexpected[from as usize].remove(at);
            }
            if is_last {
                return Ok(Some(received));
            }
        }
    }

    /// Puts everything aside that has come to our inbox.
    fn empty_inbox(&mut self, inbox: &Inbox) -> Result<(), TransportError> {
        loop {
            // SAFETY: as for a ring.
            let front = unsafe { inbox.front(self.taken, |header, payload| (header, payload)) };
            let Some((header, payload)) = front else {
                return Ok(());
            };
            let message = Iovec {
                address: payload.cast_mut(),
                bytes: header.bytes as usize,
            };
            self.put_aside(header, (message, Part::whole(message.bytes)))?;
            // SAFETY: shown just now.
            unsafe { inbox.release(&mut self.taken) };
        }
    }

    fn put_aside(
        &mut self,
        header: Header,
        (message, part): (Iovec, Part),
    ) -> Result<(), TransportError> {
        let from = u32::from(header.from);
        let mine = self.segment.record(self.rank).chain(header.call);
        if mine.is_some_and(|mine| mine != header.signature) {
            return Err(self.differs(from, header.call));
        }
        let content = match header.kind {
            Kind::Eager | Kind::Medium | Kind::Pipelined => {
                let kept = AlignedBytes::zeroed(message.bytes);
                let from = message.address.cast_const();
                // SAFETY: the message has this many bytes, and `kept` is new and as long.
                unsafe { from.copy_to_nonoverlapping(kept.address(), kept.len()) };
                Content::Eager(kept, part)
            }
            Kind::Rendezvous => {
                // SAFETY: the payload of this kind is an offer, which its sender wrote.
                Content::Rendezvous(unsafe { message.address.cast::<Offer>().read() })
            }
        };
        self.unexpected[from as usize].push_back(Unexpected { header, content });
        Ok(())
    }

    /// Where a message lies that the ring from `from` shows.
    #[inline]
    fn find(&self, ring: &Ring, from: u32, header: &Header, payload: *const u8) -> Message {
        let at = |address: *const u8, bytes, holder| Message {
            iovec: Iovec {
                address: address.cast_mut(),
                bytes,
            },
            part: Part::whole(bytes),
            holder,
        };
        let bytes = header.bytes as usize;
        match header.kind {
            Kind::Eager | Kind::Rendezvous => at(payload, bytes, Holder::Cell),
            Kind::Medium => {
                let Carrier::Ring(back) = self.segment.link(self.rank, from) else {
                    unreachable!("two ranks have rings both ways, or none");
                };
                // SAFETY: the payload was just shown, of this kind; its medium buffer is used only until the release.
                let (code, buffer) = unsafe { ring.read_medium(back, payload, |at| at) };
                at(buffer, bytes, Holder::Medium(code))
            }
            Kind::Pipelined => {
                // SAFETY: the payload of this kind is this, which its sender wrote.
                let buffer = unsafe { payload.cast::<Pipelined>().read() };
                let address = self.segment.arena().at(buffer.offset);
                let holder = Holder::Pipelined(buffer);
                Message {
                    part: buffer.part,
                    ..at(address, buffer.part.bytes, holder)
                }
            }
        }
    }

    /// Gives the message in a medium buffer, which is next in the ring from `from`, to `sink`, as it comes.
    ///
    /// # Errors
    /// Whatever stops the communicator, as its sender does not write on; the message is still there then.
    pub(crate) fn take_medium<I: Iterator<Item = Iovec>>(
        &mut self,
        ring: &Ring,
        from: u32,
        (header, payload): (&Header, *const u8),
        sink: Sink<I>,
    ) -> Result<(), TransportError> {
        let message = self.find(ring, from, header, payload);
        self.read_medium(ring, from, message.iovec, sink)?;
        self.release(ring, from, header, message.holder);
        Ok(())
    }

    #[inline]
    fn release(&mut self, ring: &Ring, from: u32, header: &Header, holder: Holder) {
        let (side, kind) = (&mut self.sent[from as usize], header.kind);
        match holder {
            Holder::Cell => {}
            // SAFETY: read, by the one consumer of the ring.
            Holder::Medium(code) => unsafe { ring.release_medium(side, code) },
            Holder::Pipelined(buffer) => {
                let Carrier::Ring(own) = self.segment.link(self.rank, from) else {
                    unreachable!("two ranks have rings both ways, or none");
                };
                let (ours, theirs) = (&own.pipeline_buffers_back, &ring.pipeline_buffers_back);
                side.pipeline_buffers
                    .keep_or_hand_back(buffer.offset, ours, theirs);
                if buffer.entry > 0 && buffer.part.is_last() {
                    // The sender, who begins its next message as soon as it sees this, is to find all pipeline buffers then.
                    // SAFETY: a sender's send descriptors live until their messages are read.
                    unsafe { Entry::at(self.segment.arena(), buffer.entry) }
                        .descriptor
                        .read_by_parts();
                }
            }
        }
        let side = &mut self.received[from as usize];
        // SAFETY: as in `receive`, which was shown the message. A sender that found the ring full is woken when it can see
        // free cells.
        if unsafe { ring.release(side, kind) } {
            self.segment.wake(from);
        }
    }

    /// Reads a long message from where its sender has it, and tells the sender; `false` if it must be bounced first.
    fn claim<I: Iterator<Item = Iovec>>(
        &mut self,
        expected: &Expected<'_>,
        offer: Offer,
        sink: &impl Fn() -> Sink<I>,
    ) -> Result<bool, TransportError> {
        let from = expected.from;
        self.fits(expected, offer.bytes, sink)?;
        let segment = Arc::clone(&self.segment);
        // SAFETY: a sender's send descriptors live until their messages are read, and, if one was taken back, for ever.
        let entry = unsafe { Entry::at(segment.arena(), offer.entry) };
        let claim = match entry.descriptor.claim() {
            Asked::Granted(claim) => claim,
            Asked::NotYet => return Ok(false),
            Asked::Revoked => {
                let (call, fault) = (expected.request.call, Fault::Dropped { rank: from });
                return Err(self.segment.poison_from(call, self.rank, fault));
            }
        };
        if expected.is_one_of_several {
            self.asked = Begun::new(&segment, from, offer.entry, &mut sink());
            if self.asked.is_some() {
                claim.keep();
                return Ok(true);
            }
        }
        match self.read(expected.request, from, entry, &claim, sink()) {
            Outcome::All => drop(claim),
            Outcome::Forbidden => {
                claim.refuse();
                self.segment.wake(from);
                return Ok(false);
            }
            Outcome::Failed(errno) => {
                drop(claim);
                return Err(self.unreachable(from, errno));
            }
        }
        self.segment.wake(from);
        Ok(true)
    }
}
