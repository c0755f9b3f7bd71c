//! Unexpected messages: those that came before they were wanted, and were put aside.

use crate::transport::AlignedBytes;
use crate::transport::endpoint::message::offer::Offer;
use crate::transport::shm::queue::buffers::Part;
use crate::transport::shm::queue::ring::Header;

/// A message taken out of its queue.
#[derive(Debug)]
pub(crate) struct Unexpected {
    pub(crate) header: Header,
    pub(crate) content: Content,
}

/// What is kept of a message.
#[derive(Debug)]
pub(crate) enum Content {
    Eager(AlignedBytes, Part),
    Rendezvous(Offer),
}
