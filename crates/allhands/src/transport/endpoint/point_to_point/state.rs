//! The state: what a rank keeps for its messages to and from single ranks.

use crate::transport::endpoint::nodes::cluster::{Cluster, State};
use crate::transport::endpoint::point_to_point::credit::{ReceiveCredit, SendCredit, Total};
use crate::transport::endpoint::point_to_point::lanes::{ReceiveLanes, SendLanes};
use crate::transport::endpoint::point_to_point::matching::Matching;
use crate::transport::endpoint::point_to_point::message_error::Failure;
use crate::transport::endpoint::point_to_point::request::{
    Received, Receiving, Request, Requests, Sending,
};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::Ticket;
use crate::transport::shm::protocol::message_descriptors::{MessageDescriptors, Offered};
use crate::transport::shm::rendezvous::descriptor::Revoked;
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::{AlignedBytes, TransportError};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// What is kept of a message that has met no receive.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// It came with its bytes.
    Eager(Box<[u8]>),
    /// Its sender, on this node, offers it by the line at this offset.
    Offered(u64),
    /// Its sender, on another node, knows it by this number.
    Announced(u64),
    /// It is on its way, or here, on this lane; its sender may have taken it back since.
    Sent { lane: u8, is_taken_back: bool },
}

/// Another rank, or this one.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// Messages to it that wait for credit or room, by the numbers of their requests.
    pub(super) waiting: VecDeque<usize>,
    pub(super) sent: SendCredit,
    pub(super) received: ReceiveCredit,
    /// The lanes to it, and those from it.
    pub(super) taken_lanes: SendLanes,
    pub(super) free_lanes: ReceiveLanes,
    /// The receive of its next frame, if it is on another node and this rank has to do with it.
    pub(super) contact: Option<(Ticket, AlignedBytes)>,
    /// Messages that have come in frames, and that have gone.
    pub(super) frames_in: u64,
    pub(super) frames_out: u64,
    /// Whether no frame can come any more.
    pub(super) is_closed: bool,
    /// Since when it is known that it has left.
    pub(super) gone_since: Option<Instant>,
}

/// A frame on its way to a peer.
#[derive(Debug)]
pub(super) struct ToldFrame {
    pub(super) to: u32,
    pub(super) ticket: Ticket,
    pub(super) frame: AlignedBytes,
}

/// A message on its way from a peer that nobody will look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassedBy {
    pub(super) from: u32,
    pub(super) lane: u8,
    pub(super) ticket: Ticket,
}

/// All messages of a rank that are no part of a collective call.
pub(crate) struct PointToPoint {
    pub(super) segment: Arc<SharedSegment>,
    pub(super) cluster: Option<Arc<Cluster>>,
    /// The number on the node; ranks of other nodes have the numbers behind, from `here` on.
    pub(super) rank: u32,
    pub(super) here: u32,
    pub(super) requests: Requests,
    pub(super) matching: Matching<Arrived>,
    pub(super) peers: Box<[Peer]>,
    /// The peers to whom messages wait.
    pub(super) waiting: Vec<u32>,
    /// Sends whose receivers are to read them, receives that read, and messages that the network has, by their numbers.
    pub(super) offered: Vec<usize>,
    pub(super) reading: Vec<usize>,
    pub(super) at_network: Vec<usize>,
    pub(super) descriptors: MessageDescriptors,
    /// The position in the own mailbox.
    pub(super) position: u64,
    /// The peers whose frames are received.
    pub(super) contacts: Vec<u32>,
    /// Frames that the network has, of no request.
    pub(super) told: Vec<ToldFrame>,
    /// Messages that are received as they are on their way, and thrown away.
    pub(super) passed_by: Vec<PassedBy>,
    /// Messages that were taken back on their way, by their receivers and lanes, until these are told.
    pub(super) taken_back: Vec<(u32, u8)>,
    /// Frames that nobody has.
    pub(super) frames: Vec<AlignedBytes>,
    /// Messages that were announced to other nodes, by the numbers that their receivers know, with those of their requests.
    pub(super) announced: BTreeMap<u64, usize>,
    pub(super) next_announced: u64,
    /// When it was looked last whether messages can come at all, by who tests and never waits.
    pub(crate) looked_out: Option<Instant>,
}

