//! Chained messages: what a rank hands on its interface sends by itself, when what is to come before has come.
//!
//! Source: Q 3.1 (the event processor of an interface chains puts).

use crate::schedule::{BROADCAST_PORT, OpKind, Plan};

/// How much of a rank's plan its interface does by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    /// How many messages the interface takes in that a later one hands on …
    before_last_send: u32,
    /// … and how many have been taken in so far, of all.
    taken: u32,
}

impl Chain {
    /// That of a plan: the messages that are received before the last one is sent, a broadcast not counted.
    pub(super) fn of(plan: &Plan) -> Chain {
        let sends =
            |kind: OpKind| matches!(kind, OpKind::Send { port, .. } if port != BROADCAST_PORT);
        let receives = |kind: OpKind| matches!(kind, OpKind::Recv { .. });
        let last_send = plan.ops.iter().rposition(|op| sends(op.kind));
        let before = &plan.ops[..last_send.unwrap_or(0)];
        Chain {
            before_last_send: before.iter().filter(|op| receives(op.kind)).count() as u32,
            taken: 0,
        }
    }

    /// Takes in a message; says whether the interface does so by itself.
    pub(super) fn takes(&mut self) -> bool {
        self.taken += 1;
        self.taken <= self.before_last_send
    }

    /// Whether the interface sends the next message by itself: it is among those that hand on.
    pub(super) fn sends(&self) -> bool {
        (1..=self.before_last_send).contains(&self.taken)
    }
}
