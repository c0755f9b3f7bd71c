//! Progress: how a rank begins a call, takes it further, waits for its end, or stops it.

use crate::transport::endpoint::engine::NodeEngine;
use crate::transport::endpoint::overdue::Overdue;
use crate::transport::endpoint::request::{Buffers, RequestState};
use crate::transport::endpoint::state::Endpoint;
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::member::Stamp;
use crate::transport::shm::failure::refusals::Refusals;
use crate::transport::shm::wait::backoff::Patience;
use crate::transport::{Combine, TransportError};
use allhands_core::progress::{Cursor, Status, advance};
use allhands_core::schedule::Plan;
use std::time::Instant;

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
            Ok(Status::Done) => request.arrive(),
            Ok(Status::Pending) => {}
            Err(_) => {
                self.segment.stop_from(request.call());
                self.spread();
                request.stop();
            }
        }
        status
    }

    /// Completes a call, waiting for peers.
    ///
    /// Other requests do not move meanwhile; a rank with several under way waits with [`Endpoint::wait_until`].
    ///
    /// # Errors
    /// As [`Endpoint::test`].
    #[inline]
    pub fn wait(
        &mut self,
        request: &mut RequestState,
        plan: &Plan,
        cursor: &mut Cursor,
    ) -> Result<(), TransportError> {
        let call = request.call();
        let result = self.wait_until(call, |endpoint| endpoint.test(request, plan, cursor));
        if result.is_err() {
            self.segment.stop_from(call);
            // Before messages are ended, which may take until their receivers know.
            self.spread();
            request.stop();
        }
        result
    }

    /// Calls `step` until it says done: first in a spin, then yielding, then asleep between looks.
    ///
    /// `call` is the call that is waited for. `step` takes every request under way further, since
    /// a peer may need another one first; it returns what the caller waits for.
    ///
    /// # Errors
    /// Those of `step`, and whatever stops the communicator or shows that it cannot go on. The caller then
    /// stops ([`Endpoint::stop`]) or drops the requests that it drove.
    pub fn wait_until(
        &mut self,
        call: u64,
        mut step: impl FnMut(&mut Endpoint) -> Result<Status, TransportError>,
    ) -> Result<(), TransportError> {
        // The shortest calls are complete at the first look.
        if step(self)? == Status::Done {
            return Ok(());
        }
        self.wait_long(call, &mut step)
    }

    fn wait_long(
        &mut self,
        call: u64,
        step: &mut impl FnMut(&mut Endpoint) -> Result<Status, TransportError>,
    ) -> Result<(), TransportError> {
        if let Some(cluster) = self.cluster.clone() {
            let ended = self.wait_at_network(&cluster, call, step);
            return ended.inspect_err(|_| self.spread());
        }
        let (mut last_check, hook) = (None, self.while_waiting);
        let mut nap = hook.map_or(Patience::NAP, |_| Patience::HOOKED_NAP);
        let mut overdue = Overdue::default();
        loop {
            let start = Instant::now();
            for look in 0..self.patience.looks() {
                if step(self)? == Status::Done {
                    return Ok(());
                }
                self.patience.pause(look);
                if self.patience.is_hook_due(look) {
                    hook.inspect(|hook| hook());
                }
                if look % 64 == 63 && self.patience.is_over(start) {
                    break;
                }
            }
            self.segment.announce_sleep(self.rank);
            let status = step(self);
            if matches!(status, Ok(Status::Pending)) {
                // Until the first check is due a sleep is short, so that mistakes show early.
                self.segment.member(self.rank).wait_queue.sleep(nap);
                let longest = hook.map_or(Patience::LONGEST_NAP, |_| Patience::HOOKED_NAP);
                nap = (2 * nap).min(longest);
            }
            self.segment.rise(self.rank);
            if status? == Status::Done {
                return Ok(());
            }
            if self.patience.is_check_due(&mut last_check) {
                self.check(call)?;
                overdue.look(self, call);
            }
        }
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

    /// Looks now and then whether call `call` can complete at all, for those who test and never wait.
    ///
    /// # Errors
    /// Whatever stops the communicator. The caller then stops the requests that it drove.
    pub fn look_out(&mut self, call: u64) -> Result<(), TransportError> {
        match self.patience.is_check_due(&mut self.looked_out) {
            true => self.check(call).inspect_err(|_| self.spread()),
            false => Ok(()),
        }
    }

    /// Looks whether the calls waited for can complete at all.
    #[cold]
    pub(crate) fn check(&mut self, call: u64) -> Result<(), TransportError> {
        if let Some(cluster) = &self.cluster {
            self.hear(cluster, call)?;
        }
        if let Some(error) = self.segment.stopped(self.rank, call) {
            return Err(error);
        }
        match self.segment.trouble(self.rank, call) {
            // A rank that leaves when another has died: the reason is what counts.
            Some((_, Fault::Left { .. })) if self.segment.liveness().is_any_dead() => {
                self.segment.mourn(self.rank, Some(call))
            }
            Some((first, fault)) => {
                Err(self.segment.poison_from(first.min(call), self.rank, fault))
            }
            None => {
                self.look_for_refusal(call)?;
                self.segment.mourn(self.rank, Some(call))
            }
        }
    }
}
