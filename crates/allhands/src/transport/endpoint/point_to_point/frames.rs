//! Frames: how messages go to ranks of other nodes.
//!
//! All that is said to another rank goes in frames with one tag, in order. Long messages go from the memory of their sends to that of
//! their receives: unasked, on lanes, or else with another tag, one by one in the order in which their receiver has asked for them.

use crate::transport::endpoint::nodes::cluster::{Cluster, FRAME_TAG};
use crate::transport::endpoint::point_to_point::header::{
    EAGER_MOST, FRAME_BYTES, HEADER_BYTES, Header, Word,
};
use crate::transport::endpoint::point_to_point::matching::Envelope;
use crate::transport::endpoint::point_to_point::message_error::Failure;
use crate::transport::endpoint::point_to_point::request::{Send, Sending};
use crate::transport::endpoint::point_to_point::state::{
    Arrived, PointToPoint, ToldFrame, abandon,
};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::{Ended, NetworkError, Ticket};
use crate::transport::shm::memory::iovec::Iovec;
use crate::transport::{AlignedBytes, TransportError};

impl PointToPoint {
    pub(super) fn frame(&mut self) -> AlignedBytes {
        let made = || AlignedBytes::zeroed(FRAME_BYTES);
        self.frames.pop().unwrap_or_else(made)
    }

    /// Has frames of a peer received, or of all, if they are on other nodes.
    pub(super) fn make_contact(
        &mut self,
        endpoint: &Endpoint,
        peer: Option<u32>,
    ) -> Result<(), TransportError> {
        let all = self.here..self.peers.len() as u32;
        let peers = match peer {
            Some(peer) if peer < self.here => return Ok(()),
            Some(peer) => peer..peer + 1,
            None => all,
        };
        for peer in peers {
            let to = &self.peers[peer as usize];
            if to.contact.is_none() && !to.is_closed {
                self.expect_frame(endpoint, peer)?;
                self.contacts.push(peer);
            }
        }
        Ok(())
    }

    /// Begins to receive the next frame of a peer.
    fn expect_frame(&mut self, endpoint: &Endpoint, peer: u32) -> Result<(), TransportError> {
        let Some(cluster) = self.cluster.clone() else {
            return Ok(());
        };
        let frame = self.frame();
        let mut state = cluster.state();
        state.network.sign(0);
        let (name, into) = (cluster.name(peer), frame.address());
        // SAFETY: a frame's memory, kept until the network has said that the message has ended or is over.
        let begun = unsafe { state.network.receive(name, FRAME_TAG, into, FRAME_BYTES) };
        drop(state);
        let ticket = begun.map_err(|error| endpoint.message_failed(&error))?;
        self.peers[peer as usize].contact = Some((ticket, frame));
        Ok(())
    }

    /// Begins to send a frame.
    fn begin_frame(
        &mut self,
        endpoint: &Endpoint,
        peer: u32,
        (word, payload): (Word, Option<Iovec>),
    ) -> Result<(Ticket, AlignedBytes), TransportError> {
        let Some(cluster) = self.cluster.clone() else {
            let why = "there are no other nodes".to_string();
            return Err(endpoint.network_failed(why, None));
        };
        let (frame, bytes) = self.fill_frame(peer, (word, payload));
        let mut state = cluster.state();
        state.network.sign(0);
        let (name, from) = (cluster.name(peer), frame.address());
        // SAFETY: as in `expect_frame`.
        let begun = unsafe { state.network.send(name, FRAME_TAG, from, bytes) };
        drop(state);
        match begun {
            Ok(ticket) => Ok((ticket, frame)),
            Err(error) => Err(endpoint.message_failed(&error)),
        }
    }

    /// A frame that says this, and with it all that was returned; how long it is.
    pub(super) fn fill_frame(
        &mut self,
        peer: u32,
        (word, payload): (Word, Option<Iovec>),
    ) -> (AlignedBytes, usize) {
        let frame = self.frame();
        let to = &mut self.peers[peer as usize];
        let (returned, lanes) = (to.received.tell(), to.free_lanes.tell());
        let header = Header {
            word,
            returned,
            lanes,
        };
        let header = header.encode();
        let bytes = HEADER_BYTES + payload.map_or(0, |payload| payload.bytes);
        assert!(
            bytes <= FRAME_BYTES,
            "what goes with a header fits its frame"
        );
        // SAFETY: the frame is ours and has room for both; the message is readable, as its sender promised.
        unsafe {
            header
                .as_ptr()
                .copy_to_nonoverlapping(frame.address(), HEADER_BYTES);
            if let Some(Iovec { address, bytes }) = payload {
                let behind = frame.address().add(HEADER_BYTES);
                address.cast_const().copy_to_nonoverlapping(behind, bytes);
            }
        }
        (frame, bytes)
    }

    /// Says something to a peer, without a request that waits for it.
    pub(super) fn say(
        &mut self,
        endpoint: &Endpoint,
        peer: u32,
        word: Word,
    ) -> Result<(), TransportError> {
        let (ticket, frame) = self.begin_frame(endpoint, peer, (word, None))?;
        let to = peer;
        self.told.push(ToldFrame { to, ticket, frame });
        Ok(())
    }

