//! Requests: the messages that a rank has begun to send or to receive, by number.

use crate::transport::AlignedBytes;
use crate::transport::endpoint::point_to_point::matching::{Envelope, Wanted};
use crate::transport::endpoint::point_to_point::message_error::Failure;
use crate::transport::net::Ticket;
use crate::transport::shm::memory::arena::Block;
use crate::transport::shm::memory::iovec::Iovec;

/// A message that was received or sent: whose it is, or to whom it went, its tag, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Received {
    /// The rank in the communicator.
    pub(crate) rank: u32,
    pub(crate) tag: u32,
    pub(crate) bytes: usize,
}

/// A message to be sent.
#[derive(Debug)]
pub(crate) struct Send {
    /// The receiver's number.
    pub(crate) to: u32,
    pub(crate) tag: u32,
    /// The code of its element's type.
    pub(crate) element: u64,
    pub(crate) memory: Iovec,
    pub(crate) state: Sending,
}

/// How far a message is that is sent.
#[derive(Debug)]
pub(crate) enum Sending {
    /// There is no credit, or no room, for it. Its line, if it has one already, is offered and not announced.
    Waiting { line: Option<u64> },
    /// Its receiver reads it by the line at this offset; or asks for it to be bounced, from byte `next` on.
    Offered {
        line: u64,
        bounce_buffer: Option<Block>,
        next: usize,
    },
    /// It is in this frame.
    Framed { ticket: Ticket, frame: AlignedBytes },
    /// Its receiver, on another node, knows of it.
    Announced,
    /// It is on its way, on a lane if nobody has asked for it.
    Data { ticket: Ticket, lane: Option<u8> },
}

/// A message to be received.
#[derive(Debug)]
pub(crate) struct Receive {
    pub(crate) wanted: Wanted,
    pub(crate) element: u64,
    pub(crate) room: Iovec,
    pub(crate) state: Receiving,
}

/// How far a receive is.
#[derive(Debug)]
pub(crate) enum Receiving {
    /// No message has met it.
    Posted,
    /// The message that has is read by the line at this offset.
    Reading { envelope: Envelope, line: u64 },
    /// It comes from another node, on a lane if it was not asked for.
    Data {
        envelope: Envelope,
        ticket: Ticket,
        lane: Option<u8>,
    },
}

/// A message that comes, and its lane if it is on one.
pub(crate) type OnLane = (Envelope, Option<u8>);

/// One request.
#[derive(Debug)]
pub(crate) enum Request {
    Free,
    Send(Send),
    Receive(Receive),
    Ended(Result<Received, Failure>),
}

/// All requests of a rank.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    requests: Vec<Request>,
    free: Vec<usize>,
    /// How many have not ended.
    pub(crate) under_way: usize,
}

impl Requests {
    /// Keeps a request; gives its number.
    pub(crate) fn keep(&mut self, request: Request) -> usize {
        self.under_way += 1;
        match self.free.pop() {
            Some(number) => {
                self.requests[number] = request;
                number
            }
            None => {
                self.requests.push(request);
                self.requests.len() - 1
            }
        }
    }

    /// The send with this number, if it has not ended.
    pub(crate) fn send(&mut self, number: usize) -> Option<&mut Send> {
        match self.requests.get_mut(number) {
            Some(Request::Send(send)) => Some(send),
            Some(Request::Free | Request::Receive(_) | Request::Ended(_)) | None => None,
        }
    }

    /// The receive with this number, if it has not ended.
    pub(crate) fn receive(&mut self, number: usize) -> Option<&mut Receive> {
        match self.requests.get_mut(number) {
            Some(Request::Receive(receive)) => Some(receive),
            Some(Request::Free | Request::Send(_) | Request::Ended(_)) | None => None,
        }
    }

    /// What the network has of a request, if it has anything: with whom, what it calls that, and, of a receive, its message's envelope
    /// and lane.
    pub(crate) fn network_has(&self, number: usize) -> Option<(u32, Ticket, Option<OnLane>)> {
        match self.get(number) {
            Request::Send(send) => match &send.state {
                Sending::Framed { ticket, .. } | Sending::Data { ticket, .. } => {
                    Some((send.to, *ticket, None))
                }
                Sending::Waiting { .. } | Sending::Offered { .. } | Sending::Announced => None,
            },
            Request::Receive(receive) => match receive.state {
                Receiving::Data {
                    envelope,
                    ticket,
                    lane,
                } => Some((envelope.source, ticket, Some((envelope, lane)))),
                Receiving::Posted | Receiving::Reading { .. } => None,
            },
            Request::Free | Request::Ended(_) => None,
        }
    }

    /// Ends a request that has not ended; gives it.
    pub(crate) fn end(&mut self, number: usize, how: Result<Received, Failure>) -> Request {
        self.under_way -= 1;
        std::mem::replace(&mut self.requests[number], Request::Ended(how))
    }

    /// Whether a request has ended.
    pub(crate) fn has_ended(&self, number: usize) -> bool {
        match &self.requests[number] {
            Request::Free | Request::Ended(_) => true,
            Request::Send(_) | Request::Receive(_) => false,
        }
    }

    /// How a request ended, which is then forgotten; none if it has not ended, or was forgotten.
    pub(crate) fn take(&mut self, number: usize) -> Option<Result<Received, Failure>> {
        match std::mem::replace(&mut self.requests[number], Request::Free) {
            Request::Ended(how) => {
                self.free.push(number);
                Some(how)
            }
            other => {
                self.requests[number] = other;
                None
            }
        }
    }

    /// The numbers of those that have not ended.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        let numbers = 0..self.requests.len();
        numbers.filter(|number| !self.has_ended(*number)).collect()
    }

    pub(crate) fn get(&self, number: usize) -> &Request {
        &self.requests[number]
    }
}
