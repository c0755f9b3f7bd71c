//! Asked: long messages that wait at their sender, on another node, until their receiver wants them.

use crate::transport::TransportError;
use crate::transport::endpoint::nodes::cluster::DATA_TAG;
use crate::transport::endpoint::point_to_point::header::Word;
use crate::transport::endpoint::point_to_point::matching::Envelope;
use crate::transport::endpoint::point_to_point::request::{Receiving, Sending};
use crate::transport::endpoint::point_to_point::state::{PointToPoint, ToldFrame};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::memory::iovec::Iovec;

impl PointToPoint {
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
            let lane = None;
            receive.state = Receiving::Data {
                envelope,
                ticket,
                lane,
            };
            self.at_network.push(number);
        }
        let word = Word::Wanted {
            number: announced,
            is_ready,
        };
        self.say(endpoint, source, word)
    }

    /// Sends a message that its receiver asks for; or forgets it, if nobody will look at it.
    pub(super) fn send_wanted(
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
        let lane = None;
        send.state = Sending::Data { ticket, lane };
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
}
