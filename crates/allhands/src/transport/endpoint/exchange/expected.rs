//! The expected message: what a receive waits for, and whether one that has come is as it is to be.

use crate::transport::TransportError;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::endpoint::state::request::RequestState;
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::memory::iovec::{Iovec, Sink};
use crate::transport::shm::queue::ring::Header;

/// The message that a receive waits for.
pub(crate) struct Expected<'a> {
    pub(crate) request: &'a RequestState,
    pub(crate) from: u32,
    pub(crate) channel: u16,
    pub(crate) bytes: usize,
    /// Whether others are received with it, so that its sender is asked to copy it.
    pub(crate) is_one_of_several: bool,
}

impl Expected<'_> {
    #[inline]
    pub(crate) fn is(&self, header: &Header) -> bool {
        header.call == self.request.call && header.channel == self.channel
    }
}

impl Endpoint {
    #[inline]
    pub(crate) fn agree(
        &self,
        request: &RequestState,
        from: u32,
        header: &Header,
    ) -> Result<(), TransportError> {
        if header.signature == request.chain {
            return Ok(());
        }
        Err(self.differs(from, header.call))
    }

    /// Whether a message of `received` bytes is as long as it is to be, or may be shorter than what `sink` has room for.
    #[inline]
    pub(crate) fn fits<I: Iterator<Item = Iovec>>(
        &self,
        expected: &Expected<'_>,
        received: usize,
        sink: &impl Fn() -> Sink<I>,
    ) -> Result<(), TransportError> {
        if expected.bytes == received {
            return Ok(());
        }
        self.has_room(expected, received, sink)
    }

    #[cold]
    #[inline(never)]
    fn has_room<I: Iterator<Item = Iovec>>(
        &self,
        expected: &Expected<'_>,
        received: usize,
        sink: &impl Fn() -> Sink<I>,
    ) -> Result<(), TransportError> {
        let (request, room) = (expected.request, expected.bytes);
        if self.leaves_alone(request, (room, received), sink()) {
            return Ok(());
        }
        let fault = Fault::Length {
            rank: self.rank,
            other: expected.from,
            expected: room as u64,
            received: received as u64,
        };
        Err(self.segment.poison_from(request.call, self.rank, fault))
    }

    /// Whether a message may be shorter than its room, and is; then the memory in `sink` that nothing comes to is told of.
    #[cold]
    pub(crate) fn leaves_alone<I: Iterator<Item = Iovec>>(
        &self,
        request: &RequestState,
        (room, received): (usize, usize),
        sink: Sink<I>,
    ) -> bool {
        let tell = self.left_alone.filter(|_| request.may_be_shorter);
        // Nothing is not sent.
        let is_shorter = (1..room).contains(&received) && sink.copies();
        let Some(tell) = tell.filter(|_| is_shorter) else {
            return false;
        };
        let mut rest = sink.behind(received);
        while let Some(iovec) = rest.room(usize::MAX) {
            tell(iovec.address, iovec.bytes);
        }
        true
    }
}
