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
use allhands_core::schedule::{OpKind, Plan, PlanOp};
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
    /// Those of a plan, on a node of `here` ranks: with ranks of other nodes no copy protocol is tried.
    pub(crate) fn of(plan: &Plan, slots: &[Slot], double: Option<&Double>, here: u32) -> Exchanges {
        let message = |(at, op): (usize, &PlanOp)| {
            let to = match op.kind {
                OpKind::Send { to, .. } if to < here => to,
                _ => return None,
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
                true => endpoint.trials(peer).map(|_| Instant::now()),
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
                let Some(trials) = endpoint.trials(peer) else {
                    return;
                };
                timed.into_iter().for_each(|timed| trials.end(timed));
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::endpoint::plan::slots::{slots, watches};
    use allhands_core::algorithm;
    use allhands_core::call::{Call, Collective};
    use allhands_core::schedule::Layout;

    /// With whom rank 0 has its first long exchange, and whether there are more.
    fn of(collective: Collective, name: &str, ranks: u32, bytes: usize) -> (Option<u32>, bool) {
        on_node((collective, name), ranks, bytes, ranks)
    }

    /// The same on a node of `here` ranks.
    fn on_node(
        (collective, name): (Collective, &str),
        ranks: u32,
        bytes: usize,
        here: u32,
    ) -> (Option<u32>, bool) {
        let algorithm = algorithm::find(collective, name).unwrap();
        let shape = algorithm.shape(Call::new(collective, ranks), "").unwrap();
        let schedule = algorithm.schedule(&shape, 0);
        let plan = Plan::lower(&schedule, &shape.call, &Layout::Regular(bytes), 1).unwrap();
        let (watches, _) = watches(&plan);
        let (slots, _) = slots(&plan, &watches);
        let exchanges = Exchanges::of(&plan, &slots, None, here);
        (exchanges.first.map(|(peer, _)| peer), exchanges.has_more)
    }

    #[test]
    fn ranks_of_other_nodes_are_left_out() {
        let doubling = (Collective::Allreduce, "recursive-doubling");
        let long = MEDIUM_BYTES + 1;
        assert_eq!(on_node(doubling, 4, long, 4), (Some(1), true));
        assert_eq!(on_node(doubling, 4, long, 2), (Some(1), false));
        assert_eq!(on_node(doubling, 4, long, 1), (None, false));
    }

    #[test]
    fn an_exchange_alone_is_told_from_several() {
        let long = MEDIUM_BYTES + 1;
        let alltoall = |ranks, bytes| of(Collective::Alltoall, "direct", ranks, bytes);
        assert_eq!(alltoall(2, long), (Some(1), false));
        assert_eq!(alltoall(2, MEDIUM_BYTES), (None, false), "they are short");
        let allreduce = |ranks| of(Collective::Allreduce, "recursive-doubling", ranks, long);
        assert_eq!(allreduce(2), (Some(1), false));
        assert_eq!(allreduce(4), (Some(1), true), "one after another");
        let gather = of(Collective::Gather, "direct", 2, long);
        assert_eq!(gather, (None, false), "it goes one way");
    }
}
