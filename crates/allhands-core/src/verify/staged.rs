//! Staged schedules: an in-place schedule that differs from the proved one only by a copy of the input.
//!
//! If all that a schedule does in place is to copy its input to scratch first and then to read it there, every law holds for it
//! when it holds with input and output apart: the copy is written once, before anything else, and nothing else
//! touches it; blocks of other spaces are the same, in the same order.

use crate::call::Call;
use crate::schedule::{Blocks, Item, List, Op, OpKind, Region, Schedule, Space};
use alloc::vec::Vec;

/// Whether `staged`, the schedule of `call` in place, is `apart` behind a copy of the input.
///
/// A copy that puts a block of the input where it lies in place anyway may be missing.
#[must_use]
pub fn is_staged(apart: &Schedule, staged: &Schedule, call: &Call) -> bool {
    let (rank, count) = (apart.rank, call.input_blocks(apart.rank, apart.parts));
    let (Some(mut steps), Some(before)) = (steps(staged), steps(apart)) else {
        return false;
    };
    let whole = |space| Blocks::new(space, 0, count);
    let copies = |op: &Op| {
        op.kind == OpKind::Copy
            && staged.list(op.from) == [whole(Space::Input)]
            && staged.list(op.into) == [whole(Space::Scratch)]
    };
    if !matches!(steps.first().map(|step| &step[..]), Some([op]) if copies(op)) {
        return false;
    }
    steps.remove(0);
    let home = |blocks: &Blocks| blocks.home(call.alias(rank, apart.parts));
    let puts_back = |op: &&Op| {
        let (from, into) = (apart.list(op.from), apart.list(op.into));
        op.kind == OpKind::Copy && from.iter().map(home).eq(into.iter().map(home))
    };
    let before = before
        .into_iter()
        .map(|step| step.into_iter().filter(|op| !puts_back(op)).collect());
    let before: Vec<Vec<&Op>> = before.filter(|step: &Vec<&Op>| !step.is_empty()).collect();
    let same = |s: &Op, a: &Op| same_op((staged, s), (apart, a), count);
    sized(apart, staged, call, count)
        && steps.len() == before.len()
        && steps
            .iter()
            .zip(&before)
            .all(|(s, a)| s.len() == a.len() && s.iter().zip(a).all(|(s, a)| same(s, a)))
}

/// The operations of each step, if there is one strand and nothing but steps.
fn steps(schedule: &Schedule) -> Option<Vec<Vec<&Op>>> {
    let [strand] = &schedule.strands[..] else {
        return None;
    };
    let ops = |item: &Item| match item {
        Item::Step { .. } => Some(schedule.ops[item.ops()].iter().collect()),
        Item::Repeat { .. } => None,
    };
    strand.items.iter().map(ops).collect()
}

/// Whether the first region of the staged scratch is sized for the input and the others are as they were.
fn sized(apart: &Schedule, staged: &Schedule, call: &Call, count: u32) -> bool {
    let Some((stage, regions)) = staged.scratch.split_first() else {
        return false;
    };
    let same = |(s, a): (&Region, &Region)| {
        s.first == a.first + count && s.units == a.units && s.blocks == a.blocks
    };
    stage.blocks == count
        && (0..count).all(|b| stage.units.unit(b) == call.input_unit(apart.rank, b, apart.parts))
        && regions.len() == apart.scratch.len()
        && regions.iter().zip(&apart.scratch).all(same)
}

fn same_op((staged, s): (&Schedule, &Op), (apart, a): (&Schedule, &Op), count: u32) -> bool {
    let same = |s: List, a: List| {
        let (s, a) = (staged.list(s), apart.list(a));
        s.len() == a.len() && s.iter().zip(a).all(|(s, a)| *s == moved(*a, count))
    };
    s.kind == a.kind && same(s.from, a.from) && same(s.into, a.into) && same(s.other, a.other)
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
