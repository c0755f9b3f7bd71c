//! The staged input of a call in place: what need not be copied back, and a stage that nobody reads.

use super::{Blocks, Item, Op, OpKind, Schedule, Space, repeat};
use crate::call::Alias;

/// Whether `from`, staged input, still lies in its own place, and `into` is that place: nothing has been written there yet.
pub(super) fn lies_there(
    schedule: &Schedule,
    stage: Blocks,
    alias: Alias,
    from: &Blocks,
    into: &Blocks,
) -> bool {
    if from.space != stage.space || from.first < stage.first || !overlap(from, &stage) {
        return false;
    }
    let original = Blocks {
        space: Space::Input,
        first: from.first - stage.first,
        ..*from
    };
    let place = into.home(alias);
    let written = |op: &Op| {
        let remote = matches!(op.kind, OpKind::Put { .. } | OpKind::PutReduce { .. });
        let mut sets = schedule.list(op.into).iter();
        !remote && sets.any(|set| overlap(&set.home(alias), &place))
    };
    original.home(alias) == place && !schedule.ops.iter().any(written)
}

/// Leaves out the copy to the stage, the first operation, if no other one names the stage.
pub(super) fn drop_unread(schedule: &mut Schedule, stage: Blocks) {
    let named = |op: &Op| {
        let lists = [op.from, op.into, op.other];
        let mut sets = lists.iter().flat_map(|list| schedule.list(*list));
        sets.any(|set| overlap(set, &stage))
    };
    if schedule.ops.iter().skip(1).any(named) {
        return;
    }
    let copy = schedule.ops.remove(0);
    let sets = copy.from.len + copy.into.len;
    schedule.blocks.drain(..sets as usize);
    schedule.strands[0].items.remove(0);
    for item in schedule.strands.iter_mut().flat_map(|s| &mut s.items) {
        match item {
            Item::Step { start, end } => (*start, *end) = (*start - 1, *end - 1),
            Item::Repeat {
                start, end, steps, ..
            } => {
                (*start, *end) = (*start - 1, *end - 1);
                steps.iter_mut().for_each(|step| *step -= 1);
            }
        }
    }
    for op in &mut schedule.ops {
        // Operations without blocks name the empty list at 0.
        for list in [&mut op.from, &mut op.into, &mut op.other] {
            list.start = list.start.saturating_sub(sets);
        }
        if let OpKind::Await { strand: 0, items } = &mut op.kind {
            *items -= 1;
        }
    }
    schedule.views.iter_mut().for_each(|view| view.items -= 1);
}

/// Whether two sets may share a block, in whatever iterations.
fn overlap(a: &Blocks, b: &Blocks) -> bool {
    let ([(a_first, a_end), (b_first, b_end)], moves) =
        ([a, b].map(repeat::span), a.advance != 0 || b.advance != 0);
    a.space == b.space && (moves || (a_first < b_end && b_first < a_end))
}
