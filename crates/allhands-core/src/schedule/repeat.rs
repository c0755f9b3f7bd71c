//! What each operation of a repeat waits for, found from the blocks that it touches.

use super::{Blocks, Dependence, Op, OpKind, Schedule};
use alloc::vec::Vec;
use core::ops::Range;

/// For each operation of the body, the instances that must be done before it starts: the
/// nearest conflicting one of each operation (two operations conflict when they touch a block and one
/// of them writes it). Waits, notifications and puts keep their program order.
pub(super) fn waits(schedule: &Schedule, body: Range<usize>) -> Vec<Vec<Dependence>> {
    let ops = &schedule.ops[body];
    let mut all = Vec::with_capacity(ops.len());
    for (at, later) in ops.iter().enumerate() {
        let mut found = Vec::new();
        for (op, earlier) in ops.iter().enumerate().filter(|&(op, _)| op != at) {
            // In the same iteration only what stands before counts; afterwards everything does.
            let nearest = if op < at { 0 } else { 1 };
            if let Some(back) = conflict(schedule, earlier, later, nearest) {
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

/// The smallest number of iterations `back >= nearest` at which `earlier` conflicts with `later`.
fn conflict(schedule: &Schedule, earlier: &Op, later: &Op, nearest: u32) -> Option<u32> {
    if one_sided(earlier) && one_sided(later) {
        return Some(nearest);
    }
    let (reads, writes) = touched(schedule, earlier);
    let (later_reads, later_writes) = touched(schedule, later);
    let pairs = writes
        .iter()
        .flat_map(|w| later_reads.iter().chain(&later_writes).map(move |l| (w, l)))
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
            | OpKind::Get { .. }
            | OpKind::Notify { .. }
            | OpKind::Wait { .. }
            | OpKind::Await { .. }
    )
}

/// The own blocks that an operation (reads, writes).
pub(crate) fn touched(schedule: &Schedule, op: &Op) -> (Vec<Blocks>, Vec<Blocks>) {
    let list = |l| schedule.list(l).to_vec();
    match op.kind {
        OpKind::Send { .. } | OpKind::Put { .. } => (list(op.from), Vec::new()),
        OpKind::Recv { .. } | OpKind::Get { .. } => (Vec::new(), list(op.into)),
        OpKind::RecvReduce { .. } | OpKind::Copy => (list(op.from), list(op.into)),
        OpKind::Reduce => {
            let mut reads = list(op.from);
            reads.extend(list(op.other));
            (reads, list(op.into))
        }
        OpKind::Notify { .. } | OpKind::Wait { .. } | OpKind::Await { .. } => {
            (Vec::new(), Vec::new())
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

fn span(blocks: &Blocks) -> (i64, i64) {
    let first = i64::from(blocks.first);
    let last = first + i64::from(blocks.stride) * i64::from(blocks.times.max(1) - 1);
    (first.min(last), first.max(last) + i64::from(blocks.run))
}
