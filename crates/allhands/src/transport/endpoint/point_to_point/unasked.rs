//! Unasked: long messages that go to a rank of another node right behind the frames that announce them, where the network lets them.
//!
//! The network keeps little of what nobody has asked for, and says when it would be more: then a message waits until it is wanted, as
//! where no network does this. Each of these goes on a [lane](super::lanes) of its own; when it has met a receive, this asks the network
//! for it, and what has landed meanwhile is there at once. One that nobody will look at is received without room for it.

use crate::transport::TransportError;
use crate::transport::endpoint::nodes::cluster::{Cluster, FRAME_TAG};
use crate::transport::endpoint::point_to_point::header::{EAGER_MOST, Word};
use crate::transport::endpoint::point_to_point::matching::Envelope;
use crate::transport::endpoint::point_to_point::message_error::Failure;
use crate::transport::endpoint::point_to_point::request::{Receiving, Send, Sending};
use crate::transport::endpoint::point_to_point::state::{
    Arrived, PassedBy, PointToPoint, ToldFrame,
};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::ToSend;

impl PointToPoint {
    /// Sends a long message with its announcement, if a lane is free and the network lets it go unasked; how far it is then.
    pub(super) fn send_unasked(
        &mut self,
        endpoint: &Endpoint,
        number: usize,
    ) -> Result<Option<Sending>, TransportError> {
        let (
            Some(cluster),
            Some(&mut Send {
                to,
                tag,
                element,
                memory,
                ..
            }),
        ) = (self.cluster.clone(), self.requests.send(number))
        else {
            return Ok(None);
        };
        // A short one waits for what it costs, so that a receiver keeps no more of these than it would without lanes.
        if memory.bytes <= EAGER_MOST {
            return Ok(None);
        }
        let Some(lane) = self.peers[to as usize].taken_lanes.free(cluster.lanes) else {
            return Ok(None);
        };
        let bytes = memory.bytes as u64;
        let word = Word::Sent {
            tag,
            element,
            bytes,
            lane,
        };
        let (frame, bytes) = self.fill_frame(to, (word, None));
        let announcement = ToSend {
            tag: FRAME_TAG,
            from: frame.address(),
            bytes,
        };
        let message = ToSend {
            tag: cluster.lane_tag(lane),
            from: memory.address,
            bytes: memory.bytes,
        };
        let mut state = cluster.state();
        state.network.sign(0);
        let (name, both) = (cluster.name(to), [announcement, message]);
        // SAFETY: the frame is kept until the network has said that it has ended or is over; the message is readable until its request
        // has ended, as its sender promised: not before the network has said that it has ended or is over.
        let begun = unsafe { state.network.send_unasked(name, both) };
        drop(state);
        let Some([told, ticket]) = begun.map_err(|error| endpoint.message_failed(&error))? else {
            self.frames.push(frame);
            return Ok(None);
        };
        let peer = &mut self.peers[to as usize];
        peer.sent.send(0);
        peer.taken_lanes.take(lane);
        self.told.push(ToldFrame {
            to,
            ticket: told,
            frame,
        });
        let lane = Some(lane);
        Ok(Some(Sending::Data { ticket, lane }))
    }

    /// Receives a message that is on its way, or here, on a lane: to the receive that it has met, unless this ends by that.
    pub(super) fn take_unasked(
        &mut self,
        endpoint: &Endpoint,
        number: usize,
        (envelope, lane): (Envelope, u8),
        is_taken_back: bool,
    ) -> Result<(), TransportError> {
        let (Some(cluster), Some(room)) = (
            self.cluster.clone(),
            self.requests.receive(number).map(|receive| receive.room),
        ) else {
            return Ok(());
        };
        let from = envelope.source;
        let how: Result<(), Failure> = match is_taken_back {
            true => {
                let rank = self.name(from);
                Err(TransportError::CallDropped { rank }.into())
            }
            false => self.fits(number, envelope).map(drop).map_err(Failure::from),
        };
        let bytes = match &how {
            Ok(()) => envelope.bytes as usize,
            Err(_) => 0,
        };
        let mut state = cluster.state();
        state.network.sign(0);
        let (name, tag) = (cluster.name(from), cluster.lane_tag(lane));
        // SAFETY: the receive's memory, of which no byte is touched if the message does not fit; otherwise it is as long as that at
        // least, and its owner leaves it alone until the request has ended: not before the network has said that the message has
        // ended or is over.
        let begun = unsafe { state.network.receive(name, tag, room.address, bytes) };
        drop(state);
        let ticket = begun.map_err(|error| endpoint.message_failed(&error))?;
        if let Err(failure) = how {
            self.passed_by.push(PassedBy { from, lane, ticket });
            self.end(number, Err(failure));
            return Ok(());
        }
        if let Some(receive) = self.requests.receive(number) {
            let lane = Some(lane);
            receive.state = Receiving::Data {
                envelope,
                ticket,
                lane,
            };
        }
        // It may be here.
        if !self.look_at(endpoint, number)? {
            self.at_network.push(number);
        }
        Ok(())
    }

    /// A lane is free again.
    pub(super) fn give_lane_back(
        &mut self,
        endpoint: &Endpoint,
        source: u32,
        lane: u8,
    ) -> Result<(), TransportError> {
        self.peers[source as usize].free_lanes.give_back(lane);
        self.return_credit(endpoint, source)
    }

    /// Looks which of the messages have come that nobody will look at.
    pub(super) fn look_at_passed_by(
        &mut self,
        endpoint: &Endpoint,
        cluster: &Cluster,
    ) -> Result<(), TransportError> {
        let mut at = 0;
        while let Some(&PassedBy { from, lane, ticket }) = self.passed_by.get(at) {
            let ended = cluster.state().network.test(ticket);
            match ended {
                Ok(None) => at += 1,
                Ok(Some(_)) => {
                    self.passed_by.swap_remove(at);
                    self.give_lane_back(endpoint, from, lane)?;
                }
                Err(error) => {
                    self.passed_by.swap_remove(at);
                    self.cancel_ticket(ticket);
                    self.lose(endpoint, cluster, (from, error))?;
                }
            }
        }
        Ok(())
    }

    /// A message on a lane was taken back by its sender: a receive that meets it from now on is told so.
    pub(super) fn note_taken_back(&mut self, source: u32, taken_back: u8) {
        let is_it = |message: &&mut Arrived| matches!(message, Arrived::Sent { lane, .. } if *lane == taken_back);
        if let Some(message) = self.matching.kept(source).find(is_it) {
            *message = Arrived::Sent {
                lane: taken_back,
                is_taken_back: true,
            };
        }
    }

    /// Says which messages were taken back that are on their way.
    pub(crate) fn say_taken_back(&mut self, endpoint: &Endpoint) -> Result<(), TransportError> {
        while let Some((to, lane)) = self.taken_back.pop() {
            if !self.peers[to as usize].is_closed {
                self.say(endpoint, to, Word::TakenBack { lane })?;
            }
        }
        Ok(())
    }
}
