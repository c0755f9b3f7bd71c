//! Sending: from a message to frames on connections.

use super::{Message, Rank};
use crate::transport::net::tcp::protocol::buffers::Buffer;
use crate::transport::net::tcp::protocol::frame::{Header, Kind, NOTICE_BYTES};
use crate::transport::net::tcp::protocol::frames::{Frame, Outgoing, Payload};
use crate::transport::net::tcp::protocol::matching::{End, KEPT_BYTES};
use crate::transport::net::tcp::protocol::memory::{Memory, Span};
use crate::transport::net::tcp::protocol::peer::{LostPeer, Presence};
use crate::transport::net::tcp::protocol::stripe::part_bytes;

impl<M: Memory> Rank<M> {
    /// Begins to send a message to another rank of the job, with one of its tags.
    ///
    /// # Errors
    /// If that rank is lost.
    pub fn send(
        &mut self,
        to: u32,
        tag: u32,
        span: Span,
        signature: u64,
    ) -> Result<Message, LostPeer> {
        let peer = &mut self.peers[to as usize];
        if let Some(loss) = peer.loss() {
            return Err(LostPeer { rank: to, loss });
        }
        let key = (tag, peer.next_number(tag));
        let was_granted = peer.grants.remove(&key).is_some();
        let cost = span.bytes as u64 + KEPT_BYTES;
        let is_short = span.bytes <= self.settings.eager_bytes as usize;
        let kind = if is_short && peer.has_credit(cost, &self.settings) {
            peer.credit.spent += cost;
            Some(Kind::Eager)
        } else {
            was_granted.then_some(Kind::Granted)
        };
        Ok(self.begin_send(Outgoing::new(to, key, (span, signature), kind)))
    }

    /// Whether a message of so many bytes would go now without a grant. A quarter of the credit is left to others: what a program has
    /// not received for long is in the way neither of short messages nor of those of calls.
    #[must_use]
    pub fn goes_unasked(&self, to: u32, bytes: usize) -> bool {
        let reserve = u64::from(self.settings.unexpected_bytes) / 4;
        let cost = bytes as u64 + KEPT_BYTES + reserve;
        bytes <= self.settings.eager_bytes as usize
            && self.peers[to as usize].has_credit(cost, &self.settings)
    }

    /// Lets a message go, or a put, as far as it may.
    pub(super) fn begin_send(&mut self, send: Outgoing) -> Message {
        let (to, kind, bytes) = (send.peer, send.kind, send.span.bytes);
        let at = self.sends.insert(send);
        let is_in_line = self.stand_in_line(at, kind);
        match kind {
            Some(kind) if bytes <= self.settings.copied_bytes as usize => {
                self.send_copy(to, at, kind);
            }
            Some(kind) if !is_in_line => self.begin_cutting(at, kind),
            Some(_) => {}
            None => self.announce(to, at),
        }
        if is_in_line {
            self.advance_line(false);
        }
        self.tend(to);
        self.schedule(to);
        Message::Send(at)
    }

    /// Sends a copy of a short message, which ends by that: in parts, where rails are so slow that it gains by them.
    fn send_copy(&mut self, to: u32, at: u32, kind: Kind) {
        while let Some(send) = self.sends.get(at).filter(|send| !send.is_cut) {
            let left = send.left_bytes() as u64;
            // A shorter one cannot be cut, and is given to the best way with its frame.
            let is_long = left >= 2 * self.settings.least_part_bytes();
            let part = is_long.then(|| self.next_part_to(to, left, u64::MAX));
            let part = part.flatten().filter(|(_, bytes)| *bytes < left);
            let Some(send) = self.sends.get_mut(at) else {
                return;
            };
            let mut frame = send.cut(at, kind, part.map_or(usize::MAX, |part| part.1 as usize));
            frame.keep(&self.memory, &mut self.buffers);
            send.end = Some(End::Whole(send.span.bytes));
            match part {
                Some((connection, _)) => self.push(connection, frame),
                None => self.peers[to as usize].queue.push_back(frame),
            }
        }
    }

