//! Receiving: how a message that has come meets its receive, and how its bytes get there.

use crate::element::TypeSignature;
use crate::transport::TransportError;
use crate::transport::endpoint::point_to_point::matching::{Envelope, Wanted};
use crate::transport::endpoint::point_to_point::message_error::{Failure, MessageError};
use crate::transport::endpoint::point_to_point::request::{Receive, Received, Receiving, Request};
use crate::transport::endpoint::point_to_point::send::Announcement;
use crate::transport::endpoint::point_to_point::state::{Arrived, PointToPoint};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::memory::cross_memory_attach::{self, Outcome};
use crate::transport::shm::memory::iovec::Iovec;
use crate::transport::shm::protocol::message_descriptors::{Offered, OfferedPart};
use crate::transport::shm::protocol::send_descriptors::Found;
use crate::transport::shm::queue::ring::{Header, Kind};
use crate::transport::shm::rendezvous::descriptor::Asked;
use std::sync::Arc;

impl PointToPoint {
    /// Posts a receive; the number of its request.
    ///
    /// # Safety
    /// Its memory is writable, and nobody else touches it, until the request has ended, or for ever.
    pub(crate) unsafe fn receive(
        &mut self,
        endpoint: &Endpoint,
        receive: Receive,
    ) -> Result<usize, TransportError> {
        let wanted = receive.wanted;
        self.make_contact(endpoint, wanted.source)?;
        self.forget_withdrawn(wanted)?;
        let number = self.requests.keep(Request::Receive(receive));
        if let Some((envelope, message)) = self.matching.post(wanted, number) {
            self.meet(endpoint, number, envelope, message)?;
        }
        Ok(number)
    }

    /// Forgets messages that their senders have taken back, of those that such a receive would meet first.
    pub(super) fn forget_withdrawn(&mut self, wanted: Wanted) -> Result<(), TransportError> {
        while let Some((_, Arrived::Offered(line))) = self.matching.probe(wanted) {
            // SAFETY: as in `discard`.
            let offered = unsafe { Offered::at(self.segment.arena(), *line) };
            if !offered.descriptor.is_revoked() {
                break;
            }
            if let Some((envelope, _)) = self.matching.take(wanted) {
                self.give_back(envelope.source, 0)?;
            }
        }
        Ok(())
    }

    /// The first message that is here and such a receive would meet.
    pub(crate) fn probe(&self, wanted: Wanted) -> Option<Received> {
        let (found, _) = self.matching.probe(wanted)?;
        Some(Received {
            rank: self.name(found.source),
            tag: found.tag,
            bytes: found.bytes as usize,
        })
    }

    /// Takes everything out of the own mailbox.
    pub(super) fn empty_mailbox(&mut self, endpoint: &Endpoint) -> Result<(), TransportError> {
        let segment = Arc::clone(&self.segment);
        let Some(mailbox) = segment.mailbox(self.rank) else {
            return Ok(());
        };
        let before = self.position;
        loop {
            // SAFETY: a rank has one of these, used by one thread at a time, so it is the one consumer; the payload is used only
            // until the release.
            let front =
                unsafe { mailbox.front(self.position, |header, payload| (header, payload)) };
            let Some((header, payload)) = front else {
                break;
            };
            let arrived = self.arrive(endpoint, &header, payload);
            // SAFETY: shown just now.
            unsafe { mailbox.release(&mut self.position) };
            arrived?;
        }
        if self.position != before {
            segment.wake_stalled(mailbox);
        }
        Ok(())
    }

