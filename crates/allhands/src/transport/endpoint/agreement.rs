//! Agreement: how an endpoint finds out that another rank calls differently, or sends what was not expected.

use crate::transport::TransportError;
use crate::transport::endpoint::receive::Expected;
use crate::transport::endpoint::request::RequestState;
use crate::transport::endpoint::state::Endpoint;
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::member::{RECENT, Stamp};
use crate::transport::shm::memory::iovec::{Iovec, Sink};
use crate::transport::shm::queue::ring::Header;
use allhands_core::call::Collective;
use allhands_core::schedule::{Extent, OpKind, Plan, PlanOp, Space};

/// Who is told of memory, by address and length, that no message has come to, as it was shorter than its room.
pub(crate) type LeftAlone = fn(*mut u8, usize);

/// Whether messages of a plan's calls may be shorter than their rooms on this rank: where it gathers, scatters or exchanges blocks,
/// and receives those that it neither sends on nor copies, nobody else misses what has not come.
pub(crate) fn may_be_shorter(plan: &Plan, call: &Stamp) -> bool {
    let is_output = |extent: &Extent| extent.space == Space::Output;
    let is_apart = |op: &PlanOp| match op.kind {
        OpKind::Recv { .. } => !op.moves(),
        OpKind::Copy => !op.moves() && !plan.extents[op.source()].iter().any(is_output),
        OpKind::Send { .. } => {
            let is_input = |extent: &Extent| extent.space == Space::Input;
            !op.moves() && plan.extents[op.source()].iter().all(is_input)
        }
        OpKind::RecvReduce { .. }
        | OpKind::Reduce
        | OpKind::Put { .. }
        | OpKind::PutReduce { .. }
        | OpKind::Get { .. }
        | OpKind::GetReduce { .. }
        | OpKind::Notify { .. }
        | OpKind::Wait { .. }
        | OpKind::Combine { .. }
        | OpKind::Await { .. } => false,
    };
    // Otherwise all ranks have said how long they are.
    let is_open = call.bytes() == 0;
    is_open
        && matches!(
            call.collective(),
            Collective::Gather | Collective::Scatter | Collective::Alltoall
        )
        && plan.ops.iter().all(is_apart)
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

    /// Compares the last few calls with those of all other ranks, as far as they have come.
    ///
    /// # Errors
    /// [`TransportError::Mismatch`].
    pub(crate) fn agree_so_far(&self) -> Result<(), TransportError> {
        /// Calls that are compared.
        const LAST: u64 = 8;
        let (rank, next) = (self.rank, self.next_call());
        let others = (0..self.ranks()).filter(|other| *other != rank);
        let recent = next.saturating_sub(LAST)..next;
        let mut all = others.flat_map(|other| recent.clone().map(move |call| (other, call)));
        match all.find_map(|(other, call)| Some((call, self.segment.compare(rank, other, call)?))) {
            Some((call, fault)) => Err(self.segment.poison_from(call, rank, fault)),
            None => Ok(()),
        }
    }

    #[cold]
    pub(crate) fn differs(&self, from: u32, call: u64) -> TransportError {
        let mut recent = call.saturating_sub(RECENT)..=call;
        let compare = |call| Some((call, self.segment.compare(self.rank, from, call)?));
        let found = recent.find_map(compare);
        // A call so long ago that it is forgotten: the present one must do.
        let mine = self
            .segment
            .record(self.rank)
            .entry(call)
            .unwrap_or_default();
        let (call, fault) = found.unwrap_or((
            call,
            Fault::Mismatch {
                rank: self.rank,
                other: from,
                mine,
                theirs: None,
            },
        ));
        self.segment.poison_from(call, self.rank, fault)
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