    /// Has a message wait for its grant.
    fn announce(&mut self, to: u32, at: u32) {
        let Some(send) = self.sends.get(at) else {
            return;
        };
        let peer = &mut self.peers[to as usize];
        peer.waiting.insert(send.key, at);
        peer.held.push_back(at);
        self.report.waited += 1;
        self.announce_next(to);
    }

    /// Says what waits here, as much as may be said.
    pub(super) fn announce_next(&mut self, to: u32) {
        while self.peers[to as usize].announced < self.settings.most_announced() {
            let Some(at) = self.peers[to as usize].held.pop_front() else {
                return;
            };
            self.say_ready(to, at);
        }
    }

    /// Says that a message waits here, unless it does not any more.
    fn say_ready(&mut self, to: u32, at: u32) {
        let waits = |send: &&mut Outgoing| {
            send.peer == to && send.kind.is_none() && !send.is_announced && send.end.is_none()
        };
        let Some(send) = self.sends.get_mut(at).filter(waits) else {
            return;
        };
        send.is_announced = true;
        let header = Header {
            tag: send.key.0,
            number: send.key.1,
            length: send.span.bytes as u64,
            signature: send.signature,
            ..Header::new(Kind::Ready)
        };
        let peer = &mut self.peers[to as usize];
        peer.announced += 1;
        peer.queue.push_back(Frame::new(&header, Payload::None));
    }

    /// Lets a message go whose parts may be sent.
    pub(super) fn begin_cutting(&mut self, at: u32, kind: Kind) {
        let Some(send) = self.sends.get_mut(at) else {
            return;
        };
        let peer = &mut self.peers[send.peer as usize];
        let connections = match peer.open.len() {
            0 => (self.job.rails * self.settings.connections) as usize,
            open => open,
        };
        let (least, most) = (self.settings.part_bytes.0, self.settings.most_part_bytes());
        (send.kind, send.left) = (Some(kind), self.now);
        send.part_bytes = part_bytes(send.span.bytes as u64, connections, (least, most)) as usize;
        peer.cutting.push_back(at);
    }

    /// Gives frames to connections: each to the one that would be done with it first, and of messages that are cut as much as
    /// has room.
    pub(super) fn schedule(&mut self, to: u32) {
        let most_waiting = 2 * self.settings.most_part_bytes() as usize;
        loop {
            let peer = &self.peers[to as usize];
            if let Some(bytes) = peer.queue.front().map(Frame::bytes) {
                let Some(best) = self.quickest_to(to, bytes as u64) else {
                    return;
                };
                if let Some(frame) = self.peers[to as usize].queue.pop_front() {
                    self.push(best, frame);
                }
                continue;
            }
            let Some(at) = peer.cutting.front().copied() else {
                return;
            };
            let Some(send) = self.sends.get(at) else {
                self.peers[to as usize].cutting.pop_front();
                continue;
            };
            let (left, most) = (send.left_bytes() as u64, send.part_bytes as u64);
            match self.next_part_to(to, left, most) {
                Some((best, bytes)) if self.waiting_bytes(best) < most_waiting => {
                    self.cut_next((to, at), (best, bytes as usize));
                }
                _ => return,
            }
        }
    }

    fn waiting_bytes(&self, connection: u32) -> usize {
        let connection = self.connections.get(connection);
        connection.map_or(0, |connection| connection.outbound.unwritten_bytes())
    }

    /// Cuts the next part of a message off for a connection.
    fn cut_next(&mut self, (to, at): (u32, u32), (connection, bytes): (u32, usize)) {
        let Some(send) = self.sends.get_mut(at) else {
            return;
        };
        let frame = send.cut(at, send.kind.unwrap_or(Kind::Granted), bytes);
        if send.is_cut {
            self.peers[to as usize].cutting.pop_front();
        }
        self.push(connection, frame);
    }

