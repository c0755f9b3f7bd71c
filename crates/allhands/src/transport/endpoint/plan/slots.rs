//! Slots: what a request keeps for each operation of its plan, and for each lane of messages.

use allhands_core::schedule::{OpKind, Plan, PlanOp};
use std::collections::BTreeMap;

/// Messages of one direction between two ranks on one channel: first in, first out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lane {
    /// Operations that have asked for their turn.
    pub(crate) issued: u32,
    /// Operations whose turn is over.
    pub(crate) served: u32,
}

/// What a request keeps for an operation of its plan.
#[derive(Default)]
pub(crate) struct Slot {
    pub(crate) lane: u32,
    pub(crate) turn: u32,
    /// Whether its message lies with the receiver, to be read from the call's memory.
    pub(crate) posted: bool,
    /// Whether it sends to a rank that sends to this one at the same time.
    pub(crate) exchanges: bool,
    /// Whether what that rank sends at the same time is combined.
    pub(crate) combines: bool,
    /// Whether it sends a message in a step that sends and copies nothing else.
    pub(crate) alone: bool,
    /// Whether it sends the only message that its rank sends in a call.
    pub(crate) only: bool,
    /// Whether it copies own memory in a step that receives, and sends nothing.
    pub(crate) defers: bool,
    /// Whether it receives in a step whose copy may be deferred.
    pub(crate) beside_copy: bool,
    /// Bytes of its message that are away, while more are to follow.
    pub(crate) gone: usize,
    /// How often it was looked whether the message has been read.
    pub(crate) looks: u8,
}

/// The flags that a plan waits for, by (rank, flag), and what its waits have taken at first: less than nothing, by the
/// credit.
pub(crate) fn watches(plan: &Plan) -> (Vec<(u32, u16)>, Vec<i64>) {
    let flag = |op: &PlanOp| match op.kind {
        OpKind::Wait { at, flag, .. } => Some((at, flag)),
        _ => None,
    };
    let mut watches: Vec<(u32, u16)> = plan.ops.iter().filter_map(flag).collect();
    watches.sort_unstable();
    watches.dedup();
    let credit = |flag: u16| -i64::from(plan.credits[usize::from(flag)]);
    let taken = watches.iter().map(|(_, flag)| credit(*flag)).collect();
    (watches, taken)
}

/// A slot for each operation, and the number of lanes; a wait's lane is that of its flag among `watches`.
pub(crate) fn slots(plan: &Plan, watches: &[(u32, u16)]) -> (Box<[Slot]>, usize) {
    let mut lanes = BTreeMap::new();
    let mut of_message = |key: (bool, u32, u16)| {
        let next = lanes.len();
        *lanes.entry(key).or_insert(next)
    };
    let lane = |op: &PlanOp| match op.kind {
        OpKind::Send { to, channel, .. } => of_message((true, to, channel)),
        OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
            of_message((false, from, channel))
        }
        OpKind::Wait { at, flag, .. } => watches.partition_point(|w| *w < (at, flag)),
        OpKind::Combine { .. }
        | OpKind::Copy
        | OpKind::Reduce
        | OpKind::Put { .. }
        | OpKind::PutReduce { .. }
        | OpKind::Get { .. }
        | OpKind::GetReduce { .. }
        | OpKind::Notify { .. }
        | OpKind::Await { .. } => 0,
    };
    let slot = |lane: usize| Slot {
        lane: lane as u32,
        ..Slot::default()
    };
    let sends = |op: &PlanOp| matches!(op.kind, OpKind::Send { .. });
    let sends_once = plan.ops.iter().filter(|op| sends(op)).count() == 1
        && plan.items.iter().all(|item| item.repeat.is_none());
    let mut slots: Box<[Slot]> = plan.ops.iter().map(lane).map(slot).collect();
    let exchanges = plan.exchanges();
    for item in &plan.items {
        let range = item.start as usize..item.end as usize;
        let ops = &plan.ops[range.clone()];
        let combines = |peer: u32| {
            ops.iter()
                .any(|op| matches!(op.kind, OpKind::RecvReduce { from, .. } if from == peer))
        };
        let receives = |op: &PlanOp| matches!(op.kind, OpKind::Recv { .. });
        let waits = item.repeat.is_none() && ops.iter().any(receives) && !ops.iter().any(sends);
        let copies = ops.iter().any(|op| op.kind == OpKind::Copy);
        let sends_one = ops.iter().filter(|op| sends(op)).count() == 1;
        let each = slots[range.clone()].iter_mut().zip(ops);
        for ((slot, op), exchanges) in each.zip(exchanges[range].iter().copied()) {
            slot.alone = sends(op) && sends_one && !copies;
            slot.only = sends(op) && sends_once;
            slot.exchanges = sends(op) && exchanges;
            slot.combines = matches!(op.kind, OpKind::Send { to, .. } if combines(to));
            slot.defers = op.kind == OpKind::Copy && waits;
            slot.beside_copy = receives(op) && copies && waits;
        }
    }
    (slots, lanes.len())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use allhands_core::algorithm;
    use allhands_core::call::{Call, Collective};
    use allhands_core::schedule::Layout;

    /// Of each message that a rank sends in a call, what `of` says of it.
    fn sent(
        of: fn(&Slot) -> bool,
        (collective, name): (Collective, &str),
        (rank, ranks): (u32, u32),
    ) -> Vec<bool> {
        let algorithm = algorithm::find(collective, name).unwrap();
        let call = Call {
            in_place: collective == Collective::Broadcast,
            ..Call::new(collective, ranks)
        };
        let shape = algorithm.shape(call, "").unwrap();
        let schedule = algorithm.schedule(&shape, rank);
        let plan = Plan::lower(&schedule, &shape.call, &Layout::Regular(8), 1).unwrap();
        let (watches, _) = watches(&plan);
        let (slots, _) = slots(&plan, &watches);
        let sends = |op: &PlanOp| matches!(op.kind, OpKind::Send { .. });
        let all = plan.ops.iter().zip(&slots).filter(|(op, _)| sends(op));
        all.map(|(_, slot)| of(slot)).collect()
    }

    #[test]
    fn a_message_is_alone_where_nothing_else_is_sent_or_copied() {
        let alone = |what, ranks| sent(|slot| slot.alone, what, ranks);
        let of = |collective, ranks| alone((collective, "direct"), ranks);
        assert_eq!(of(Collective::Gather, (1, 2)), [true]);
        assert_eq!(of(Collective::Scatter, (0, 2)), [false], "an own block");
        let broadcast = |ranks| alone((Collective::Broadcast, "binomial"), ranks);
        assert_eq!(broadcast((0, 2)), [true]);
        assert_eq!(broadcast((0, 4)), [true, true], "a step each");
        assert_eq!(of(Collective::Scatter, (0, 3)), [false, true], "one by one");
    }

    #[test]
    fn who_sends_one_message_sends_it_as_the_only_one() {
        let only = |what, ranks| sent(|slot| slot.only, what, ranks);
        assert_eq!(only((Collective::Gather, "direct"), (2, 3)), [true]);
        assert_eq!(only((Collective::Scatter, "direct"), (0, 2)), [true]);
        assert_eq!(only((Collective::Scatter, "direct"), (0, 3)), [false; 2]);
        assert_eq!(
            only((Collective::Broadcast, "binomial"), (0, 4)),
            [false; 2]
        );
    }
}
