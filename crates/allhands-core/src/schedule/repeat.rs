//! What each operation of a repeat waits for, found from the blocks that it touches.

use super::{Blocks, Dependence, Item, Op, OpKind, Schedule, Space};
use crate::call::Alias;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// A repeat of `body`, `times` times in a `window`, with the waits that follow from its blocks and steps.
pub(super) fn item(
    schedule: &Schedule,
    alias: Alias,
    [times, window]: [u32; 2],
    body: Range<usize>,
    steps: Vec<u32>,
) -> Item {
    let waits = waits(schedule, (body.clone(), times), &steps, alias);
    Item::Repeat {
        times,
        window,
        start: body.start as u32,
        end: body.end as u32,
        steps,
        waits,
    }
}

/// For each operation of the body, the instances that must be done before it starts: the
/// nearest conflicting one of each operation (two operations conflict when they touch a block and one
/// of them writes it). Waits, notifications and puts keep their program order. `steps` is where the body's steps end,
/// if it says any: then each waits for the whole step before it. `alias` says where they really lie.
fn waits(
    schedule: &Schedule,
    (body, times): (Range<usize>, u32),
    steps: &[u32],
    alias: Alias,
) -> Vec<Vec<Dependence>> {
    let before = step_before(&body, steps);
    let touched: Vec<[Vec<Blocks>; 2]> = schedule.ops[body.clone()]
        .iter()
        .map(|op| touched(schedule, op).map(|sets| sets.iter().map(|b| b.home(alias)).collect()))
        .collect();
    let ops = &schedule.ops[body];
    let mut all = Vec::with_capacity(ops.len());
    for (at, mut near) in meeting(&touched, times).into_iter().enumerate() {
        near.extend(before[at].clone());
        if one_sided(&ops[at]) {
            near.extend((0..ops.len()).filter(|op| one_sided(&ops[*op])));
        }
        near.sort_unstable();
        near.dedup();
        // If the body is one step, the step before is the same one, an iteration earlier.
        let alone = before[at].contains(&at);
        let mut found = Vec::new();
        // An operation's own instances run one at a time anyway.
        for op in near.into_iter().filter(|op| *op != at) {
            // In the same iteration only what stands before counts; afterwards everything does.
            let nearest = if op < at { 0 } else { 1 };
            let in_step = before[at].contains(&op);
            let stepped = in_step.then_some(if alone { 1 } else { nearest });
            let both_one_sided = one_sided(&ops[op]) && one_sided(&ops[at]);
            let ordered = both_one_sided.then_some(nearest);
            let data = conflict(&touched[op], &touched[at], nearest);
            if let Some(back) = [stepped, ordered, data].into_iter().flatten().min() {
                found.push(Dependence {
                    op: op as u32,
                    back,
                });
            }
        }
        all.push(found);
    }
    all
}

/// Where an operation of a body is in all iterations.
struct Place {
    space: Space,
    all: Range<i64>,
    first: Range<i64>,
    advance: i64,
    op: usize,
    writes: bool,
}

impl Place {
    /// Whether some iteration of one may come to where some iteration of the other is.
    fn meets(&self, other: &Place) -> bool {
        if self.advance != other.advance || self.advance == 0 {
            return true;
        }
        // Moved by a whole number of steps, does it overlap?
        let step = self.advance.abs();
        let moves = (self.first.start - other.first.end).div_euclid(step) + 1;
        other.first.start < self.first.end - step * moves
    }
}

/// For each operation, those that may conflict with it: they come to the same place in some of `times` iterations, and one of the
/// two writes. A body may have very many operations, of which few meet.
fn meeting(touched: &[[Vec<Blocks>; 2]], times: u32) -> Vec<Vec<usize>> {
    let mut places = Vec::new();
    for (op, both) in touched.iter().enumerate() {
        for (sets, writes) in both.iter().zip([false, true]) {
            for set in sets {
                let (first, end) = span(set);
                let advance = i64::from(set.advance);
                let moved = advance * i64::from(times.max(1) - 1);
                places.push(Place {
                    space: set.space,
                    all: first + moved.min(0)..end + moved.max(0),
                    first: first..end,
                    advance,
                    op,
                    writes,
                });
            }
        }
    }
    places.sort_unstable_by_key(|place| (place.space, place.all.start));
    let mut found = vec![Vec::new(); touched.len()];
    for (at, place) in places.iter().enumerate() {
        let near = |other: &&Place| other.space == place.space && other.all.start < place.all.end;
        for other in places[at + 1..].iter().take_while(near) {
            if (place.writes || other.writes) && place.meets(other) {
                found[place.op].push(other.op);
                found[other.op].push(place.op);
            }
        }
    }
    found
}