    /// Tells a sender of another node what was returned, if it might wait for that.
    pub(super) fn return_credit(
        &mut self,
        endpoint: &Endpoint,
        source: u32,
    ) -> Result<(), TransportError> {
        let (from, cluster) = (&self.peers[source as usize], self.cluster.as_deref());
        let lanes = cluster.map_or(0, |cluster| cluster.lanes);
        let is_due = from.received.is_due() || from.free_lanes.is_due(lanes);
        match source >= self.here && is_due && !from.is_closed {
            true => self.say(endpoint, source, Word::Credit),
            false => Ok(()),
        }
    }

    /// Sends a message to a rank of another node, or announces it; whether there was credit.
    pub(super) fn send_frame(
        &mut self,
        endpoint: &Endpoint,
        number: usize,
    ) -> Result<bool, TransportError> {
        let Some(send) = self.requests.send(number) else {
            return Ok(true);
        };
        let (to, tag, element, memory) = (send.to, send.tag, send.element, send.memory);
        let bytes = memory.bytes as u64;
        self.make_contact(endpoint, Some(to))?;
        let state = if memory.bytes <= EAGER_MOST && self.may_send(to, Some(memory.bytes)) {
            let word = Word::Eager {
                tag,
                element,
                bytes,
            };
            let (ticket, frame) = self.begin_frame(endpoint, to, (word, Some(memory)))?;
            self.peers[to as usize].sent.send(memory.bytes);
            Sending::Framed { ticket, frame }
        } else if !self.may_send(to, None) {
            return Ok(false);
        } else if let Some(sent) = self.send_unasked(endpoint, number)? {
            sent
        } else {
            let announced = self.next_announced;
            self.next_announced += 1;
            let word = Word::Announced {
                tag,
                element,
                bytes,
                number: announced,
            };
            self.say(endpoint, to, word)?;
            self.peers[to as usize].sent.send(0);
            self.announced.insert(announced, number);
            Sending::Announced
        };
        let is_sent = !matches!(state, Sending::Announced);
        if let Some(send) = self.requests.send(number) {
            send.state = state;
        }
        // Short messages are away at once.
        if is_sent && !self.look_at(endpoint, number)? {
            self.at_network.push(number);
        }
        Ok(true)
    }

    /// Takes all further that comes from other nodes, or goes there.
    pub(super) fn look_at_network(&mut self, endpoint: &Endpoint) -> Result<(), TransportError> {
        let Some(cluster) = self.cluster.clone() else {
            return Ok(());
        };
        let looked = cluster.state().look();
        looked.map_err(|error| endpoint.message_failed(&error))?;
        for at in (0..self.contacts.len()).rev() {
            let peer = self.contacts[at];
            while let Some(bytes) = self.next_frame(endpoint, &cluster, peer)? {
                self.take_frame(endpoint, peer, bytes)?;
            }
            if self.peers[peer as usize].is_closed {
                self.contacts.swap_remove(at);
            }
        }
        let mut at = 0;
        while let Some(number) = self.at_network.get(at).copied() {
            match self.look_at(endpoint, number)? {
                true => _ = self.at_network.swap_remove(at),
                false => at += 1,
            }
        }
        self.look_at_passed_by(endpoint, &cluster)?;
        self.look_at_told(endpoint, &cluster)
    }

    /// Takes back the frames that have arrived, or never will.
    fn look_at_told(
        &mut self,
        endpoint: &Endpoint,
        cluster: &Cluster,
    ) -> Result<(), TransportError> {
        let mut at = 0;
        while let Some(&ToldFrame { to, ticket, .. }) = self.told.get(at) {
            let ended = cluster.state().network.test(ticket);
            let has_ended = matches!(ended, Ok(Some(_)));
            let is_over = match ended {
                Ok(_) => has_ended,
                Err(error) => self.lose(endpoint, cluster, (to, error))?,
            };
            let has_left = self.has_left_for_long(to);
            if !is_over && !has_left {
                at += 1;
                continue;
            }
            let ToldFrame { ticket, frame, .. } = self.told.swap_remove(at);
            match has_ended {
                true => self.frames.push(frame),
                false => abandon(&mut cluster.state(), ticket, frame),
            }
        }
        Ok(())
    }

    /// Notes that a message with a peer has failed: one that has left in order is no loss.
    ///
    /// # Errors
    /// What stops the communicator, if it has not.
    pub(super) fn lose(
        &mut self,
        endpoint: &Endpoint,
        cluster: &Cluster,
        (peer, error): (u32, NetworkError),
    ) -> Result<bool, TransportError> {
        endpoint.listen(cluster);
        let has_left = cluster.state().left.iter().any(|left| left.rank == peer);
        match has_left {
            true => Ok(true),
            false => Err(endpoint.message_failed(&error)),
        }
    }

