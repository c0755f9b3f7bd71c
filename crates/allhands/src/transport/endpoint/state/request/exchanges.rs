//! The exchanges of a request: since when the time of each counts that a copy protocol is tried on.
//!
//! What a protocol costs is more than its copies: its buffers drive out of the caches what the call copies besides, and ranks wait for
//! one another in other places. So the time of a call's only exchange is all of the call's, and each of several counts
//! from the end of the one before.

use crate::transport::endpoint::plan::slots::Slot;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::shm::protocol::copy_and_send::Double;
use crate::transport::shm::protocol::copy_protocol::{LongMessage, Timed};
use crate::transport::shm::queue::ring::MEDIUM_BYTES;
use allhands_core::schedule::{OpKind, Plan};
use std::cell::Cell;
use std::time::Instant;

/// The long exchanges of a plan, and the times of the call under way.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    /// The first, and with whom.
    first: Option<(u32, LongMessage)>,
    /// Whether there are more.
    has_more: bool,
    /// Since when the next one's time counts.
    since: Cell<Option<Instant>>,
    /// The only one, whose time lasts to the end of the call, and with whom.
    whole: Cell<Option<(u32, Timed)>>,
}

impl Exchanges {
    pub(crate) fn of(plan: &Plan, slots: &[Slot], double: Option<&Double>) -> Exchanges {
        let message = |(at, op): (usize, &_)| {
            let op: &allhands_core::schedule::PlanOp = op;
            let OpKind::Send { to, .. } = op.kind else {
                return None;
            };
            let message = LongMessage {
                bytes: op.bytes(),
                combined: slots[at].combines,
                exchanged: true,
                copied: double.is_some_and(|double| double.is_of(at as u32)),
                alone: slots[at].alone,
            };
            let is_long = slots[at].exchanges && message.bytes > MEDIUM_BYTES;
            is_long.then_some((to, message))
        };
        let mut all = plan.ops.iter().enumerate().filter_map(message);
        let first = all.next();
        let is_repeated = plan.items.iter().any(|item| item.repeat.is_some());
        Exchanges {
            first,
            has_more: first.is_some() && (is_repeated || all.next().is_some()),
            ..Exchanges::default()
        }
    }

    /// Begins a call.
    #[inline]
    pub(crate) fn begin(&self, endpoint: &mut Endpoint) {
        if let Some((peer, message)) = self.first {
            self.whole.set(None);
            self.since.set(match self.has_more {
                true => Some(Instant::now()),
                false => endpoint.start(peer, message),
            });
        }
    }

    /// Since when the time of the exchange counts that is about to end.
    pub(crate) fn since(&self) -> Option<Instant> {
        self.since.take()
    }

    /// Notes that an exchange has ended as far as its message goes.
    pub(crate) fn read(&self, endpoint: &mut Endpoint, peer: u32, timed: Option<Timed>) {
        match (timed, self.has_more) {
            (Some(timed), false) => self.whole.set(Some((peer, timed))),
            (timed, _) => {
                if let (Some(timed), Some(trials)) = (timed, endpoint.trials(peer)) {
                    trials.end(timed);
                }
                self.since.set(self.has_more.then(Instant::now));
            }
        }
    }

    /// Ends a call.
    #[inline]
    pub(crate) fn end(&self, endpoint: &mut Endpoint) {
        if self.first.is_some()
            && let Some((peer, timed)) = self.whole.take()
            && let Some(trials) = endpoint.trials(peer)
        {
            trials.end(timed);
        }
    }
}
