//! Receiving: from a receive to the message that it is for.

use super::{Message, Rank};
use crate::transport::net::tcp::protocol::connection::Landing;
use crate::transport::net::tcp::protocol::frame::{Header, Kind};
use crate::transport::net::tcp::protocol::matching::{Destination, End, Incoming};
use crate::transport::net::tcp::protocol::memory::{Memory, Span};

impl<M: Memory> Rank<M> {
    /// Begins to receive a message from another rank of the job, with one of its tags, for a call with this signature.
    pub fn receive(&mut self, from: u32, tag: u32, into: Span, signature: u64) -> Message {
        let peer = &mut self.peers[from as usize];
        let at = peer
            .matching
            .post(&mut self.messages, from, tag, (into, signature));
        peer.receives += 1;
        let is_whole = self.messages.get(at).is_some_and(|m| m.is_whole);
        if is_whole {
            self.finish(at);
        } else {
            self.move_kept(at);
            self.grant_if_due(at);
            self.tend(from);
        }
        Message::Receive(at)
    }

    /// Moves what has landed of a message before its receive was posted to the memory of that, to which the rest goes at once.
    fn move_kept(&mut self, at: u32) {
        let Some(incoming) = self.messages.get_mut(at) else {
            return;
        };
        let length = incoming.length.unwrap_or(0);
        let Some(span) = incoming.span(0, length as usize) else {
            // It does not fit, or is another's, and goes on where it has begun to land.
            return;
        };
        let Some(kept) = incoming.kept.take() else {
            return;
        };
        self.report.moved += 1;
        let mut copy = |begin: u64, bytes: usize| {
            let begin = begin as usize;
            let landed = &kept[begin..begin + bytes];
            self.memory.write(span.part(begin, bytes), landed);
        };
        for (begin, end) in incoming.landed() {
            copy(*begin, (end - begin) as usize);
        }
        for connection in &self.peers[incoming.peer as usize].open {
            let connection = self.connections.get(*connection);
            if let Some(part) = connection.and_then(|it| it.inbound.part.as_ref())
                && part.landing == Landing::Message(at)
            {
                copy(part.header.offset, part.done);
            }
        }
        self.buffers.give(kept);
    }

    /// Whether a message is to be granted now: one that waits at its sender, or that will, and whose receive is here.
    fn is_grant_due(&self, incoming: &Incoming) -> bool {
        let peer = &self.peers[incoming.peer as usize];
        let most = self.settings.most_announced();
        // What may be granted before it is there, and what must be, as its sender can announce it no more.
        let may_be = !peer.open.is_empty() && peer.matching.granted_ahead() < most;
        let must_be = || peer.matching.announced() >= most;
        match incoming.destination {
            Destination::Memory(_) | Destination::Nowhere if incoming.length.is_some() => {
                !incoming.is_paid
            }
            // Unasked, as a long message would have to ask.
            Destination::Memory(span) => {
                let is_long = span.bytes > self.settings.eager_bytes as usize;
                may_be && (is_long || must_be())
            }
            Destination::Unknown | Destination::Nowhere => false,
        }
    }

    pub(super) fn grant_if_due(&mut self, at: u32) {
        let Some(incoming) = self.messages.get(at) else {
            return;
        };
        if incoming.is_granted || !self.is_grant_due(incoming) {
            return;
        }
        let (peer, (tag, number)) = (incoming.peer, incoming.key);
        if let Some(incoming) = self.messages.get_mut(at) {
            self.peers[peer as usize].matching.grant(incoming);
        }
        let header = Header {
            tag,
            number,
            ..Header::new(Kind::Grant)
        };
        self.queue(peer, &header);
    }

    /// Grants what could not be granted while there was no connection.
    pub(super) fn grant_all(&mut self, from: u32) {
        let under_way: Vec<u32> = self.peers[from as usize].matching.under_way().collect();
        under_way.into_iter().for_each(|at| self.grant_if_due(at));
    }

    /// Completes a message that is whole, if its receive is here or nobody wants it.
    pub(super) fn finish(&mut self, at: u32) {
        let Some(incoming) = self.messages.get_mut(at) else {
            return;
        };
        let (peer, cost) = (incoming.peer, incoming.cost());
        let is_paid = incoming.is_paid;
        match incoming.destination {
            Destination::Unknown => {
                self.report.unexpected += 1;
                return;
            }
            Destination::Memory(_) => {
                let length = incoming.length.unwrap_or(0) as usize;
                let span = incoming.span(0, length);
                if let (Some(kept), Some(span)) = (incoming.kept.take(), span) {
                    self.memory.write(span, &kept);
                    self.buffers.give(kept);
                }
                incoming.end = Some(match span {
                    _ if incoming.differs() => End::Differs,
                    Some(_) => End::Whole(length),
                    None => End::TooLong,
                });
                self.peers[peer as usize].receives -= 1;
            }
            Destination::Nowhere => self.forget(Message::Receive(at), peer),
        }
        if is_paid {
            self.return_credit(peer, cost);
        }
    }

    /// Gives credit back, and says so if it is worth a frame.
    pub(super) fn return_credit(&mut self, peer: u32, cost: u64) {
        if let Some(number) = self.peers[peer as usize].give_back(cost, &self.settings) {
            let header = Header {
                number,
                ..Header::new(Kind::Credit)
            };
            self.queue(peer, &header);
        }
    }

    /// Ends a receive that is not wanted any more.
    pub(super) fn cancel_receive(&mut self, at: u32) {
        let Some(incoming) = self.messages.get(at) else {
            return;
        };
        let (peer, is_over) = (incoming.peer, incoming.end.is_some());
        let is_lost = self.peers[peer as usize].loss().is_some();
        if !is_over {
            self.peers[peer as usize].receives -= 1;
        }
        if is_over || is_lost {
            return self.forget(Message::Receive(at), peer);
        }
        let matching = &mut self.peers[peer as usize].matching;
        matching.cancel(&mut self.messages, at, &mut self.buffers);
        // What waits at its sender comes, and goes nowhere.
        self.grant_if_due(at);
    }
}
