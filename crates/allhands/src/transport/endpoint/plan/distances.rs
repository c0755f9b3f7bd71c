//! Distances: where a request takes memory to be that another rank has written, and what follows from that for its copies.

use crate::transport::endpoint::plan::slots::Slot;
use crate::transport::shm::memory::copy::Distance;
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::tuning::{
    OVERSUBSCRIBED_STREAMED_PIPELINE_BUFFER_BYTES, PIPELINE_BUFFER_BYTES,
    STREAMED_PIPELINE_BUFFER_BYTES,
};
use allhands_core::schedule::{Extent, OpKind, Plan, PlanOp, Space};

/// Where memory is that another rank has written, in calls of a plan: what is received and sent on is wanted in the caches.
pub(crate) fn distance(segment: &SharedSegment, plan: &Plan, slots: &[Slot]) -> Distance {
    let own = [Space::Input, Space::Output].map(|space| plan.space_bytes[space.index()]);
    let sends_on = |op: &PlanOp| {
        let is_output = |extent: &Extent| extent.space == Space::Output;
        // What moves with the iteration is a pipeline's, which sends on.
        let sends_output = || op.moves() || plan.extents[op.source()].iter().any(is_output);
        matches!(op.kind, OpKind::Send { .. }) && sends_output()
    };
    match slots.iter().any(|slot| slot.exchanges) && !plan.ops.iter().any(sends_on) {
        true => segment.distance_of(own.iter().sum()),
        false => segment.distance(),
    }
}

/// The most bytes that go in a pipeline buffer where received memory is at this distance; or where a copy goes past the caches.
pub(crate) fn pipelined_most(segment: &SharedSegment, distance: Distance, doubles: bool) -> usize {
    match distance {
        Distance::Beyond if segment.is_oversubscribed() => {
            OVERSUBSCRIBED_STREAMED_PIPELINE_BUFFER_BYTES
        }
        Distance::Beyond => STREAMED_PIPELINE_BUFFER_BYTES,
        Distance::Far if doubles => STREAMED_PIPELINE_BUFFER_BYTES,
        Distance::Near | Distance::Far | Distance::Back => PIPELINE_BUFFER_BYTES,
    }
}
