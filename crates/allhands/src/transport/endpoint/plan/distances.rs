//! Distances: where a request takes memory to be that another rank has written, and what follows from that for its copies.

use crate::transport::endpoint::plan::slots::Slot;
use crate::transport::shm::memory::copy::{self, Distance};
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::tuning::{
    ONE_WAY_PIPELINE_BUFFER_BYTES, OVERSUBSCRIBED_STREAMED_PIPELINE_BUFFER_BYTES,
    PIPELINE_BUFFER_BYTES, STREAMED_PIPELINE_BUFFER_BYTES,
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
    let own_bytes = own.iter().sum();
    let distance = match slots.iter().any(|slot| slot.exchanges) && !plan.ops.iter().any(sends_on) {
        true => segment.distance_of(own_bytes),
        false => segment.distance(),
    };
    match distance {
        Distance::Near | Distance::Far if copy::asks_both_ahead() && segment.is_cold(own_bytes) => {
            Distance::Cold
        }
        _ => distance,
    }
}

/// The most bytes that go in a pipeline buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PipelinedMost {
    exchanged: usize,
    one_way: usize,
}

impl PipelinedMost {
    /// Where received memory is at this distance; or where a copy goes past the caches, as one does that `doubles` a send.
    pub(crate) fn new(segment: &SharedSegment, distance: Distance, doubles: bool) -> PipelinedMost {
        let exchanged = match distance {
            Distance::Beyond if segment.is_oversubscribed() => {
                OVERSUBSCRIBED_STREAMED_PIPELINE_BUFFER_BYTES
            }
            Distance::Beyond => STREAMED_PIPELINE_BUFFER_BYTES,
            Distance::Far | Distance::Cold if doubles => STREAMED_PIPELINE_BUFFER_BYTES,
            Distance::Near | Distance::Far | Distance::Back | Distance::Cold => {
                PIPELINE_BUFFER_BYTES
            }
        };
        PipelinedMost {
            exchanged,
            one_way: ONE_WAY_PIPELINE_BUFFER_BYTES,
        }
    }

    /// The same in whole elements, as a receiver may combine them; 0 where one is longer than that.
    pub(crate) fn in_elements(self, element_bytes: usize) -> PipelinedMost {
        let whole = |bytes: usize| bytes - bytes % element_bytes.max(1);
        PipelinedMost {
            exchanged: whole(self.exchanged),
            one_way: whole(self.one_way),
        }
    }

    /// That of messages that are exchanged, or go one way.
    pub(crate) fn of(self, exchanged: bool) -> usize {
        match exchanged {
            true => self.exchanged,
            false => self.one_way,
        }
    }
}
