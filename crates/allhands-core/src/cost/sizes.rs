//! Sizes: how long blocks are in a walk, by a layout or exactly equal.

use super::WalkError;
use crate::call::Call;
use crate::schedule::{Layout, List, Schedule};
use crate::symbolic::unit_of;

/// How long blocks are.
#[derive(Clone, Copy, Debug)]
pub enum Sizes<'a> {
    /// `bytes` bytes cut in exactly `parts` equal parts, whole or not: what formulas speak of.
    Ideal {
        /// The vector; gather, scatter, allgather: all blocks together; alltoall: one rank's blocks together.
        bytes: f64,
    },
    /// As a call would really cut it.
    Laid {
        /// Elements of each unit; must know all of them.
        layout: &'a Layout,
        /// The size of an element.
        element_bytes: usize,
    },
}

impl Sizes<'_> {
    /// The bytes of what a walk counts as one unit: a part, or a byte.
    pub(super) fn unit_bytes(&self, parts: u32) -> f64 {
        match self {
            Sizes::Ideal { bytes } => bytes / f64::from(parts),
            Sizes::Laid { .. } => 1.0,
        }
    }

    /// The units of a list's blocks in iteration `iteration`.
    pub(super) fn units(
        &self,
        schedule: &Schedule,
        call: &Call,
        list: List,
        iteration: u32,
    ) -> Result<u64, WalkError> {
        match *self {
            Sizes::Ideal { .. } => Ok(u64::from(schedule.count(list))),
            Sizes::Laid {
                layout: Layout::Regular(block),
                element_bytes,
            } if call.pieces(schedule.parts) == 1 => {
                Ok(u64::from(schedule.count(list)) * (block * element_bytes) as u64)
            }
            Sizes::Laid {
                layout,
                element_bytes,
            } => {
                let mut total = 0;
                for set in schedule.list(list) {
                    for block in set.each(iteration) {
                        let unit = unit_of(schedule, call, set.space, block);
                        let elements =
                            layout.elements(unit, schedule.parts, call.pieces(schedule.parts));
                        total += elements.ok_or(WalkError::UnknownSize {
                            rank: schedule.rank,
                            unit,
                        })?;
                    }
                }
                Ok((total * element_bytes) as u64)
            }
        }
    }
}
