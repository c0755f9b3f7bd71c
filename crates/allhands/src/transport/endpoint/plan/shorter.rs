//! Shorter messages: which plans bear messages that are shorter than their rooms.

use crate::transport::shm::failure::member::Stamp;
use allhands_core::call::Collective;
use allhands_core::schedule::{Extent, OpKind, Plan, PlanOp, Space};

/// Whether messages of a plan's calls may be shorter than their rooms on this rank: where it gathers, scatters or exchanges blocks,
/// and receives those that it neither sends on nor copies, nobody else misses what has not come.
pub(crate) fn may_be_shorter(plan: &Plan, call: &Stamp) -> bool {
    let is_output = |extent: &Extent| extent.space == Space::Output;
    let is_apart = |op: &PlanOp| match op.kind {
        OpKind::Recv { .. } => !op.moves(),
        OpKind::Copy => !op.moves() && !plan.extents[op.source()].iter().any(is_output),
        OpKind::Send { .. } => {
            let is_input = |extent: &Extent| extent.space == Space::Input;
            !op.moves() && plan.extents[op.source()].iter().all(is_input)
        }
        OpKind::RecvReduce { .. }
        | OpKind::Reduce
        | OpKind::Put { .. }
        | OpKind::PutReduce { .. }
        | OpKind::Get { .. }
        | OpKind::GetReduce { .. }
        | OpKind::Notify { .. }
        | OpKind::Wait { .. }
        | OpKind::Combine { .. }
        | OpKind::Await { .. } => false,
    };
    // Otherwise all ranks have said how long they are.
    let is_open = call.bytes() == 0;
    is_open
        && matches!(
            call.collective(),
            Collective::Gather | Collective::Scatter | Collective::Alltoall
        )
        && plan.ops.iter().all(is_apart)
}
