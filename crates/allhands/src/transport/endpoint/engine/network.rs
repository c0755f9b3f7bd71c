//! The network engine: drives requests that exchange messages with other nodes, around the engine of the own node.

use crate::transport::endpoint::engine::node::NodeEngine;
use crate::transport::endpoint::nodes::cluster::{Cluster, State};
use crate::transport::endpoint::nodes::differing::Differing;
use crate::transport::endpoint::nodes::remote::{Held, Hindrance, Message, Remote};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::endpoint::state::request::{Iovecs, RequestState};
use crate::transport::net::{Ended, NetworkError, SignedCall};
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::memory::iovec::{self, Iovec, Sink};
use crate::transport::{AlignedBytes, TransportError};
use allhands_core::progress::{Cursor, Engine, Post, Status, advance};
use allhands_core::schedule::{OpKind, Plan};
use std::sync::MutexGuard;

/// Drives one request that exchanges messages with other nodes; made anew for each look at the call.
pub(super) struct NetworkEngine<'a> {
    pub(super) node: NodeEngine<'a>,
    plan: &'a Plan,
    cluster: &'a Cluster,
    pub(super) state: MutexGuard<'a, State>,
    /// The ranks of this node have numbers below.
    here: u32,
    /// What is sent when all that may begin has begun.
    held: Vec<Held>,
}

/// The longest message that is sent as soon as it may, in bytes.
///
/// A longer one keeps the way out busy, and what its sender grants others goes the same way: they would wait until it is away, and
/// then it for them, so that every step of a ring took twice as long. So all receives that may begin do before it.
const SENT_AT_ONCE: usize = 8 << 10;

impl Engine for NetworkEngine<'_> {
    type Error = TransportError;

    fn start(&mut self, post: &Post<'_>) -> Result<Status, TransportError> {
        let status = match self.remote_peer(post) {
            Some(peer) if !post.kind().is_two_sided() => self.begin_one_sided(post, peer),
            // It began early.
            Some(peer) if self.message(post).ticket.is_some() => self.look(post, peer),
            Some(peer) => self.begin(post, peer),
            None => self.node.start(post),
        }?;
        self.begin_early(post.ticket)?;
        self.overlapped(post.ticket, status)
    }

    fn poll(&mut self, post: &Post<'_>) -> Result<Status, TransportError> {
        let status = match self.remote_peer(post) {
            Some(_) if !post.kind().is_two_sided() => self.look_at_put(post),
            Some(peer) => self.look(post, peer),
            None => self.node.poll(post),
        }?;
        self.overlapped(post.ticket, status)
    }
}