/// For each operation of the body, the operations of the step before its own (of the last step, before the first).
fn step_before(body: &Range<usize>, steps: &[u32]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut start = body.start;
    for end in steps.iter().map(|&end| end as usize).chain([body.end]) {
        if start < end {
            groups.push(start - body.start..end - body.start);
            start = end;
        }
    }
    if steps.is_empty() {
        return vec![0..0; body.len()];
    }
    let mut before = Vec::with_capacity(body.len());
    for (at, group) in groups.iter().enumerate() {
        let earlier = &groups[if at == 0 { groups.len() - 1 } else { at - 1 }];
        before.extend(group.clone().map(|_| earlier.clone()));
    }
    before
}

/// The step of each operation of a body in which each step waits for the whole one before it, and the first for the
/// last one of the iteration before; `None` if the body is no such sequence, so that anything may run at once.
pub(crate) fn steps(waits: &[Vec<Dependence>]) -> Option<Vec<u32>> {
    let mut steps: Vec<u32> = Vec::with_capacity(waits.len());
    for (at, found) in waits.iter().enumerate() {
        let earlier = found.iter().filter(|w| w.back == 0 && (w.op as usize) < at);
        steps.push(earlier.map(|w| steps[w.op as usize] + 1).max().unwrap_or(0));
    }
    let last = steps.iter().copied().max()?;
    let in_turn = |at: usize| {
        let (wanted, back) = match steps[at] {
            0 => (last, 1),
            step => (step - 1, 0),
        };
        let waits_for = |op: usize| {
            op == at
                || waits[at]
                    .iter()
                    .any(|w| w.op as usize == op && w.back <= back)
        };
        (0..waits.len()).all(|op| steps[op] != wanted || waits_for(op))
    };
    (0..waits.len()).all(in_turn).then_some(steps)
}

/// Whether some operations of a repeat's body, in the order of the table, always start one after another: in each iteration each
/// after the one before it, and the first after the last one of the iteration before.
pub(crate) fn take_turns(waits: &[Vec<Dependence>], window: u32, ops: &[usize]) -> bool {
    let in_order = ops.windows(2).all(|two| follows(waits, two[1], two[0], 0));
    // In a window of one, an iteration begins when the one before it is over.
    let wraps = |first: usize, last: usize| window == 1 || follows(waits, first, last, 1);
    match ops {
        [] | [_] => true,
        [first, .., last] => in_order && wraps(*first, *last),
    }
}

/// Whether an iteration of `later` starts only after `earlier` is done with it, or with the one `back` before: what it waits for,
/// or what that waits for.
fn follows(waits: &[Vec<Dependence>], later: usize, earlier: usize, back: u32) -> bool {
    // For each operation the most iterations that may still be gone back from there.
    let mut left: Vec<Option<u32>> = vec![None; waits.len()];
    let mut open = vec![(later, back)];
    while let Some((op, left_here)) = open.pop() {
        if left[op].is_some_and(|before| before >= left_here) {
            continue;
        }
        left[op] = Some(left_here);
        let enough = waits[op].iter().filter(|wait| wait.back <= left_here);
        open.extend(enough.map(|wait| (wait.op as usize, left_here - wait.back)));
    }
    left[earlier].is_some()
}

/// The smallest number of iterations `back >= nearest` at which what `earlier` (reads, writes) conflicts with `later`.
fn conflict(earlier: &[Vec<Blocks>; 2], later: &[Vec<Blocks>; 2], nearest: u32) -> Option<u32> {
    let [reads, writes] = earlier;
    let [later_reads, later_writes] = later;
    let pairs = writes
        .iter()
        .flat_map(|w| later_reads.iter().chain(later_writes).map(move |l| (w, l)))
        .chain(
            reads
                .iter()
                .flat_map(|r| later_writes.iter().map(move |l| (r, l))),
        );
    pairs.filter_map(|(a, b)| overlap(a, b, nearest)).min()
}

