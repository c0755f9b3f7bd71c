//! The compiled fast path: the operations of a plan of a few short messages, as one request makes them in every call.

use crate::transport::endpoint::plan::moves::{Move, Way};
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::segment::window::WindowSet;
use crate::transport::shm::tuning::{
    FAST_PATH_LOOKS, FAST_PATH_WRITTEN_LEAST, FAST_PATH_WRITTEN_MEANWHILE,
};
use allhands_core::schedule::{OpKind, Plan, PlanOp};
use std::ops::Range;

/// The most operations of a plan; those of a step are bits of a word.
const MOST: usize = 32;

/// A plan's operations, as one request makes them.
#[derive(Debug)]
pub(crate) struct FastPath {
    pub(crate) steps: Box<[Range<u32>]>,
    pub(crate) moves: Box<[Move]>,
    /// Looks for what a step waits for before the interpreter takes over.
    pub(crate) looks: u32,
}

impl FastPath {
    /// The fast path of a plan of rank `rank`, whose window is `window`, if it has one; `exchanges` says which operations send
    /// to a rank that sends to this one at the same time.
    pub(crate) fn new(
        (segment, rank): (&SharedSegment, u32),
        plan: &Plan,
        window: Option<&WindowSet>,
        exchanges: impl Fn(usize) -> bool,
    ) -> Option<FastPath> {
        if window.is_some() && !segment.is_oversubscribed() {
            return None;
        }
        let steps = plan.items.iter().map(|item| item.start..item.end);
        let is_here = plan.kinds().all(|kind| kind.peer() < Some(segment.ranks()));
        let is_plain = plan.strands.len() == 1 && plan.repeats.is_empty() && is_here;
        if !is_plain || plan.ops.len() > MOST || plan.items.is_empty() {
            return None;
        }
        let steps: Box<[Range<u32>]> = steps.collect();
        if !steps.iter().all(|step| is_one_a_lane(plan, step)) {
            return None;
        }
        let moves = (0..).zip(&plan.ops);
        let moves = moves.map(|(ticket, op)| {
            let one_sided = window.and_then(|w| Move::one_sided(w, plan, (ticket, op)));
            let exchanges = exchanges(ticket as usize);
            one_sided.or_else(|| Move::new((segment, rank), plan, (op, exchanges)))
        });
        let moves: Box<[Move]> = moves.collect::<Option<_>>()?;
        let looks = match segment.is_oversubscribed() {
            true => oversubscribed_looks(&moves),
            false => FAST_PATH_LOOKS,
        };
        Some(FastPath {
            steps,
            moves,
            looks,
        })
    }
}

/// Looks of a rank that shares its core.
fn oversubscribed_looks(moves: &[Move]) -> u32 {
    let is_long = |next: &&Move| {
        matches!(next.way, Way::Get(_)) && usize::from(next.bytes) >= FAST_PATH_WRITTEN_LEAST
    };
    let waits_for_more = |next: &Move| matches!(next.way, Way::Wait { count, .. } if count > 1);
    match moves.iter().find(is_long) {
        Some(get) if !moves.iter().any(waits_for_more) => {
            u32::from(get.bytes) / FAST_PATH_WRITTEN_MEANWHILE as u32
        }
        _ => 0,
    }
}

/// Whether no two messages of a step go the same way on one channel: they would have to keep their order.
fn is_one_a_lane(plan: &Plan, step: &Range<u32>) -> bool {
    let ops = &plan.ops[step.start as usize..step.end as usize];
    let lane = |op: &PlanOp| match op.kind {
        OpKind::Send { to, channel, .. } => Some((true, to, channel)),
        OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
            Some((false, from, channel))
        }
        _ => None,
    };
    let mut lanes: Vec<_> = ops.iter().filter_map(lane).collect();
    let all = lanes.len();
    lanes.sort_unstable();
    lanes.dedup();
    lanes.len() == all
}
