//! Passing counts: what a rank learns of blocks that pass through it when their counts go their own way.
//!
//! A schedule moves whatever its blocks hold. Run over counts, as blocks of one number each, it leaves in every block of scratch the
//! count of the very unit that lies there when it is run over the data.

use super::map::Map;
use super::{Layout, LowerError, Region, Schedule, Space};
use crate::call::{Call, Unit};
use alloc::vec::Vec;

/// What a rank knows that knew `own`, its row and column of an alltoall, once `schedule` was run for `call` over their counts, as
/// `Layout::Regular(1)` of `count_bytes` each: `count_at` reads the one that stands at a byte of scratch. Any other layout stays what
/// it is.
///
/// # Errors
/// [`LowerError`] names the unit of which nothing was learned.
pub fn learned(
    schedule: &Schedule,
    call: &Call,
    own: &Layout,
    count_bytes: usize,
    count_at: impl Fn(usize) -> Option<usize>,
) -> Result<Layout, LowerError> {
    let Layout::Exchange {
        rank,
        send,
        receive,
    } = own
    else {
        return Ok(own.clone());
    };
    let one = Layout::Regular(1);
    let map = Map::of(Map::default(), schedule, call, &one, count_bytes)?;
    let mut passing: Vec<(Unit, usize)> = Vec::new();
    let each = |region: &Region| {
        let &Region {
            first,
            blocks,
            units,
        } = region;
        (0..blocks).map(move |at| (first + at, units.unit(at)))
    };
    for (block, unit) in schedule.scratch.iter().flat_map(each) {
        let pieces = call.pieces(schedule.parts);
        if own.elements(unit, schedule.parts, pieces).is_none() {
            let place = map.extent(Space::Scratch, block, 1).offset;
            let unknown = LowerError::UnknownSize { rank: *rank, unit };
            passing.push((unit, count_at(place).ok_or(unknown)?));
        }
    }
    passing.sort_unstable();
    passing.dedup();
    Ok(Layout::Passing {
        rank: *rank,
        send: send.clone(),
        receive: receive.clone(),
        passing,
    })
}
