//! Sending: how a message goes to a rank of this node, or is begun to another.

use crate::transport::TransportError;
use crate::transport::endpoint::point_to_point::credit::{BYTES_MOST, Total};
use crate::transport::endpoint::point_to_point::request::{Received, Request, Send, Sending};
use crate::transport::endpoint::point_to_point::state::PointToPoint;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::memory::arena::Block;
use crate::transport::shm::memory::iovec::Iovec;
use crate::transport::shm::protocol::message_descriptors::Offered;
use crate::transport::shm::queue::ring::{EAGER_BYTES, Header, Kind};
use std::sync::Arc;

/// The most of a message that is bounced at a time.
const BOUNCED_MOST: usize = 256 << 10;

/// What the payload of an announced message is.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Announcement {
    pub(super) line: u64,
    pub(super) bytes: u64,
}

impl PointToPoint {
    /// Begins to send a message; the number of its request, unless it is away at once.
    ///
    /// # Safety
    /// Its memory is readable, and nobody writes it, until the request has ended, or for ever.
    pub(crate) unsafe fn send(
        &mut self,
        endpoint: &Endpoint,
        send: Send,
    ) -> Result<Option<usize>, TransportError> {
        let to = send.to;
        let is_first = self.peers[to as usize].waiting.is_empty();
        if is_first && to < self.here && self.push_eager(&send)? {
            return Ok(None);
        }
        let number = self.requests.keep(Request::Send(send));
        self.peers[to as usize].waiting.push_back(number);
        if is_first {
            match self.send_waiting(endpoint, to) {
                Ok(true) => {}
                Ok(false) => self.waiting.push(to),
                Err(error) => {
                    self.fail(number, error.clone().into());
                    self.requests.take(number);
                    return Err(error);
                }
            }
        }
        if self.requests.has_ended(number) {
            self.requests.take(number);
            return Ok(None);
        }
        Ok(Some(number))
    }

    /// Sends what waits to a peer, as far as there is credit and room; whether nothing waits any more.
    pub(super) fn send_waiting(
        &mut self,
        endpoint: &Endpoint,
        to: u32,
    ) -> Result<bool, TransportError> {
        while let Some(number) = self.peers[to as usize].waiting.front().copied() {
            let has_gone = match to < self.here {
                true => self.send_here(number)?,
                false => self.send_frame(endpoint, number)?,
            };
            if !has_gone {
                return Ok(false);
            }
            self.peers[to as usize].waiting.pop_front();
        }
        Ok(true)
    }

    /// Sends a short message to a rank of this node, if there is credit and room.
    fn push_eager(&mut self, send: &Send) -> Result<bool, TransportError> {
        let (to, Iovec { address, bytes }) = (send.to, send.memory);
        if bytes > EAGER_BYTES || !self.may_send(to, Some(bytes)) {
            return Ok(false);
        }
        let header = self.header(send, Kind::Eager, bytes);
        let fill = |payload: *mut u8| {
            // SAFETY: the message is readable, as its sender promised, and a payload has room for so many bytes.
            unsafe { address.cast_const().copy_to_nonoverlapping(payload, bytes) };
        };
        // SAFETY: all bytes are written, which are no more than a payload has.
        let pushed = unsafe { self.segment.make_mailbox(to)?.push(header, fill) };
        if pushed {
            self.peers[to as usize].sent.send(bytes);
            self.segment.wake(to);
        }
        Ok(pushed)
    }

    /// Sends a message to a rank of this node, or announces it; whether there was credit and room.
    fn send_here(&mut self, number: usize) -> Result<bool, TransportError> {
        let Some(send) = self.requests.send(number) else {
            return Ok(true);
        };
        let (to, tag, element, memory) = (send.to, send.tag, send.element, send.memory);
        let Sending::Waiting { line } = send.state else {
            return Ok(true);
        };
        let send = Send {
            to,
            tag,
            element,
            memory,
            state: Sending::Waiting { line },
        };
        if line.is_none() && self.push_eager(&send)? {
            self.end_send(number);
            return Ok(true);
        }
        if !self.may_send(to, None) {
            return Ok(false);
        }
        let line = match line {
            Some(line) => line,
            None => self.offer(memory)?,
        };
        let header = self.header(&send, Kind::Rendezvous, size_of::<Announcement>());
        let bytes = memory.bytes as u64;
        let fill = |payload: *mut u8| {
            // SAFETY: a payload has room for this and is aligned for it.
            unsafe {
                payload
                    .cast::<Announcement>()
                    .write(Announcement { line, bytes })
            };
        };
        // SAFETY: the payload is written, and short.
        let pushed = unsafe { self.segment.make_mailbox(to)?.push(header, fill) };
        let state = match pushed {
            true => Sending::Offered {
                line,
                bounce_buffer: None,
                next: 0,
            },
            false => Sending::Waiting { line: Some(line) },
        };
        if let Some(send) = self.requests.send(number) {
            send.state = state;
        }
        if pushed {
            self.peers[to as usize].sent.send(0);
            self.offered.push(number);
            self.segment.wake(to);
        }
        Ok(pushed)
    }