impl NetworkEngine<'_> {
    /// The peer of an operation, if it is on another node.
    fn remote_peer(&self, post: &Post<'_>) -> Option<u32> {
        post.kind().peer().filter(|peer| *peer >= self.here)
    }

    pub(super) fn remote(&mut self) -> &mut Remote {
        let remote = self.node.request.remote.as_mut();
        remote.expect("a request of this engine has remote messages")
    }

    fn message(&mut self, post: &Post<'_>) -> &mut Message {
        &mut self.remote().messages[post.ticket as usize]
    }

    /// Begins the receives of later steps that may when operation `ticket` has begun.
    fn begin_early(&mut self, ticket: u32) -> Result<(), TransportError> {
        let mut nth = 0;
        while let Some(early) = self.remote().overlap.early(ticket, nth) {
            let post = Post::of_step(self.plan, early);
            if let Some(peer) = self.remote_peer(&post) {
                self.begin(&post, peer)?;
            }
            nth += 1;
        }
        Ok(())
    }

    /// Whether an operation is over as far as its step is concerned: a late send is when it has begun, and what waits for late
    /// sends only when they have ended.
    fn overlapped(&mut self, ticket: u32, status: Status) -> Result<Status, TransportError> {
        let remote = self.remote();
        let has_begun = remote.messages[ticket as usize].ticket.is_some();
        if status == Status::Pending && !(has_begun && remote.overlap.is_late(ticket)) {
            return Ok(Status::Pending);
        }
        for late in remote.overlap.due(ticket) {
            let post = Post::of_step(self.plan, late);
            let is_late = self.remote().overlap.is_late(late);
            if let Some(peer) = self.remote_peer(&post).filter(|_| is_late)
                && self.look(&post, peer)? == Status::Pending
            {
                return Ok(Status::Pending);
            }
        }
        Ok(Status::Done)
    }

    /// Begins a message.
    fn begin(&mut self, post: &Post<'_>, peer: u32) -> Result<Status, TransportError> {
        let (kind, name) = (post.kind(), self.cluster.name(peer));
        let tag = self.cluster.tag(self.node.request.call, kind.channel());
        let sends = matches!(kind, OpKind::Send { .. });
        let own = match (kind, post.source(), post.target()) {
            (OpKind::Send { .. }, [extent], _) | (OpKind::Recv { .. }, _, [extent]) => {
                Some(self.node.request.iovec(extent))
            }
            _ => None,
        };
        let mut bounce_buffer = None;
        let iovec = own.unwrap_or_else(|| {
            let made = bounce_buffer.insert(self.remote().bounce_buffer(post.bytes));
            Iovec {
                address: made.address(),
                bytes: post.bytes,
            }
        });
        if sends && bounce_buffer.is_some() {
            let from = self.node.request.iovecs(post.source());
            // SAFETY: the call's own memory, to a bounce buffer that is ours and as long.
            unsafe { iovec::copy(from, std::iter::once(iovec)) };
        }
        // Messages of one channel stay in their order.
        let is_behind = |held: &Held| (held.name, held.tag) == (name, tag);
        if sends && (iovec.bytes > SENT_AT_ONCE || self.held.iter().any(is_behind)) {
            let ticket = post.ticket;
            self.held.push(Held {
                ticket,
                name,
                tag,
                iovec,
            });
            *self.message(post) = Message {
                bounce_buffer,
                is_held: true,
                ..Message::default()
            };
            return Ok(Status::Pending);
        }
        let network = &mut self.state.network;
        network.sign(self.node.request.chain);
        let begun = if sends {
            // SAFETY: the call's own memory, which stays as it is until the message has ended or the request is stopped, also where its
            // step ends before (`Overlap`: nothing writes it until then), or a bounce buffer, which the message keeps as long: both
            // only when the network has said that the message has ended or is over.
            unsafe { network.send(name, tag, iovec.address, iovec.bytes) }
        } else {
            // SAFETY: as above; nobody else touches what the operation writes, as the schedule orders operations, nor before its step
            // where it begins early (`Overlap`: nothing there touches it).
            unsafe { network.receive(name, tag, iovec.address, iovec.bytes) }
        };
        let ticket = match begun {
            Ok(ticket) => Some(ticket),
            Err(error) => return Err(self.failed(error)),
        };
        *self.message(post) = Message {
            ticket,
            bounce_buffer,
            ..Message::default()
        };
        // Short messages are away at once.
        match sends {
            true => self.look(post, peer),
            false => Ok(Status::Pending),
        }
    }

    /// Sends what was held until receives had begun.
    fn send_held(&mut self) -> Result<(), TransportError> {
        self.state.network.sign(self.node.request.chain);
        let mut all = std::mem::take(&mut self.held);
        for held in all.drain(..) {
            let Iovec { address, bytes } = held.iovec;
            // SAFETY: as in `begin`: the message keeps its bounce buffer, and its operation is under way.
            let begun = unsafe { (self.state.network).send(held.name, held.tag, address, bytes) };
            let ticket = begun.map_err(|error| self.failed(error))?;
            if let Some(remote) = &mut self.node.request.remote {
                let message = &mut remote.messages[held.ticket as usize];
                (message.ticket, message.is_held) = (Some(ticket), false);
            }
        }
        self.held = all;
        Ok(())
    }

    /// Ends a message, if it has ended.
    fn look(&mut self, post: &Post<'_>, peer: u32) -> Result<Status, TransportError> {
        let message = self.message(post);
        let Some(ticket) = message.ticket else {
            return Ok(match message.differs || message.is_held {
                true => Status::Pending,
                false => Status::Done,
            });
        };
        let ended = match self.state.network.test(ticket) {
            Ok(None) => return Ok(Status::Pending),
            Ok(Some(ended)) => ended,
            Err(error) => return Err(self.failed(error)),
        };
        if ended == Ended::Differs {
            // What is wrong is found out together with the peer, or the call fails without.
            let call = self.node.request.call;
            self.state
                .differing
                .get_or_insert(Differing::new(peer, call));
            let message = self.message(post);
            (message.ticket, message.differs) = (None, true);
            return Ok(Status::Pending);
        }
        let message = self.message(post);
        message.ticket = None;
        let bounce_buffer = message.bounce_buffer.take();
        if !matches!(post.kind(), OpKind::Send { .. }) {
            let received = self.fits(post, peer, ended)?;
            if let Some(bounce_buffer) = &bounce_buffer {
                self.unpack(post, bounce_buffer, received);
            }
        }
        if let (Some(bounce_buffer), Some(remote)) = (bounce_buffer, &mut self.node.request.remote)
        {
            remote.bounce_buffers.push(bounce_buffer);
        }
        Ok(Status::Done)
    }

    /// Where what is received goes.
    fn sink<'s>(&'s self, post: &Post<'s>) -> Sink<Iovecs<'s>> {
        let request = &*self.node.request;
        let into = request.iovecs(post.target());
        match post.kind() {
            OpKind::RecvReduce { side, .. } => {
                Sink::reduce(into, request.iovecs(post.source()), request.combine(), side)
            }
            _ => Sink::copy(into),
        }
    }

    /// Gives the bytes that have landed in a bounce buffer to where they belong.
    fn unpack(&self, post: &Post<'_>, bounce_buffer: &AlignedBytes, bytes: usize) {
        let mut sink = self.sink(post);
        let landed = Iovec {
            address: bounce_buffer.address(),
            bytes,
        };
        // SAFETY: all of the message is in the bounce buffer, which starts on a cache line; the sink's memory is the call's own, and its
        // extents are whole elements.
        unsafe { sink.feed(landed, Distance::Near) };
    }

    /// The length of a message, if it is what it may be.
    fn fits(&self, post: &Post<'_>, peer: u32, ended: Ended) -> Result<usize, TransportError> {
        let received = match ended {
            Ended::Whole(bytes) if bytes == post.bytes => return Ok(bytes),
            Ended::Whole(bytes) => {
                let (endpoint, request) = (&*self.node.endpoint, &*self.node.request);
                if endpoint.leaves_alone(request, (post.bytes, bytes), self.sink(post)) {
                    return Ok(bytes);
                }
                bytes as u64
            }
            Ended::TooLong | Ended::Differs => u64::MAX,
        };
        let rank = self.node.endpoint.rank();
        let fault = Fault::Length {
            rank,
            other: peer,
            expected: post.bytes as u64,
            received,
        };
        let call = self.node.request.call;
        Err(self.node.endpoint.segment().poison_from(call, rank, fault))
    }

    /// What stops the communicator as a message has failed.
    #[cold]
    pub(super) fn failed(&mut self, error: NetworkError) -> TransportError {
        let (endpoint, call) = (&*self.node.endpoint, self.node.request.call);
        endpoint.failed_in((self.cluster, &mut self.state), call, &error)
    }
}

