//! A double: a long copy of a call's own memory that is sent at the same time, made piece by piece as that goes.
//!
//! Both read the same. One after the other, what the first has read has left the core's own caches before the second comes to
//! it; here each piece is read once. The copy goes past the caches, which are left to what peers read.

use crate::transport::shm::tuning::COPY_AND_SEND_LEAST;
use allhands_core::schedule::{Extent, OpKind, Plan};
use std::cell::Cell;

/// Who makes the copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Whoever comes first.
    Open,
    /// The send, which is under way.
    Taken,
    /// It is made.
    Made,
}

/// The copy of a plan that may be made with a send, and how far it is in the call under way.
#[derive(Debug)]
pub(crate) struct Double {
    copy: u32,
    send: u32,
    /// To which rank the send goes.
    pub(crate) to: u32,
    /// Where the copy goes.
    pub(crate) into: Extent,
    state: Cell<State>,
}

impl Double {
    /// The first copy of a plan whose source goes, in the same step and begun before, to a rank for which `exchanges` holds.
    pub(crate) fn of(plan: &Plan, exchanges: impl Fn(usize) -> bool) -> Option<Double> {
        let steps = plan.items.iter().filter(|item| item.repeat.is_none());
        steps.into_iter().find_map(|item| {
            let (start, end) = (item.start as usize, item.end as usize);
            let copy = (start..end).find(|at| plan.ops[*at].kind == OpKind::Copy)?;
            let source = |at: usize| &plan.extents[plan.ops[at].source()];
            let send = (start..copy).find(|at| exchanges(*at) && source(*at) == source(copy))?;
            let [into] = plan.extents[plan.ops[copy].target()] else {
                return None;
            };
            let OpKind::Send { to, .. } = plan.ops[send].kind else {
                return None;
            };
            (into.bytes >= COPY_AND_SEND_LEAST && source(copy).len() == 1).then_some(Double {
                copy: copy as u32,
                send: send as u32,
                to,
                into,
                state: Cell::new(State::Open),
            })
        })
    }

    /// Whether it is made with the send of `ticket`.
    pub(crate) fn is_of(&self, ticket: u32) -> bool {
        ticket == self.send
    }

    /// Begins with a new call.
    pub(crate) fn open(&self) {
        self.state.set(State::Open);
    }

    /// Whether the next part that the send of `ticket` gives away is copied, too.
    pub(crate) fn is_made_by(&self, ticket: u32) -> bool {
        self.is_of(ticket) && self.state.get() != State::Made
    }

    /// Takes note that the send has given its first part away, or another, and makes the copy.
    pub(crate) fn take(&self) {
        self.state.set(State::Taken);
    }

    /// Takes note that the send has made the copy.
    pub(crate) fn make(&self) {
        self.state.set(State::Made);
    }

    /// Whether the copy of `ticket`, which the send has taken, is made; `None` where it shall be made now.
    pub(crate) fn is_made(&self, ticket: u32) -> Option<bool> {
        match self.state.get() {
            _ if ticket != self.copy => None,
            State::Taken => Some(false),
            State::Made => Some(true),
            State::Open => {
                self.make();
                None
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use allhands_core::algorithm;
    use allhands_core::call::{Call, Collective};
    use allhands_core::schedule::Layout;

    /// That of the first of two ranks with blocks of so many bytes.
    fn of(collective: Collective, name: &str, bytes: usize) -> Option<Double> {
        let algorithm = algorithm::find(collective, name).unwrap();
        let shape = algorithm.shape(Call::new(collective, 2), "").unwrap();
        let schedule = algorithm.schedule(&shape, 0);
        let plan = Plan::lower(&schedule, &shape.call, &Layout::Regular(bytes), 1).unwrap();
        Double::of(&plan, |at| matches!(plan.ops[at].kind, OpKind::Send { .. }))
    }

    #[test]
    fn a_plan_that_sends_what_it_copies_has_one() {
        assert!(of(Collective::Allgather, "direct", COPY_AND_SEND_LEAST).is_some());
        assert!(of(Collective::Allgather, "direct", COPY_AND_SEND_LEAST - 1).is_none());
        // It sends the copy.
        assert!(of(Collective::Allgather, "bruck", COPY_AND_SEND_LEAST).is_none());
        // It sends another block.
        assert!(of(Collective::Alltoall, "direct", COPY_AND_SEND_LEAST).is_none());
    }

    #[test]
    fn a_copy_is_made_once_by_whoever_comes_first() {
        let double = of(Collective::Allgather, "direct", COPY_AND_SEND_LEAST).unwrap();
        let (copy, send) = (double.copy, double.send);
        for _ in 0..2 {
            double.open();
            assert!(!double.is_made_by(copy) && double.is_made_by(send));
            double.take();
            assert_eq!([copy, send].map(|t| double.is_made(t)), [Some(false), None]);
            assert!(double.is_made_by(send), "its next part");
            double.make();
            assert!(!double.is_made_by(send));
            assert_eq!(double.is_made(copy), Some(true));
            double.open();
            assert_eq!(double.is_made(copy), None, "to be made now");
            assert!(
                !double.is_made_by(send),
                "that goes by another protocol now"
            );
        }
    }
}
