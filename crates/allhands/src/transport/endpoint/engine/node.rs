//! The node engine: one endpoint and one request, among ranks that share memory.

use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::endpoint::state::request::RequestState;
use crate::transport::shm::protocol::copy_protocol::LongMessage;
use allhands_core::progress::{Post, Status};

/// Drives one request through one endpoint; made anew for each look at the call, at no cost.
#[derive(Debug)]
pub struct NodeEngine<'a> {
    pub(crate) endpoint: &'a mut Endpoint,
    pub(crate) request: &'a mut RequestState,
}

impl<'a> NodeEngine<'a> {
    #[inline]
    pub(crate) fn new(endpoint: &'a mut Endpoint, request: &'a mut RequestState) -> NodeEngine<'a> {
        debug_assert_eq!(
            endpoint.rank(),
            request.rank,
            "a request goes through its own endpoint"
        );
        NodeEngine { endpoint, request }
    }

    /// The message of an operation as its receiver has it.
    #[inline]
    pub(super) fn long_message(&self, post: &Post<'_>) -> LongMessage {
        LongMessage {
            bytes: post.bytes,
            combined: self.request.combines(post.ticket),
            exchanged: self.request.exchanges(post.ticket),
            copied: self.request.is_copied(post.ticket),
            alone: self.request.sends_alone(post.ticket),
        }
    }
}

#[inline]
pub(super) fn status(done: bool) -> Status {
    if done { Status::Done } else { Status::Pending }
}
