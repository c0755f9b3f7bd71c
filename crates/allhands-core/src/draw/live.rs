//! Live blocks: those that a rank will still read, or that are its result.

use super::timeline::{Place, Timeline, home};
use crate::schedule::{Item, List, Op, OpKind, Schedule, Space};
use alloc::vec::Vec;

/// The blocks of a list in every iteration of an item.
fn named(schedule: &Schedule, list: List, item: &Item) -> Vec<Place> {
    let times = match item {
        Item::Step { .. } => 1,
        Item::Repeat { times, .. } => *times,
    };
    let sets = schedule.list(list).iter();
    sets.flat_map(|set| (0..times).flat_map(move |i| set.each(i).map(|block| (set.space, block))))
        .collect()
}

/// The own blocks that an operation writes.
fn writes(op: &Op) -> Option<List> {
    match op.kind {
        OpKind::Recv { .. }
        | OpKind::RecvReduce { .. }
        | OpKind::Combine { .. }
        | OpKind::Copy
        | OpKind::Reduce
        | OpKind::Get { .. }
        | OpKind::GetReduce { .. } => Some(op.into),
        OpKind::Send { .. }
        | OpKind::Put { .. }
        | OpKind::PutReduce { .. }
        | OpKind::Notify { .. }
        | OpKind::Wait { .. }
        | OpKind::Await { .. } => None,
    }
}

/// The own blocks that an operation reads.
fn reads(op: &Op) -> Vec<List> {
    match op.kind {
        OpKind::Send { .. }
        | OpKind::Put { .. }
        | OpKind::PutReduce { .. }
        | OpKind::RecvReduce { .. }
        | OpKind::GetReduce { .. }
        | OpKind::Combine { .. }
        | OpKind::Copy => [op.from].into(),
        OpKind::Reduce => [op.from, op.other].into(),
        OpKind::Recv { .. }
        | OpKind::Get { .. }
        | OpKind::Notify { .. }
        | OpKind::Wait { .. }
        | OpKind::Await { .. } => Vec::new(),
    }
}

/// The own blocks that item `item` of strand 0 writes, in all its iterations.
pub(super) fn written(schedule: &Schedule, item: u32) -> Vec<Place> {
    let item = &schedule.strands[0].items[item as usize];
    let ops = &schedule.ops[item.ops()];
    ops.iter()
        .filter_map(writes)
        .flat_map(|list| named(schedule, list, item))
        .collect()
}

/// Whether what a block of a rank holds at the end of a round matters later.
pub(super) fn lives(timeline: &Timeline, rank: u32, place: Place, round: u32) -> bool {
    let schedule = &timeline.schedules[rank as usize];
    let place = home(&timeline.call, schedule, place);
    let among = |list: List, item: &Item| {
        let blocks = named(schedule, list, item);
        blocks
            .into_iter()
            .any(|block| home(&timeline.call, schedule, block) == place)
    };
    let reads_it = |item: &Item| {
        let ops = &schedule.ops[item.ops()];
        ops.iter().flat_map(reads).any(|list| among(list, item))
    };
    // Other strands run beside the first at their own pace: what they read at all counts as live.
    if schedule.strands[1..]
        .iter()
        .flat_map(|s| &s.items)
        .any(reads_it)
    {
        return true;
    }
    let done = timeline.items_by(rank, round) as usize;
    let writer = timeline.writer(rank, place, round);
    for (number, item) in (0..).zip(&schedule.strands[0].items).skip(done) {
        if reads_it(item) {
            return true;
        }
        // What an item in progress has written already is not overwritten by it.
        let ops = &schedule.ops[item.ops()];
        if writer != Some(number) && ops.iter().filter_map(writes).any(|list| among(list, item)) {
            return false;
        }
    }
    let outputs = timeline.call.output_blocks(rank, schedule.parts);
    (0..outputs).any(|block| home(&timeline.call, schedule, (Space::Output, block)) == place)
}
