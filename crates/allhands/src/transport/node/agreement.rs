//! Agreement: how a port finds out that another rank calls differently, or sends what was not expected.

use super::fault::Fault;
use super::flight::Flight;
use super::member::RECENT;
use super::port::Port;
use super::ring::Header;
use crate::transport::TransportError;

impl Port {
    #[inline]
    pub(super) fn agree(
        &self,
        flight: &Flight,
        from: u32,
        header: &Header,
    ) -> Result<(), TransportError> {
        if header.signature == flight.chain {
            return Ok(());
        }
        Err(self.differs(from, header.call))
    }

    /// Compares the last few calls with those of all other ranks, as far as they have come.
    ///
    /// # Errors
    /// [`TransportError::Mismatch`].
    pub(super) fn agree_so_far(&self) -> Result<(), TransportError> {
        /// Calls that are compared.
        const LAST: u64 = 8;
        let (rank, next) = (self.rank, self.next_call());
        let others = (0..self.ranks()).filter(|other| *other != rank);
        let recent = next.saturating_sub(LAST)..next;
        let mut all = others.flat_map(|other| recent.clone().map(move |call| (other, call)));
        match all.find_map(|(other, call)| Some((call, self.fabric.compare(rank, other, call)?))) {
            Some((call, fault)) => Err(self.fabric.poison_from(call, rank, fault)),
            None => Ok(()),
        }
    }

    #[cold]
    pub(super) fn differs(&self, from: u32, call: u64) -> TransportError {
        let mut recent = call.saturating_sub(RECENT)..=call;
        let compare = |call| Some((call, self.fabric.compare(self.rank, from, call)?));
        let found = recent.find_map(compare);
        // A call so long ago that it is forgotten: the present one must do.
        let mine = self
            .fabric
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
        self.fabric.poison_from(call, self.rank, fault)
    }

    #[inline]
    pub(super) fn fits(
        &self,
        call: u64,
        from: u32,
        expected: usize,
        received: usize,
    ) -> Result<(), TransportError> {
        if expected == received {
            return Ok(());
        }
        let fault = Fault::Length {
            rank: self.rank,
            other: from,
            expected: expected as u64,
            received: received as u64,
        };
        Err(self.fabric.poison_from(call, self.rank, fault))
    }
}