// SAFETY: the addresses in requests are those of users' memory, whose owners leave it alone until the requests have ended, on
// whichever thread that is.
unsafe impl std::marker::Send for PointToPoint {}

impl PointToPoint {
    /// Nothing sent or received yet.
    ///
    /// # Errors
    /// [`TransportError::NoMemory`].
    pub(crate) fn new(endpoint: &Endpoint) -> Result<PointToPoint, TransportError> {
        let (segment, ranks) = (Arc::clone(endpoint.segment()), endpoint.global_ranks());
        segment.make_mailbox(endpoint.rank())?;
        Ok(PointToPoint {
            rank: endpoint.rank(),
            here: endpoint.ranks(),
            cluster: endpoint.cluster.clone(),
            requests: Requests::default(),
            matching: Matching::new(ranks),
            peers: (0..ranks).map(|_| Peer::default()).collect(),
            waiting: Vec::new(),
            offered: Vec::new(),
            reading: Vec::new(),
            at_network: Vec::new(),
            descriptors: MessageDescriptors::new(segment.arena()),
            position: 0,
            contacts: Vec::new(),
            told: Vec::new(),
            passed_by: Vec::new(),
            taken_back: Vec::new(),
            frames: Vec::new(),
            announced: BTreeMap::new(),
            next_announced: 0,
            looked_out: None,
            segment,
        })
    }

    /// How much is under way: what has to be taken further.
    pub(crate) fn under_way(&self) -> usize {
        self.requests.under_way + self.told.len() + self.passed_by.len()
    }

    /// The number by which this rank knows a rank of the communicator.
    pub(crate) fn number(&self, rank: u32) -> u32 {
        self.cluster
            .as_ref()
            .map_or(rank, |c| c.numbers[rank as usize])
    }

    /// What a peer is called in the communicator.
    pub(super) fn name(&self, number: u32) -> u32 {
        self.segment.name(number)
    }

    /// What the own rank is called.
    pub(super) fn own_name(&self) -> u32 {
        self.name(self.rank)
    }

    /// A message that came with so many bytes has met its receive: so its sender may send more.
    pub(super) fn give_back(&mut self, source: u32, bytes: usize) -> Result<(), TransportError> {
        let credit = &mut self.peers[source as usize].received;
        let Total { messages, bytes } = credit.give_back(bytes);
        if source >= self.here {
            return Ok(());
        }
        if let Some(returned) = self.segment.returned(self.rank, source) {
            returned.set(messages, bytes);
        }
        self.segment.wake(source);
        Ok(())
    }

    /// Ends a request.
    pub(super) fn end(&mut self, number: usize, how: Result<Received, Failure>) {
        let ended = self.requests.end(number, how);
        if let Request::Send(send) = ended
            && let Sending::Framed { frame, .. } = send.state
        {
            self.frames.push(frame);
        }
    }

    /// Ends a request that cannot complete: afterwards nobody touches its memory.
    pub(crate) fn fail(&mut self, number: usize, failure: Failure) {
        if !self.requests.has_ended(number) {
            self.let_go(number);
            self.end(number, Err(failure));
        }
    }

    /// Ends all requests, as nothing can complete any more.
    pub(crate) fn fail_all(&mut self, error: &TransportError) {
        for number in self.requests.numbers() {
            self.fail(number, Failure::Transport(error.clone()));
        }
    }

