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
        match all.find_map(|(other, call)| self.fabric.compare(rank, other, call)) {
            Some(fault) => Err(self.fabric.poison(rank, fault)),
            None => Ok(()),
        }
    }

    #[cold]
    pub(super) fn differs(&self, from: u32, call: u64) -> TransportError {
        let mut recent = call.saturating_sub(RECENT)..=call;
        let compare = |call| self.fabric.compare(self.rank, from, call);
        let fault = recent.find_map(compare);
        // A call so long ago that it is forgotten: the present one must do.
        let mine = self
            .fabric
            .record(self.rank)
            .entry(call)
            .unwrap_or_default();
        self.fabric.poison(
            self.rank,
            fault.unwrap_or(Fault::Mismatch {
                rank: self.rank,
                other: from,
                mine,
                theirs: None,
            }),
        )
    }

    #[inline]
    pub(super) fn fits(
        &self,
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
        Err(self.fabric.poison(self.rank, fault))
    }
}
