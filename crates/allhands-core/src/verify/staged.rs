//! Staged schedules: an in-place schedule that differs from the proved one only by a copy of the input.
//!
//! If all that a schedule does in place is to copy its input to scratch first and then to read it there, every law holds for it
//! when it holds with input and output apart: the copy is written once, before anything else, and nothing else
//! touches it; blocks of other spaces are the same, in the same order.

use crate::call::Call;
use crate::schedule::{Blocks, Item, List, Op, OpKind, Schedule, Space};

/// Whether `staged`, the schedule of `call` in place, is `apart` behind a copy of the input.
#[must_use]
pub fn is_staged(apart: &Schedule, staged: &Schedule, call: &Call) -> bool {
    let (rank, count) = (apart.rank, call.input_blocks(apart.rank, apart.parts));
    let Some((copy, ops)) = staged.ops.split_first() else {
        return false;
    };
    let whole = |space| Blocks::new(space, 0, count);
    let copies = copy.kind == OpKind::Copy
        && staged.list(copy.from) == [whole(Space::Input)]
        && staged.list(copy.into) == [whole(Space::Scratch)];
    let Some((stage, regions)) = staged.scratch.split_first() else {
        return false;
    };
    let sized = stage.blocks == count
        && (0..count).all(|b| stage.units.unit(b) == call.input_unit(rank, b));
    let same_regions = regions.len() == apart.scratch.len()
        && regions
            .iter()
            .zip(&apart.scratch)
            .all(|(s, a)| s.first == a.first + count && s.units == a.units && s.blocks == a.blocks);
    let same_ops = ops.len() == apart.ops.len()
        && ops
            .iter()
            .zip(&apart.ops)
            .all(|(s, a)| same_op((staged, s), (apart, a), count));
    copies && sized && same_regions && same_ops && same_items(apart, staged)
}

fn same_op((staged, s): (&Schedule, &Op), (apart, a): (&Schedule, &Op), count: u32) -> bool {
    let same = |s: List, a: List| {
        let (s, a) = (staged.list(s), apart.list(a));
        s.len() == a.len() && s.iter().zip(a).all(|(s, a)| *s == moved(*a, count))
    };
    // The items of a strand are counted differently; such a schedule is run instead.
    let counts_items = matches!(s.kind, OpKind::Await { .. });
    s.kind == a.kind
        && !counts_items
        && same(s.from, a.from)
        && same(s.into, a.into)
        && same(s.other, a.other)
}

/// Where blocks lie once the input has been staged in the first `count` blocks of scratch.
fn moved(blocks: Blocks, count: u32) -> Blocks {
    match blocks.space {
        Space::Input => Blocks {
            space: Space::Scratch,
            ..blocks
        },
        Space::Scratch => Blocks {
            first: blocks.first + count,
            ..blocks
        },
        Space::Output | Space::Window => blocks,
    }
}

/// Whether the items are the same ranges of operations, behind a step that is the copy; steps only.
fn same_items(apart: &Schedule, staged: &Schedule) -> bool {
    let shifted = |item: &Item| match item {
        Item::Step { start, end } => Some(Item::Step {
            start: start + 1,
            end: end + 1,
        }),
        Item::Repeat { .. } => None,
    };
    let [strand] = &staged.strands[..] else {
        return false;
    };
    let [before] = &apart.strands[..] else {
        return false;
    };
    strand.items.first() == Some(&Item::Step { start: 0, end: 1 })
        && strand.items.len() == before.items.len() + 1
        && strand.items[1..]
            .iter()
            .zip(&before.items)
            .all(|(s, a)| Some(s) == shifted(a).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm;
    use crate::call::Collective;

    #[test]
    fn a_staged_schedule_is_known_and_a_changed_one_is_not() {
        let found = algorithm::find(Collective::Alltoall, "pairwise").expect("it is registered");
        let call = Call::new(Collective::Alltoall, 7);
        let in_place = Call {
            in_place: true,
            ..call
        };
        let schedule = |call| found.schedule(&found.shape(call, "").expect("it has defaults"), 3);
        let (apart, mut staged) = (schedule(call), schedule(in_place));
        assert!(is_staged(&apart, &staged, &in_place));
        staged.ops.swap(3, 5);
        assert!(!is_staged(&apart, &staged, &in_place));
        let scan = algorithm::find(Collective::Allgather, "ring").expect("it is registered");
        let call = Call {
            in_place: true,
            ..Call::new(Collective::Allgather, 7)
        };
        let natural = scan.schedule(&scan.shape(call, "").expect("it has defaults"), 3);
        assert!(!is_staged(&natural, &natural, &call));
    }
}