    /// Takes a receive back that no message has met; whether that was so.
    pub(crate) fn cancel_receive(&mut self, number: usize) -> bool {
        let Some(receive) = self.requests.receive(number) else {
            return false;
        };
        let wanted = receive.wanted;
        let is_posted = matches!(receive.state, Receiving::Posted);
        if !is_posted || !self.matching.cancel(wanted, number) {
            return false;
        }
        let rank = self.own_name();
        self.end(number, Err(TransportError::CallDropped { rank }.into()));
        true
    }

    /// Takes back whatever a peer, or the network, has of a request.
    fn let_go(&mut self, number: usize) {
        if let Some(send) = self.requests.send(number) {
            let to = send.to;
            let ticket = match &mut send.state {
                Sending::Waiting { line } => {
                    let line = *line;
                    self.peers[to as usize]
                        .waiting
                        .retain(|other| *other != number);
                    return line.into_iter().for_each(|line| self.revoke(line));
                }
                Sending::Offered { line, .. } => {
                    let line = *line;
                    self.offered.retain(|other| *other != number);
                    return self.revoke(line);
                }
                Sending::Announced => return self.announced.retain(|_, other| *other != number),
                Sending::Framed { ticket, .. } => *ticket,
                Sending::Data { ticket, lane } => {
                    self.taken_back.extend(lane.map(|lane| (to, lane)));
                    *ticket
                }
            };
            self.at_network.retain(|other| *other != number);
            return self.cancel_ticket(ticket);
        }
        let Some(receive) = self.requests.receive(number) else {
            return;
        };
        match receive.state {
            Receiving::Posted => {
                let wanted = receive.wanted;
                let was_there = self.matching.cancel(wanted, number);
                debug_assert!(was_there, "no message has met it");
            }
            Receiving::Reading { .. } => self.reading.retain(|other| *other != number),
            // A lane whose message is not received here is never given back, as nobody knows whether that has come.
            Receiving::Data { ticket, .. } => {
                self.at_network.retain(|other| *other != number);
                self.cancel_ticket(ticket);
            }
        }
    }

    /// Takes back what is offered by a line; a receiver that reads it at this moment is waited for.
    fn revoke(&mut self, line: u64) {
        // SAFETY: a line of ours.
        let offered = unsafe { Offered::at(self.segment.arena(), line) };
        // A process that has ended reads no more, wherever it was.
        let is_gone = || self.segment.liveness().is_any_dead();
        if offered.descriptor.revoke(is_gone) == Revoked::Read {
            self.descriptors.give_back(line);
        }
    }

    /// Ends a message that the network has.
    pub(super) fn cancel_ticket(&mut self, ticket: Ticket) {
        let Some(cluster) = &self.cluster else {
            return;
        };
        let mut state = cluster.state();
        while !state.network.cancel(ticket) {
            // What stands in the way of this message stopped the communicator.
            let _ = state.look();
            std::thread::yield_now();
        }
    }
}

impl Drop for PointToPoint {
    fn drop(&mut self) {
        for number in self.requests.numbers() {
            self.let_go(number);
        }
        let told = std::mem::take(&mut self.told);
        let contacts = self.peers.iter_mut().filter_map(|peer| peer.contact.take());
        let told = told.into_iter().map(|frame| (frame.ticket, frame.frame));
        let all: Vec<(Ticket, AlignedBytes)> = contacts.chain(told).collect();
        let Some(cluster) = &self.cluster else {
            return;
        };
        let mut state = cluster.state();
        state.frames = self.peers.iter().map(|peer| peer.frames_out).collect();
        for (ticket, frame) in all {
            abandon(&mut state, ticket, frame);
        }
        for PassedBy { ticket, .. } in self.passed_by.drain(..) {
            // Nothing of it is in use, whether or not that is over.
            state.network.cancel(ticket);
        }
    }
}

/// Takes back a frame of which nothing matters any more.
pub(super) fn abandon(state: &mut State, ticket: Ticket, frame: AlignedBytes) {
    if !state.network.cancel(ticket) {
        // Memory that is nobody's any more may be touched for ever.
        std::mem::forget(frame);
    }
}