fn one_sided(op: &Op) -> bool {
    matches!(
        op.kind,
        OpKind::Put { .. }
            | OpKind::PutReduce { .. }
            | OpKind::Get { .. }
            | OpKind::GetReduce { .. }
            | OpKind::Notify { .. }
            | OpKind::Wait { .. }
            | OpKind::Combine { .. }
            | OpKind::Await { .. }
    )
}

/// The own blocks that an operation [reads, writes].
fn touched(schedule: &Schedule, op: &Op) -> [Vec<Blocks>; 2] {
    let list = |l| schedule.list(l).to_vec();
    match op.kind {
        OpKind::Send { .. } | OpKind::Put { .. } | OpKind::PutReduce { .. } => {
            [list(op.from), Vec::new()]
        }
        OpKind::Recv { .. } | OpKind::Get { .. } => [Vec::new(), list(op.into)],
        OpKind::RecvReduce { .. }
        | OpKind::GetReduce { .. }
        | OpKind::Combine { .. }
        | OpKind::Copy => [list(op.from), list(op.into)],
        OpKind::Reduce => {
            let mut reads = list(op.from);
            reads.extend(list(op.other));
            [reads, list(op.into)]
        }
        OpKind::Notify { .. } | OpKind::Wait { .. } | OpKind::Await { .. } => {
            [Vec::new(), Vec::new()]
        }
    }
}

/// The smallest `back >= nearest` for which `a`, `back` iterations earlier, meets `b`.
fn overlap(a: &Blocks, b: &Blocks, nearest: u32) -> Option<u32> {
    if a.space != b.space {
        return None;
    }
    let (a_first, a_end) = span(a);
    let (b_first, b_end) = span(b);
    if a.advance != b.advance {
        // Moving at different speeds: keep program order, which is always right.
        return Some(nearest);
    }
    let meets = |back: u32| {
        let moved = i64::from(a.advance) * i64::from(back);
        a_first - moved < b_end && b_first < a_end - moved
    };
    if a.advance == 0 {
        return meets(nearest).then_some(nearest);
    }
    // The distance closes by |advance| an iteration: it meets as soon as neither is all beyond the other, or never.
    let apart = match a.advance > 0 {
        true => a_first - b_end,
        false => b_first - a_end,
    };
    let soonest = apart.div_euclid(i64::from(a.advance).abs()) + 1;
    let back = u32::try_from(soonest.max(i64::from(nearest))).ok()?;
    meets(back).then_some(back)
}

/// The first block and one past the last.
pub(super) fn span(blocks: &Blocks) -> (i64, i64) {
    let first = i64::from(blocks.first);
    let last = first + i64::from(blocks.stride) * i64::from(blocks.times.max(1) - 1);
    (first.min(last), first.max(last) + i64::from(blocks.run))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(op: u32, back: u32) -> Dependence {
        Dependence { op, back }
    }

    #[test]
    fn steps_wait_for_the_whole_step_before() {
        // Two steps of two operations; the ends of steps are counted in the schedule's table.
        let before = step_before(&(10..14), &[12, 14]);
        assert_eq!(before, [2..4, 2..4, 0..2, 0..2]);
        assert_eq!(step_before(&(10..12), &[]), [0..0, 0..0]);
        assert_eq!(step_before(&(10..12), &[12]), [0..2, 0..2]);
    }

    #[test]
    fn operations_take_turns_where_each_waits_for_the_one_before() {
        // 1 waits for 0 by way of 2; 0 waits for 1 of the iteration before.
        let there = [vec![wait(1, 1)], vec![wait(2, 0)], vec![wait(0, 0)]];
        assert!(take_turns(&there, 0, &[0, 1]));
        assert!(!take_turns(&there, 0, &[1, 2]), "2 goes before 1");
        let ahead = [vec![], vec![wait(0, 0)]];
        assert!(!take_turns(&ahead, 0, &[0, 1]), "0 may be ahead of 1");
        assert!(take_turns(&ahead, 1, &[0, 1]));
        assert!(take_turns(&ahead, 0, &[0]));
    }

    #[test]
    fn only_bodies_in_turn_have_steps() {
        let (first, second) = (vec![wait(2, 1)], vec![wait(0, 0), wait(1, 0)]);
        let both = [first.clone(), first.clone(), second];
        assert_eq!(steps(&both), Some(vec![0, 0, 1]));
        // The second operation does not wait for the last one of the iteration before.
        assert_eq!(steps(&[first, vec![], both[2].clone()]), None);
        assert_eq!(steps(&[vec![], vec![wait(0, 0)]]), None);
    }
}
