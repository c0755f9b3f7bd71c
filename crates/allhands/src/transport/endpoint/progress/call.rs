//! Calls: how a rank begins one, takes it further, and stops it.

use crate::transport::endpoint::engine::node::NodeEngine;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::endpoint::state::request::{Buffers, RequestState};
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::member::Stamp;
use crate::transport::shm::failure::refusals::Refusals;
use crate::transport::{Combine, TransportError};
use allhands_core::progress::{Cursor, Status, advance};
use allhands_core::schedule::Plan;

impl Endpoint {
    /// Begins a call: gives it the next sequence number and shows peers its signature.
    ///
    /// All ranks begin their calls in the same order. The request may then be taken further by
    /// [`Endpoint::test`] and completed by [`Endpoint::wait`].
    ///
    /// # Errors
    /// The error that stopped the communicator, if there was one; the call has then not begun.
    ///
    /// # Panics
    /// If the request is under way already, or is of another rank.
    ///
    /// # Safety
    /// Until the request is no longer under way, or is dropped:
    /// - the buffers have the lengths that the request's plan says (`space_bytes`), aligned for the element;
    ///   nobody but this call writes the input or touches the output, except that input and output
    ///   may share memory as the plan was lowered for;
    /// - the request is driven with this plan and a cursor that was at its start, and with nothing else,
    ///   and plan and cursor come from [`Plan::lower`] of a verified schedule for this rank;
    /// - `combine` is given if the plan reduces, is for its element, and may be used.
    #[inline]
    pub unsafe fn begin(
        &mut self,
        request: &mut RequestState,
        stamp: &Stamp,
        buffers: Buffers,
        combine: Option<Combine>,
    ) -> Result<(), TransportError> {
        assert!(!request.is_under_way(), "a request is one call at a time");
        assert_eq!(
            request.rank, self.rank,
            "a request goes through its own endpoint"
        );
        let call = self.next_call;
        if let Some(error) = self.segment.stopped(self.rank, call) {
            return Err(error);
        }
        let chain = (self.chain.rotate_left(5) ^ stamp.hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if self.refusals != Refusals::default() {
            self.look_for_refused(call, (stamp, chain))?;
        }
        self.next_call += 1;
        self.chain = chain;
        self.segment.record(self.rank).enter(call, stamp, chain);
        request.depart(call, chain, buffers, combine);
        request.exchanges.begin(self);
        Ok(())
    }

    /// Takes a call as far as it goes without waiting.
    ///
    /// # Errors
    /// Whatever stopped the call; no peer touches its buffers any more, and the communicator is of
    /// no further use.
    #[inline]
    pub fn test(
        &mut self,
        request: &mut RequestState,
        plan: &Plan,
        cursor: &mut Cursor,
    ) -> Result<Status, TransportError> {
        if !request.is_under_way() {
            return Ok(Status::Done);
        }
        let status = match request.remote {
            None => advance(plan, cursor, &mut NodeEngine::new(self, request)),
            Some(_) => self.advance_remote(request, plan, cursor),
        };
        match status {
            Ok(Status::Done) => {
                request.exchanges.end(self);
                request.arrive();
            }
            Ok(Status::Pending) => {}
            Err(_) => {
                self.segment.stop_from(request.call());
                self.spread();
                request.stop();
            }
        }
        status
    }

    /// Ends a call that cannot complete: afterwards no peer touches its buffers. The communicator is of
    /// no further use, unless it already was not.
    pub fn stop(&mut self, request: &mut RequestState) {
        if request.is_under_way() {
            let rank = self.rank;
            let fault = Fault::Dropped { rank };
            self.segment.poison_from(request.call(), rank, fault);
            self.spread();
            request.stop();
        }
    }
}
