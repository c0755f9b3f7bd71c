//! Frames: how messages go to ranks of other nodes.
//!
//! All that is said to another rank goes in frames with one tag, in order; long messages go with another tag, one by one in the order in
//! which their receiver has asked for them, from the memory of their sends to that of their receives.

use crate::transport::endpoint::nodes::cluster::{Cluster, DATA_TAG, FRAME_TAG};
use crate::transport::endpoint::point_to_point::header::{
    EAGER_MOST, FRAME_BYTES, HEADER_BYTES, Header, Word,
};
use crate::transport::endpoint::point_to_point::matching::Envelope;
use crate::transport::endpoint::point_to_point::message_error::Failure;
use crate::transport::endpoint::point_to_point::request::{Receiving, Request, Sending};
use crate::transport::endpoint::point_to_point::state::{
    Arrived, PointToPoint, ToldFrame, abandon,
};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::{Ended, NetworkError, Ticket};
use crate::transport::shm::memory::iovec::Iovec;
use crate::transport::{AlignedBytes, TransportError};

impl PointToPoint {
    fn frame(&mut self) -> AlignedBytes {
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
        let frame = self.frame();
        let returned = self.peers[peer as usize].received.tell();
        let header = Header { word, returned }.encode();
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

    /// Says something to a peer, without a request that waits for it.
    fn say(&mut self, endpoint: &Endpoint, peer: u32, word: Word) -> Result<(), TransportError> {
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
        let from = &self.peers[source as usize];
        match source >= self.here && from.received.is_due() && !from.is_closed {
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
            self.at_network.push(number);
            Sending::Framed { ticket, frame }
        } else if self.may_send(to, None) {
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
        } else {
            return Ok(false);
        };
        let is_framed = matches!(state, Sending::Framed { .. });
        if let Some(send) = self.requests.send(number) {
            send.state = state;
        }
        // Short messages are away at once.
        if is_framed && self.look_at(endpoint, number)? {
            self.at_network.retain(|other| *other != number);
        }
        Ok(true)
    }

    /// Asks for a message that was announced, which its receive, if it fits, is ready for.
    pub(super) fn want(
        &mut self,
        endpoint: &Endpoint,
        number: usize,
        (envelope, announced): (Envelope, u64),
        is_ready: bool,
    ) -> Result<(), TransportError> {
        let source = envelope.source;
        if let (true, Some(cluster), Some(receive)) = (
            is_ready,
            self.cluster.clone(),
            self.requests.receive(number),
        ) {
            let (name, into) = (cluster.name(source), receive.room.address);
            let mut state = cluster.state();
            state.network.sign(0);
            let bytes = envelope.bytes as usize;
            // SAFETY: the receive's memory, as long as the message at least, which its owner leaves alone until the request has
            // ended: not before the network has said that the message has ended or is over.
            let begun = unsafe { state.network.receive(name, DATA_TAG, into, bytes) };
            drop(state);
            let ticket = begun.map_err(|error| endpoint.message_failed(&error))?;
            receive.state = Receiving::Data { envelope, ticket };
            self.at_network.push(number);
        }
        let word = Word::Wanted {
            number: announced,
            is_ready,
        };
        self.say(endpoint, source, word)
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
    fn lose(
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
        let Some((Header { word, returned }, payload)) = Header::decode(read) else {
            return Err(self.no_frame(endpoint, peer));
        };
        // First of all the next one, which may be here already.
        self.expect_frame(endpoint, peer)?;
        self.peers[peer as usize].sent.learn(returned);
        match (word, word.envelope(peer)) {
            (Word::Wanted { number, is_ready }, _) => {
                self.send_wanted(endpoint, peer, (number, is_ready))?;
            }
            (Word::Announced { number, .. }, Some(envelope)) => {
                self.peers[peer as usize].frames_in += 1;
                let message = Arrived::Announced(number);
                match self.matching.arrive(&envelope) {
                    Some(number) => self.meet(endpoint, number, envelope, message)?,
                    None => self.matching.keep(envelope, message),
                }
            }
            (Word::Eager { .. }, Some(envelope)) => {
                self.peers[peer as usize].frames_in += 1;
                self.take_eager(envelope, payload)?;
                self.return_credit(endpoint, peer)?;
            }
            (Word::Credit | Word::Eager { .. } | Word::Announced { .. }, _) => {}
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Sends a message that its receiver asks for; or forgets it, if nobody will look at it.
    fn send_wanted(
        &mut self,
        endpoint: &Endpoint,
        peer: u32,
        (announced, is_ready): (u64, bool),
    ) -> Result<(), TransportError> {
        let Some(number) = self.announced.remove(&announced) else {
            return match is_ready {
                true => self.send_nothing(endpoint, peer),
                false => Ok(()),
            };
        };
        let (Some(cluster), Some(send)) = (self.cluster.clone(), self.requests.send(number)) else {
            return Ok(());
        };
        self.peers[peer as usize].frames_out += 1;
        if !is_ready {
            self.end_send(number);
            return Ok(());
        }
        let (name, Iovec { address, bytes }) = (cluster.name(peer), send.memory);
        let mut state = cluster.state();
        state.network.sign(0);
        // SAFETY: the message is readable until its request has ended, as its sender promised: not before the network has said
        // that it has ended or is over.
        let begun = unsafe { state.network.send(name, DATA_TAG, address, bytes) };
        drop(state);
        let ticket = begun.map_err(|error| endpoint.message_failed(&error))?;
        send.state = Sending::Data { ticket };
        self.at_network.push(number);
        Ok(())
    }

    /// Sends nothing in the place of a message that was taken back since it was announced: its receiver waits for it.
    fn send_nothing(&mut self, endpoint: &Endpoint, peer: u32) -> Result<(), TransportError> {
        let Some(cluster) = self.cluster.clone() else {
            return Ok(());
        };
        let frame = self.frame();
        let mut state = cluster.state();
        state.network.sign(0);
        let (name, from) = (cluster.name(peer), frame.address());
        // SAFETY: no bytes are read.
        let begun = unsafe { state.network.send(name, DATA_TAG, from, 0) };
        drop(state);
        let ticket = begun.map_err(|error| endpoint.message_failed(&error))?;
        let to = peer;
        self.told.push(ToldFrame { to, ticket, frame });
        Ok(())
    }

    /// Whether a request of whose message the network has the bytes has ended now.
    fn look_at(&mut self, endpoint: &Endpoint, number: usize) -> Result<bool, TransportError> {
        let Some(cluster) = self.cluster.clone() else {
            return Ok(true);
        };
        let (peer, ticket, envelope) = match self.requests.get(number) {
            Request::Send(send) => match &send.state {
                Sending::Framed { ticket, .. } | Sending::Data { ticket } => {
                    (send.to, *ticket, None)
                }
                Sending::Waiting { .. } | Sending::Offered { .. } | Sending::Announced => {
                    return Ok(true);
                }
            },
            Request::Receive(receive) => match receive.state {
                Receiving::Data { envelope, ticket } => (envelope.source, ticket, Some(envelope)),
                Receiving::Posted | Receiving::Reading { .. } => return Ok(true),
            },
            Request::Free | Request::Ended(_) => return Ok(true),
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
                let is_framed = |send: &mut super::request::Send| {
                    matches!(send.state, Sending::Framed { .. }).then_some(send.to)
                };
                if let Some(to) = self.requests.send(number).and_then(is_framed) {
                    self.peers[to as usize].frames_out += 1;
                }
                self.end_send(number);
            }
            Some(envelope) if bytes == envelope.bytes => {
                let how = self.fits(number, envelope);
                self.end(number, how.map_err(Failure::from));
            }
            // Its sender has taken it back.
            Some(envelope) if bytes == 0 => {
                let rank = self.name(envelope.source);
                self.end(number, Err(TransportError::CallDropped { rank }.into()));
            }
            Some(envelope) => return Err(self.no_frame(endpoint, envelope.source)),
        }
        Ok(true)
    }
}
