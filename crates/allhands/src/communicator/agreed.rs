//! The agreed part of a call: what its signature says, which is the same on all ranks.

use super::Operation;
use crate::prepared::Prepared;
use crate::transport::Signature;
use allhands_core::algorithm::{Algorithm, Requirement};
use allhands_core::call::{Call, Collective};
use allhands_core::schedule::Layout;

/// What all ranks must agree on; receivers may have more room than is sent, where they can.
pub(super) fn agreed(
    operation: &Operation<'_>,
    (call, layout): (&Call, &Layout),
    prepared: &Prepared,
    may_be_shorter: bool,
) -> Signature {
    let bytes = match layout {
        // The root alone says how long a block is.
        Layout::Even(_) | Layout::Regular(_)
            if may_be_shorter && comes_straight(prepared.algorithm) =>
        {
            0
        }
        Layout::Even(elements) | Layout::Regular(elements) => elements * operation.element.bytes,
        // Ranks may lawfully know different counts.
        Layout::Blocks(_)
        | Layout::Pairs(_)
        | Layout::Own { .. }
        | Layout::Exchange { .. }
        | Layout::Passing { .. } => 0,
    };
    let barrier = call.collective == Collective::Barrier;
    Signature {
        collective: call.collective,
        algorithm: prepared.name().into(),
        root: call.root,
        bytes: bytes as u64,
        element: (!barrier).then(|| operation.element.signature()),
        operator: operation.reduction.map(|r| r.signature),
    }
}

/// Whether an algorithm scatters blocks straight from the root.
fn comes_straight(algorithm: &Algorithm) -> bool {
    algorithm.collective == Collective::Scatter
        && !algorithm.requires.contains(&Requirement::AllCounts)
}