    /// The length of the frame of a peer that has come, if one has.
    fn next_frame(
        &mut self,
        endpoint: &Endpoint,
        cluster: &Cluster,
        peer: u32,
    ) -> Result<Option<usize>, TransportError> {
        let Some((ticket, _)) = self.peers[peer as usize].contact else {
            return Ok(None);
        };
        let ended = cluster.state().network.test(ticket);
        match ended {
            Ok(None) => Ok(None),
            Ok(Some(Ended::Whole(bytes))) => Ok(Some(bytes)),
            Ok(Some(Ended::TooLong | Ended::Differs)) => Err(self.no_frame(endpoint, peer)),
            Err(error) => {
                // Nothing comes from it any more.
                self.cancel_ticket(ticket);
                let of = &mut self.peers[peer as usize];
                (of.contact, of.is_closed) = (None, true);
                self.lose(endpoint, cluster, (peer, error)).map(|_| None)
            }
        }
    }

    fn no_frame(&self, endpoint: &Endpoint, peer: u32) -> TransportError {
        let why = format!("rank {} sends what is no message of ours", self.name(peer));
        endpoint.network_failed(why, None)
    }

    /// Does what a frame says that has come.
    fn take_frame(
        &mut self,
        endpoint: &Endpoint,
        peer: u32,
        bytes: usize,
    ) -> Result<(), TransportError> {
        let Some((_, frame)) = self.peers[peer as usize].contact.take() else {
            return Ok(());
        };
        // SAFETY: the frame is ours again, and the network has written so many bytes of it, no more than it has.
        let read = unsafe { std::slice::from_raw_parts(frame.address().cast_const(), bytes) };
        let Some((header, payload)) = Header::decode(read) else {
            return Err(self.no_frame(endpoint, peer));
        };
        let Header {
            word,
            returned,
            lanes,
        } = header;
        // First of all the next one, which may be here already.
        self.expect_frame(endpoint, peer)?;
        let of = &mut self.peers[peer as usize];
        of.sent.learn(returned);
        of.taken_lanes.learn(lanes);
        match (word, word.envelope(peer)) {
            (Word::TakenBack { lane }, _) => self.note_taken_back(peer, lane),
            (Word::Wanted { number, is_ready }, _) => {
                self.send_wanted(endpoint, peer, (number, is_ready))?;
            }
            (Word::Announced { number, .. }, Some(envelope)) => {
                self.take_announced(endpoint, envelope, Arrived::Announced(number))?;
            }
            (Word::Sent { lane, .. }, Some(envelope)) => {
                let is_taken_back = false;
                let message = Arrived::Sent {
                    lane,
                    is_taken_back,
                };
                self.take_announced(endpoint, envelope, message)?;
            }
            (Word::Eager { .. }, Some(envelope)) => {
                self.peers[peer as usize].frames_in += 1;
                self.take_eager(envelope, payload)?;
                self.return_credit(endpoint, peer)?;
            }
            (_, None) | (Word::Credit, _) => {}
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Gives a message that is elsewhere yet to its receive, or keeps what is known of it.
    fn take_announced(
        &mut self,
        endpoint: &Endpoint,
        envelope: Envelope,
        message: Arrived,
    ) -> Result<(), TransportError> {
        self.peers[envelope.source as usize].frames_in += 1;
        match self.matching.arrive(&envelope) {
            Some(number) => self.meet(endpoint, number, envelope, message),
            None => {
                self.matching.keep(envelope, message);
                Ok(())
            }
        }
    }

    /// Whether a request of whose message the network has the bytes has ended now.
    pub(super) fn look_at(
        &mut self,
        endpoint: &Endpoint,
        number: usize,
    ) -> Result<bool, TransportError> {
        let (Some(cluster), Some((peer, ticket, envelope))) =
            (self.cluster.clone(), self.requests.network_has(number))
        else {
            return Ok(true);
        };
        let ended = cluster.state().network.test(ticket);
        let bytes = match ended {
            Ok(None) => return Ok(false),
            Ok(Some(Ended::Whole(bytes))) => bytes as u64,
            Ok(Some(Ended::TooLong | Ended::Differs)) => u64::MAX,
            Err(error) => {
                self.lose(endpoint, &cluster, (peer, error))?;
                let rank = self.name(peer);
                self.cancel_ticket(ticket);
                self.end(number, Err(TransportError::RankLeft { rank }.into()));
                return Ok(true);
            }
        };
        match envelope {
            None => {
                // One that was asked for was counted then.
                let is_new =
                    |send: &mut Send| !matches!(send.state, Sending::Data { lane: None, .. });
                if self.requests.send(number).is_some_and(is_new) {
                    self.peers[peer as usize].frames_out += 1;
                }
                self.end_send(number);
            }
            Some((envelope, lane)) if bytes == envelope.bytes => {
                if let Some(lane) = lane {
                    self.give_lane_back(endpoint, peer, lane)?;
                }
                let how = self.fits(number, envelope);
                self.end(number, how.map_err(Failure::from));
            }
            // Its sender has taken it back.
            Some(_) if bytes == 0 => {
                let rank = self.name(peer);
                self.end(number, Err(TransportError::CallDropped { rank }.into()));
            }
            Some(_) => return Err(self.no_frame(endpoint, peer)),
        }
        Ok(true)
    }
}