    /// Puts a frame on a connection.
    pub(super) fn push(&mut self, at: u32, frame: Frame) {
        if let Some(connection) = self.connections.get_mut(at) {
            let inbound = &mut connection.inbound;
            (inbound.unsaid_frames, inbound.unsaid_bytes) = (0, 0);
            connection.outbound.push(frame, inbound.frames);
            self.settle(at);
            self.list(at);
        }
    }

    /// A frame of the peer's, which goes over whichever connection is best.
    pub(super) fn queue(&mut self, to: u32, header: &Header) {
        let frame = Frame::new(header, Payload::None);
        self.peers[to as usize].queue.push_back(frame);
        self.schedule(to);
    }

    pub(super) fn say_leave(&mut self, connection: u32) {
        let frame = Frame::new(&Header::new(Kind::Leave), Payload::None);
        self.push(connection, frame);
    }

    /// Gives a rank word; one that need not come is not worth a connection of its own in a large job.
    pub fn notify(&mut self, to: u32, notice: &[u8; NOTICE_BYTES], must_come: bool) {
        let peer = &mut self.peers[to as usize];
        let is_known = !peer.open.is_empty() || peer.is_owed();
        let is_worth = must_come || is_known || self.job.ranks <= self.settings.told_ranks;
        if peer.presence != Presence::Here || !is_worth {
            return;
        }
        let header = Header {
            number: peer.notices,
            length: NOTICE_BYTES as u64,
            bytes: NOTICE_BYTES as u32,
            ..Header::new(Kind::Notice)
        };
        peer.notices += 1;
        let mut buffer: Buffer = self.buffers.take(NOTICE_BYTES);
        buffer.copy_from_slice(notice);
        peer.queue
            .push_back(Frame::new(&header, Payload::Own(buffer)));
        self.tend(to);
        self.schedule(to);
    }

    /// Ends a send that is not wanted any more.
    pub(super) fn cancel_send(&mut self, at: u32) {
        let Some(send) = self.sends.remove(at) else {
            return;
        };
        if send.end.is_some() {
            return;
        }
        let peer = &mut self.peers[send.peer as usize];
        peer.cutting.retain(|other| *other != at);
        peer.held.retain(|other| *other != at);
        // A put has no such key, and never waits.
        let waits = send.kind.is_none() && peer.waiting.remove(&send.key).is_some();
        if waits && send.is_announced {
            peer.withdrawn.insert(send.key, ());
        }
        if send.kind == Some(Kind::Eager) && peer.loss().is_none() {
            return self.send_rest(at, send);
        }
        peer.queue.retain(|frame| frame.send() != Some(at));
        for place in 0..peer.open.len() {
            let of_peer = self.peers[send.peer as usize].open[place];
            if let Some(connection) = self.connections.get_mut(of_peer) {
                let outbound = &mut connection.outbound;
                outbound.cancel(at, &self.memory, &mut self.buffers);
            }
            self.settle(of_peer);
        }
    }

    /// Sends copies of what is left of a message that is taken back. Its receiver keeps room for it, which is given back when
    /// it is whole.
    fn send_rest(&mut self, at: u32, mut send: Outgoing) {
        let (memory, buffers) = (&self.memory, &mut self.buffers);
        // One that still stood in line has no parts yet.
        let most_bytes = self.settings.most_part_bytes() as usize;
        let peer = &mut self.peers[send.peer as usize];
        while !send.is_cut {
            let most = send.part_bytes.min(most_bytes);
            peer.queue.push_back(send.cut(at, Kind::Eager, most));
        }
        let queued = peer.queue.iter_mut();
        for frame in queued.filter(|frame| frame.send() == Some(at)) {
            frame.keep(memory, buffers);
        }
        for connection in &peer.open {
            if let Some(connection) = self.connections.get_mut(*connection) {
                connection.outbound.keep(at, memory, buffers);
            }
        }
        self.tend(send.peer);
        self.schedule(send.peer);
    }
}
