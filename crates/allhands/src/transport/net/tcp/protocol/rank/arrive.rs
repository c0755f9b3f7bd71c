//! Arriving: what becomes of bytes that came over a connection.

use super::{Rank, Target};
use crate::transport::net::tcp::protocol::connection::{Landing, Part, Phase};
use crate::transport::net::tcp::protocol::frame::{
    FrameError, HEADER_BYTES, Header, Kind, NOTICE_BYTES,
};
use crate::transport::net::tcp::protocol::frames::{Frame, Payload};
use crate::transport::net::tcp::protocol::handshake::Step;
use crate::transport::net::tcp::protocol::matching::{Destination, Found, Incoming, admit, land};
use crate::transport::net::tcp::protocol::memory::Memory;
use crate::transport::net::tcp::protocol::peer::{Loss, Presence};

/// After how many frames that came over a connection this is said, at the latest.
const MOST_UNSAID: u32 = 64;

/// How many notices of a rank may lie here that nobody has heard, and how far their numbers may run ahead.
const MOST_NOTICES: u32 = 1024;

impl<M: Memory> Rank<M> {
    /// Where the next bytes of a connection go.
    pub fn target(&mut self, at: u32) -> Target<'_> {
        let Some(connection) = self.connections.get_mut(at) else {
            return Target::Protocol;
        };
        let inbound = &mut connection.inbound;
        let Some(part) = &inbound.part else {
            return Target::Protocol;
        };
        let (done, bytes) = (part.done, part.header.bytes as usize);
        let message = match part.landing {
            Landing::Notice => return Target::Own(&mut inbound.notice[done..bytes]),
            Landing::Nowhere => return Target::Nowhere(bytes - done),
            Landing::Window => {
                let span = self.windows.span(&part.header, done);
                return span.map_or(Target::Nowhere(bytes - done), Target::Users);
            }
            Landing::Message(message) => self.messages.get_mut(message),
        };
        let Some(message) = message else {
            return Target::Nowhere(bytes - done);
        };
        let begin = part.header.offset as usize + done;
        match message.span(begin as u64, bytes - done) {
            // What has begun to land apart goes on there.
            Some(span) if message.kept.is_none() => Target::Users(span),
            _ => match &mut message.kept {
                Some(kept) => Target::Own(&mut kept[begin..begin + bytes - done]),
                None => Target::Nowhere(bytes - done),
            },
        }
    }

    /// The message, and the place in it, of the long part that comes over a connection and that nobody has asked for yet. Who
    /// reads a little later may find that somebody has, as what came just before may have told of it: then it need not be copied.
    #[must_use]
    pub fn unasked(&self, at: u32) -> Option<(u32, u64)> {
        let part = self.connections.get(at)?.inbound.part.as_ref()?;
        let Landing::Message(message) = part.landing else {
            return None;
        };
        let is_long = part.header.bytes as usize - part.done > self.settings.copied_bytes as usize;
        let is_unknown = |it: &Incoming| {
            it.destination == Destination::Unknown && it.key.1 == part.header.number
        };
        let incoming = self.messages.get(message).filter(|_| is_long)?;
        is_unknown(incoming).then_some((message, part.header.offset))
    }

    /// Says that so many bytes of a connection were put where [`target`](Rank::target) said.
    pub fn landed(&mut self, at: u32, bytes: usize) {
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        if let Some(part) = &mut connection.inbound.part {
            part.done += bytes;
            if part.done == part.header.bytes as usize {
                self.end_frame(at);
            }
        }
    }

    /// Takes bytes that came over a connection and are nowhere yet.
    pub fn arrived(&mut self, at: u32, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(connection) = self.connections.get_mut(at) else {
                return;
            };
            match &connection.phase {
                // Nothing comes before the driver has said that it is there, nor over one that only watches.
                Phase::Connecting | Phase::Watching => return,
                Phase::Greeting(_) => self.greet(at, &mut rest),
                Phase::Open if connection.inbound.part.is_some() => {
                    self.take_payload(at, &mut rest);
                }
                Phase::Open => self.take_header(at, &mut rest),
            }
        }
    }

    fn greet(&mut self, at: u32, rest: &mut &[u8]) {
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        let Phase::Greeting(handshake) = &mut connection.phase else {
            return;
        };
        match handshake.take(&self.job, rest) {
            Ok(Step::More) => {}
            // Who was given up is not let in again: it has to give this rank up, too.
            Ok(Step::Reply { peer, .. }) if self.peers[peer as usize].loss().is_some() => {
                self.close(at, Loss::Closed);
            }
            Ok(Step::Reply { message, .. }) => {
                connection.outbound.greet(message);
                self.list(at);
            }
            Ok(Step::Done { peer, rail, reply }) => {
                if let Some(message) = reply {
                    connection.outbound.greet(message);
                }
                self.open(at, peer, rail);
            }
            Err(error) => self.close(at, Loss::Handshake(error)),
        }
    }

    /// Copies what belongs to the payload that is coming.
    fn take_payload(&mut self, at: u32, rest: &mut &[u8]) {
        let taken = match self.target(at) {
            Target::Protocol => return,
            Target::Own(into) => {
                let taken = into.len().min(rest.len());
                into[..taken].copy_from_slice(&rest[..taken]);
                taken
            }
            Target::Users(span) => {
                let taken = span.bytes.min(rest.len());
                self.memory.write(span.part(0, taken), &rest[..taken]);
                taken
            }
            Target::Nowhere(bytes) => bytes.min(rest.len()),
        };
        *rest = &rest[taken..];
        self.landed(at, taken);
    }

    fn take_header(&mut self, at: u32, rest: &mut &[u8]) {
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        let inbound = &mut connection.inbound;
        let (now, later) = rest.split_at(rest.len().min(HEADER_BYTES - inbound.have));
        inbound.header[inbound.have..inbound.have + now.len()].copy_from_slice(now);
        inbound.have += now.len();
        *rest = later;
        if inbound.have < HEADER_BYTES {
            return;
        }
        inbound.have = 0;
        let header = Header::decode(&inbound.header);
        let begun = header.and_then(|header| self.begin_frame(at, header));
        if let Err(error) = begun {
            self.close(at, Loss::Frame(error));
        }
    }

    /// A frame begins to come.
    fn begin_frame(&mut self, at: u32, header: Header) -> Result<(), FrameError> {
        let Some(connection) = self.connections.get_mut(at) else {
            return Ok(());
        };
        let Some(peer) = connection.peer else {
            return Ok(());
        };
        if header.tag >= self.settings.tags && !header.kind.is_of_window() {
            let (tag, tags) = (header.tag, self.settings.tags);
            return Err(FrameError::Tag { tag, tags });
        }
        let outbound = &mut connection.outbound;
        let (buffers, sends) = (&mut self.buffers, &mut self.acknowledged);
        outbound.acknowledge(header.acknowledged, buffers, sends)?;
        self.settle(at);
        self.end_acknowledged();
        let landing = match header.kind {
            Kind::Eager | Kind::Granted => self.place(peer, &header)?,
            Kind::Put => self.place_put(peer, &header)?,
            Kind::Notice => Landing::Notice,
            Kind::Ready
            | Kind::Grant
            | Kind::Credit
            | Kind::Acknowledge
            | Kind::Leave
            | Kind::Raise => Landing::Nowhere,
        };
        if let Some(connection) = self.connections.get_mut(at) {
            let done = 0;
            connection.inbound.part = Some(Part {
                header,
                landing,
                done,
            });
        }
        if header.bytes == 0 {
            self.end_frame(at);
        }
        // What was acknowledged may have made room.
        self.schedule(peer);
        Ok(())
    }

    /// Whether a part is as long as it must be.
    pub(super) fn check_part(&self, header: &Header) -> Result<(), FrameError> {
        let (offset, bytes, length) = (header.offset, header.bytes, header.length);
        let least = self.settings.least_part_bytes();
        if u64::from(bytes) < least && offset + u64::from(bytes) != length {
            return Err(FrameError::ShortPart {
                offset,
                bytes,
                length,
                least,
            });
        }
        Ok(())
    }

    /// Where a part of a message lands.
    fn place(&mut self, peer: u32, header: &Header) -> Result<Landing, FrameError> {
        self.check_part(header)?;
        if self.retired.has(header.tag) {
            self.pay_back(peer, header);
            return Ok(Landing::Nowhere);
        }
        let credit = self.peers[peer as usize].credit_left(&self.settings);
        let matching = &mut self.peers[peer as usize].matching;
        let Found::Here(message) = matching.find(&mut self.messages, peer, header)? else {
            return Ok(Landing::Nowhere);
        };
        let Some(incoming) = self.messages.get_mut(message) else {
            return Ok(Landing::Nowhere);
        };
        if incoming.is_whole {
            return Ok(Landing::Nowhere);
        }
        let cost = admit(incoming, header, credit, &mut self.buffers)?;
        self.peers[peer as usize].credit.taken += cost;
        Ok(Landing::Message(message))
    }

    /// All of a frame is here.
    fn end_frame(&mut self, at: u32) {
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        let inbound = &mut connection.inbound;
        let (Some(part), Some(peer)) = (inbound.part.take(), connection.peer) else {
            return;
        };
        let header = part.header;
        if header.kind.is_counted() {
            inbound.frames = inbound.frames.wrapping_add(1);
            inbound.unsaid_frames += 1;
            inbound.unsaid_bytes += HEADER_BYTES as u64 + u64::from(header.bytes);
        }
        let ended = match header.kind {
            Kind::Eager | Kind::Granted => self.end_part(peer, &part),
            Kind::Put => self.end_put(peer, &part),
            Kind::Raise => self.windows.raise(peer, &header),
            Kind::Ready => self.wanted(peer, &header),
            Kind::Grant => self.granted(peer, &header),
            Kind::Credit => {
                let credit = &mut self.peers[peer as usize].credit;
                credit.given_back = credit.given_back.max(header.number.min(credit.spent));
                Ok(())
            }
            Kind::Notice => {
                let notice = inbound.notice;
                self.noticed(peer, &header, &notice)
            }
            Kind::Leave => {
                self.peers[peer as usize].presence = Presence::Leaving;
                Ok(())
            }
            Kind::Acknowledge => Ok(()),
        };
        match ended {
            Ok(()) => self.acknowledge_if_due(at),
            Err(error) => self.close(at, Loss::Frame(error)),
        }
    }

    /// A part of a message has landed.
    fn end_part(&mut self, peer: u32, part: &Part) -> Result<(), FrameError> {
        let Landing::Message(message) = part.landing else {
            if self.is_awaited(&part.header) {
                // It was sent again, as what was said of it is lost.
                self.acknowledge_all(peer);
            }
            return Ok(());
        };
        let Some(incoming) = self.messages.get_mut(message) else {
            return Ok(());
        };
        if !land(incoming, &part.header)? {
            return Ok(());
        }
        // The same parts may still be coming over other connections, whose frames were sent again.
        for other in &self.peers[peer as usize].open {
            let other = self.connections.get_mut(*other);
            if let Some(part) = other.and_then(|other| other.inbound.part.as_mut())
                && part.landing == Landing::Message(message)
            {
                part.landing = Landing::Nowhere;
            }
        }
        self.finish(message);
        if self.is_awaited(&part.header) {
            self.acknowledge_all(peer);
        }
        Ok(())
    }

    /// Whether the sender of a message waits until it is acknowledged.
    pub(super) fn is_awaited(&self, header: &Header) -> bool {
        self.settings.is_awaited(header.kind, header.length)
    }

    /// Says what has come from a rank, over all connections: it waits for that.
    pub(super) fn acknowledge_all(&mut self, peer: u32) {
        for at in 0..self.peers[peer as usize].open.len() {
            let at = self.peers[peer as usize].open[at];
            let connection = self.connections.get(at);
            if connection.is_some_and(|it| it.inbound.unsaid_frames > 0) {
                self.push(
                    at,
                    Frame::new(&Header::new(Kind::Acknowledge), Payload::None),
                );
            }
        }
    }

    /// A message waits at its sender.
    fn wanted(&mut self, peer: u32, header: &Header) -> Result<(), FrameError> {
        if self.retired.has(header.tag) {
            return self.unwanted(peer, header);
        }
        let most = self.settings.most_announced();
        let matching = &mut self.peers[peer as usize].matching;
        let Found::Here(message) = matching.find(&mut self.messages, peer, header)? else {
            return Ok(());
        };
        if let Some(incoming) = self.messages.get_mut(message) {
            matching.announce(incoming, most)?;
        }
        match matching.announced() >= most {
            // Its sender can announce no other.
            true => self.grant_all(peer),
            false => self.grant_if_due(message),
        }
        Ok(())
    }

    /// A message that waits here, or will be sent, was granted.
    fn granted(&mut self, peer: u32, header: &Header) -> Result<(), FrameError> {
        let most = self.settings.most_announced();
        let key = (header.tag, header.number);
        let is_retired = self.retired.has(header.tag);
        let from = &mut self.peers[peer as usize];
        if let Some(send) = from.waiting.remove(&key) {
            let is_announced = self.sends.get(send).is_some_and(|send| send.is_announced);
            from.announced -= u32::from(is_announced);
            if self.granted_in_line(send) {
                self.advance_line(false);
            } else {
                self.begin_cutting(send, Kind::Granted);
            }
            self.announce_next(peer);
            self.schedule(peer);
        } else if from.withdrawn.remove(&key).is_some() {
            from.announced -= 1;
            self.announce_next(peer);
            self.schedule(peer);
        } else if !is_retired && header.number >= from.sent.get(&header.tag).copied().unwrap_or(0) {
            from.grants.insert(key, ());
            if from.grants.len() > most as usize {
                return Err(FrameError::Grants { most });
            }
        }
        Ok(())
    }

    /// A notice is here.
    fn noticed(
        &mut self,
        peer: u32,
        header: &Header,
        notice: &[u8; NOTICE_BYTES],
    ) -> Result<(), FrameError> {
        let (number, most) = (header.number, MOST_NOTICES);
        let from = &mut self.peers[peer as usize];
        if number.saturating_sub(from.heard.whole_to()) > u64::from(most) || from.unheard >= most {
            return Err(FrameError::Notices { most });
        }
        if from.heard.insert(number, number + 1) {
            from.unheard += 1;
            from.early.insert(number, Box::new(*notice));
            let all_to = from.heard.whole_to();
            self.let_hear(peer, all_to);
        }
        Ok(())
    }

    /// Lets those notices of a rank be heard whose numbers are below this: they come in their order, whatever connections they take,
    /// as who says why it leaves, and then that it does, must not be taken to leave for no reason.
    pub(super) fn let_hear(&mut self, peer: u32, end: u64) {
        let from = &mut self.peers[peer as usize];
        while let Some(entry) = from.early.first_entry()
            && *entry.key() < end
        {
            self.heard.push_back((peer, entry.remove()));
        }
    }

    /// Says how much has come over a connection, if nothing else does and it is much.
    fn acknowledge_if_due(&mut self, at: u32) {
        let Some(connection) = self.connections.get(at) else {
            return;
        };
        let inbound = &connection.inbound;
        let most_bytes = u64::from(self.settings.acknowledged_bytes);
        if inbound.unsaid_frames >= MOST_UNSAID || inbound.unsaid_bytes >= most_bytes {
            let frame = Frame::new(&Header::new(Kind::Acknowledge), Payload::None);
            self.push(at, frame);
        }
    }
}