    /// Offers memory by a line of its own.
    fn offer(&mut self, memory: Iovec) -> Result<u64, TransportError> {
        let line = self.descriptors.take()?;
        let arena = self.segment.arena();
        // SAFETY: a line of ours, which is free.
        unsafe { Offered::at(arena, line) }.offer(arena, 0, memory);
        Ok(line)
    }

    fn header(&self, send: &Send, kind: Kind, payload_bytes: usize) -> Header {
        Header {
            call: send.tag.into(),
            signature: send.element,
            bytes: payload_bytes as u16,
            channel: 0,
            from: self.rank as u16,
            kind,
        }
    }

    /// Whether there is credit for a message that goes with so many bytes, or is announced.
    pub(super) fn may_send(&mut self, to: u32, bytes: Option<usize>) -> bool {
        let credit = &mut self.peers[to as usize].sent;
        let admits = |credit: &crate::transport::endpoint::point_to_point::credit::SendCredit| {
            bytes.map_or_else(|| credit.admits(), |bytes| credit.admits_bytes(bytes))
        };
        // A peer of another node says it by itself.
        if admits(credit) || to >= self.here || bytes.is_some_and(|b| b as u64 > BYTES_MOST) {
            return admits(credit);
        }
        if let Some(returned) = self.segment.returned(to, self.rank) {
            let (messages, bytes) = returned.get();
            credit.learn(Total { messages, bytes });
        }
        admits(credit)
    }

    /// Ends a send whose message is away.
    pub(super) fn end_send(&mut self, number: usize) {
        if let Some(&mut Send {
            to, tag, memory, ..
        }) = self.requests.send(number)
        {
            let rank = self.name(to);
            let bytes = memory.bytes;
            self.end(number, Ok(Received { rank, tag, bytes }));
        }
    }

    /// Looks whether receivers have read what is offered to them, and bounces what they cannot reach.
    pub(super) fn look_at_offered(&mut self) -> Result<(), TransportError> {
        let mut at = 0;
        while let Some(number) = self.offered.get(at).copied() {
            match self.look_at_offer(number)? {
                true => _ = self.offered.swap_remove(at),
                false => at += 1,
            }
        }
        Ok(())
    }

    /// Whether an offered message was read.
    fn look_at_offer(&mut self, number: usize) -> Result<bool, TransportError> {
        let segment = Arc::clone(&self.segment);
        let Some(send) = self.requests.send(number) else {
            return Ok(true);
        };
        let Sending::Offered {
            line,
            bounce_buffer,
            next,
        } = &mut send.state
        else {
            return Ok(true);
        };
        // SAFETY: a line of ours.
        let offered = unsafe { Offered::at(segment.arena(), *line) };
        if offered.descriptor.is_done() {
            self.descriptors.give_back(*line);
            self.end_send(number);
            return Ok(true);
        }
        if offered.descriptor.is_refused() {
            let bounce_buffer = match bounce_buffer {
                Some(made) => made,
                None => {
                    let bytes = send.memory.bytes.min(BOUNCED_MOST);
                    bounce_buffer.insert(segment.arena().allocate(bytes)?)
                }
            };
            let from = send.memory.piece(*next, BOUNCED_MOST);
            let part = bounced(bounce_buffer, from);
            offered.offer(segment.arena(), *next, part);
            *next += part.bytes;
            segment.wake(send.to);
        }
        Ok(false)
    }
}

/// Copies a part of a message to where its receiver can read it.
fn bounced(bounce_buffer: &Block, from: Iovec) -> Iovec {
    let into = bounce_buffer.address();
    // SAFETY: the message is readable, as its sender promised; the bounce buffer is ours, as long as a part, and its receiver
    // has given it back by refusing the message.
    unsafe {
        from.address
            .cast_const()
            .copy_to_nonoverlapping(into, from.bytes)
    };
    Iovec {
        address: into,
        bytes: from.bytes,
    }
}