    /// Gives a message of this node to its receive, or keeps it.
    fn arrive(
        &mut self,
        endpoint: &Endpoint,
        header: &Header,
        payload: *const u8,
    ) -> Result<(), TransportError> {
        let mut envelope = Envelope {
            source: header.from.into(),
            tag: header.call as u32,
            element: header.signature,
            bytes: header.bytes.into(),
        };
        if header.kind == Kind::Eager {
            // SAFETY: a payload has as many bytes as its header says, which its sender wrote.
            let bytes = unsafe { std::slice::from_raw_parts(payload, header.bytes.into()) };
            return self.take_eager(envelope, bytes);
        }
        // SAFETY: the payload of this kind is an announcement, which its sender wrote.
        let Announcement { line, bytes } = unsafe { payload.cast::<Announcement>().read() };
        envelope.bytes = bytes;
        match self.matching.arrive(&envelope) {
            Some(number) => self.meet(endpoint, number, envelope, Arrived::Offered(line)),
            None => {
                self.matching.keep(envelope, Arrived::Offered(line));
                Ok(())
            }
        }
    }

    /// Gives a message that came with its bytes to its receive, or keeps a copy.
    pub(super) fn take_eager(
        &mut self,
        envelope: Envelope,
        bytes: &[u8],
    ) -> Result<(), TransportError> {
        match self.matching.arrive(&envelope) {
            Some(number) => {
                self.give_back(envelope.source, bytes.len())?;
                self.end_eager(number, envelope, bytes);
            }
            None => self.matching.keep(envelope, Arrived::Eager(bytes.into())),
        }
        Ok(())
    }

    /// Copies a message to where its receive wants it.
    fn end_eager(&mut self, number: usize, envelope: Envelope, bytes: &[u8]) {
        let Some(receive) = self.requests.receive(number) else {
            return;
        };
        let room = receive.room;
        let how = self.fits(number, envelope);
        if how.is_ok() {
            // SAFETY: the receive's memory is writable, as its owner promised, and as long as the message at least.
            unsafe {
                bytes
                    .as_ptr()
                    .copy_to_nonoverlapping(room.address, bytes.len())
            };
        }
        self.end(number, how.map_err(Failure::from));
    }

    /// What a message is to its receive, if this has room for it and wants such elements.
    pub(super) fn fits(
        &mut self,
        number: usize,
        envelope: Envelope,
    ) -> Result<Received, MessageError> {
        let Envelope {
            source,
            tag,
            element,
            bytes,
        } = envelope;
        let (rank, from) = (self.own_name() as usize, self.name(source) as usize);
        let (wanted, room) = match self.requests.receive(number) {
            Some(receive) => (receive.element, receive.room.bytes),
            None => (element, 0),
        };
        let [sent, wanted] = [element, wanted].map(TypeSignature::from_code);
        if sent != wanted {
            return Err(MessageError::ElementsDiffer {
                rank,
                from,
                tag,
                sent,
                wanted,
            });
        }
        let elements = |bytes: usize| bytes / wanted.bytes().max(1);
        if bytes > room as u64 {
            return Err(MessageError::TooLong {
                rank,
                from,
                tag,
                sent: elements(bytes as usize),
                room: elements(room),
            });
        }
        Ok(Received {
            rank: from as u32,
            tag,
            bytes: bytes as usize,
        })
    }

    /// Begins to give a message to the receive that it has met.
    pub(super) fn meet(
        &mut self,
        endpoint: &Endpoint,
        number: usize,
        envelope: Envelope,
        message: Arrived,
    ) -> Result<(), TransportError> {
        let eager_bytes = match &message {
            Arrived::Eager(bytes) => bytes.len(),
            Arrived::Offered(_) | Arrived::Announced(_) | Arrived::Sent { .. } => 0,
        };
        self.give_back(envelope.source, eager_bytes)?;
        match message {
            Arrived::Eager(bytes) => {
                self.end_eager(number, envelope, &bytes);
                self.return_credit(endpoint, envelope.source)
            }
            Arrived::Offered(line) => {
                if let Err(error) = self.fits(number, envelope) {
                    self.discard(envelope.source, line);
                    self.end(number, Err(error.into()));
                    return Ok(());
                }
                if let Some(receive) = self.requests.receive(number) {
                    receive.state = Receiving::Reading { envelope, line };
                }
                if !self.read(endpoint, number)? {
                    self.reading.push(number);
                }
                Ok(())
            }
            Arrived::Sent {
                lane,
                is_taken_back,
            } => self.take_unasked(endpoint, number, (envelope, lane), is_taken_back),
            Arrived::Announced(announced) => {
                let fits = self.fits(number, envelope);
                self.want(endpoint, number, (envelope, announced), fits.is_ok())?;
                if let Err(error) = fits {
                    self.end(number, Err(error.into()));
                }
                Ok(())
            }
        }
    }

