//! What each operation of a repeat waits for, found from the blocks that it touches.

use super::{Blocks, Dependence, Item, Op, OpKind, Schedule};
use crate::call::Alias;
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
    let waits = waits(schedule, body.clone(), &steps, alias);
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
    body: Range<usize>,
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
    for at in 0..ops.len() {
        let mut found = Vec::new();
        for op in 0..ops.len() {
            // In the same iteration only what stands before counts; afterwards everything does.
            let nearest = if op < at { 0 } else { 1 };
            // If the body is one step, the step before is the same one, an iteration earlier.
            let alone = before[at].contains(&at);
            let stepped = before[at]
                .contains(&op)
                .then_some(if alone { 1 } else { nearest });
            let both_one_sided = one_sided(&ops[op]) && one_sided(&ops[at]);
            let ordered = (op != at && both_one_sided).then_some(nearest);
            let data = (op != at)
                .then(|| conflict(&touched[op], &touched[at], nearest))
                .flatten();
            // An operation's own instances run one at a time anyway.
            if let Some(back) = [stepped, ordered, data].into_iter().flatten().min()
                && op != at
            {
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
        return alloc::vec![0..0; body.len()];
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
    // The distance closes by |advance| an iteration, so it meets soon or never.
    let furthest = (a_end.max(b_end) - a_first.min(b_first)) / i64::from(a.advance).abs() + 1;
    (nearest..=(furthest as u32).max(nearest)).find(|&back| meets(back))
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
    use alloc::vec;

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
    fn only_bodies_in_turn_have_steps() {
        let (first, second) = (vec![wait(2, 1)], vec![wait(0, 0), wait(1, 0)]);
        let both = [first.clone(), first.clone(), second];
        assert_eq!(steps(&both), Some(vec![0, 0, 1]));
        // The second operation does not wait for the last one of the iteration before.
        assert_eq!(steps(&[first, vec![], both[2].clone()]), None);
        assert_eq!(steps(&[vec![], vec![wait(0, 0)]]), None);
    }
}