impl Endpoint {
    /// As [`Endpoint::test`], of a request that exchanges messages with other nodes.
    #[cold]
    pub(crate) fn advance_remote(
        &mut self,
        request: &mut RequestState,
        plan: &Plan,
        cursor: &mut Cursor,
    ) -> Result<Status, TransportError> {
        let call = request.call;
        let (Some(cluster), Some(remote)) = (self.cluster.clone(), &mut request.remote) else {
            return Ok(Status::Pending);
        };
        let signature = request.chain;
        let has_begun = match remote.depart(SignedCall { call, signature }) {
            Ok(has_begun) => has_begun,
            Err(Hindrance::Network(error)) => {
                return Err(self.failed_in((&cluster, &mut cluster.state()), call, &error));
            }
            Err(Hindrance::Tags(error)) => {
                let rank = self.rank();
                let fault = Fault::Dropped { rank };
                self.segment().poison_from(call, rank, fault);
                return Err(error);
            }
        };
        let mut state = cluster.state();
        // First of all others are to get what they wait for.
        if has_begun && let Err(error) = state.look() {
            return Err(self.network_failed(error.to_string(), None));
        }
        let held = std::mem::take(&mut remote.held);
        let mut engine = NetworkEngine {
            here: self.ranks(),
            node: NodeEngine::new(self, request),
            plan,
            cluster: &cluster,
            state,
            held,
        };
        let mut status = match engine.exchange() {
            Ok(true) => advance(plan, cursor, &mut engine),
            Ok(false) => Ok(Status::Pending),
            Err(error) => Err(error),
        };
        // What is away at once lets the next go, of which no event would tell later.
        while matches!(status, Ok(Status::Pending)) && !engine.held.is_empty() {
            status = match engine.send_held() {
                Ok(()) => advance(plan, cursor, &mut engine),
                Err(error) => Err(error),
            };
        }
        if matches!(status, Ok(Status::Pending)) {
            status = engine.look_at_peers().map(|()| Status::Pending);
        }
        let mut held = std::mem::take(&mut engine.held);
        drop(engine);
        if let Some(remote) = &mut request.remote {
            held.clear();
            // The next look needs as much room.
            remote.held = held;
            if matches!(status, Ok(Status::Done)) {
                remote.arrive();
            }
        }
        status
    }
}