    /// Tells the sender of an offered message that it is done with.
    fn discard(&self, source: u32, line: u64) {
        // SAFETY: a sender's line stays until its message was read, and, if it was taken back, for ever.
        let offered = unsafe { Offered::at(self.segment.arena(), line) };
        if let Asked::Granted(claim) = offered.descriptor.claim() {
            drop(claim);
        }
        self.segment.wake(source);
    }

    /// Takes the receives further that read.
    pub(super) fn read_on(&mut self, endpoint: &Endpoint) -> Result<(), TransportError> {
        let mut at = 0;
        while let Some(number) = self.reading.get(at).copied() {
            match self.read(endpoint, number)? {
                true => _ = self.reading.swap_remove(at),
                false => at += 1,
            }
        }
        Ok(())
    }

    /// Reads what is offered of a message; whether that was all.
    fn read(&mut self, endpoint: &Endpoint, number: usize) -> Result<bool, TransportError> {
        let segment = Arc::clone(&self.segment);
        let Some(receive) = self.requests.receive(number) else {
            return Ok(true);
        };
        let (room, Receiving::Reading { envelope, line }) = (receive.room, &receive.state) else {
            return Ok(true);
        };
        let (envelope, source) = (*envelope, envelope.source);
        // SAFETY: as in `discard`.
        let offered = unsafe { Offered::at(segment.arena(), *line) };
        let claim = match offered.descriptor.claim() {
            Asked::Granted(claim) => claim,
            Asked::NotYet => return Ok(false),
            Asked::Revoked => {
                let rank = self.name(source);
                self.end(number, Err(TransportError::CallDropped { rank }.into()));
                return Ok(true);
            }
        };
        let part = offered.part(segment.arena());
        let into = Iovec {
            address: room.address.wrapping_add(part.start),
            bytes: part.bytes,
        };
        assert!(
            part.start as u64 + part.bytes as u64 <= envelope.bytes,
            "a part lies in its message"
        );
        match self.read_part(part, into) {
            Outcome::All if part.start + part.bytes == envelope.bytes as usize => {
                drop(claim);
                let how = self.fits(number, envelope);
                self.end(number, how.map_err(Failure::from));
                segment.wake(source);
                Ok(true)
            }
            // The next part, or all of it by way of a bounce buffer.
            Outcome::All | Outcome::Forbidden => {
                claim.refuse();
                segment.wake(source);
                Ok(false)
            }
            Outcome::Failed(errno) => {
                drop(claim);
                Err(endpoint.unreachable(source, errno))
            }
        }
    }

    /// Reads a part of a message to memory that is as long.
    fn read_part(&self, part: OfferedPart, into: Iovec) -> Outcome {
        let segment = &self.segment;
        let found = match part.found {
            // This rank's own memory, in its own process.
            Found::There(there) if part.process == segment.arena().process() => {
                let address = std::ptr::with_exposed_provenance_mut(there.address.addr());
                Found::Here(Iovec { address, ..there })
            }
            found => found,
        };
        match found {
            Found::Here(here) => {
                let from = here.address.cast_const();
                // SAFETY: the part is readable while it is claimed; the receive's memory is writable, as its owner promised, and
                // the message fits it.
                unsafe { segment.distance().copy(from, into.address, part.bytes) };
                Outcome::All
            }
            Found::There(_) if !segment.may_attach() => Outcome::Forbidden,
            Found::There(there) => {
                // SAFETY: as above.
                let outcome = unsafe { cross_memory_attach::fetch(part.process, there, into) };
                if outcome == Outcome::Forbidden {
                    segment.forbid_attaching();
                }
                outcome
            }
        }
    }
}
