//! The parts and the plans of a call: what every rank does, built, and lowered, one after another in the same memory.

use super::{Algorithm, InPlace};
use crate::schedule::{Builder, Layout, LowerError, Memory, Plan, Schedule, Shape, lower};
use alloc::sync::Arc;
use core::ops::Range;

/// Builds the part of one rank after another, as [`Algorithm::schedule`] does, in the memory of the one before.
pub struct Parts<'a> {
    algorithm: &'a Algorithm,
    shape: Arc<Shape>,
    staged: bool,
    schedule: Schedule,
}

impl Parts<'_> {
    /// A rank's part.
    pub fn of(&mut self, rank: u32) -> &Schedule {
        let parts = (self.algorithm.parts)(&self.shape);
        let empty = core::mem::take(&mut self.schedule).emptied(rank, parts);
        let mut builder = Builder::within(empty, Arc::clone(&self.shape), self.staged);
        (self.algorithm.build)(&mut builder);
        self.schedule = builder.finish();
        &self.schedule
    }
}

/// Gives the plan of each rank in turn, as [`Algorithm::schedule`] and [`Plan::lower`] do, and has no memory to ask for but
/// that of the plan.
pub struct Plans<'a> {
    parts: Parts<'a>,
    layout: &'a Layout,
    element_bytes: usize,
    ranks: Range<u32>,
    memory: Memory,
}

impl Algorithm {
    /// The parts of a call's ranks, one after another.
    #[must_use]
    pub fn in_turn(&self, shape: &Shape) -> Parts<'_> {
        Parts {
            algorithm: self,
            shape: Arc::new(shape.clone()),
            staged: self.stages(shape),
            schedule: Schedule::default(),
        }
    }

    /// The plans of all ranks of a call, in order, for elements of `element_bytes` bytes; each is a [`LowerError`] when the
    /// layout does not give every size that the rank needs.
    #[must_use]
    pub fn plans<'a>(
        &'a self,
        shape: &Shape,
        layout: &'a Layout,
        element_bytes: usize,
    ) -> Plans<'a> {
        Plans {
            parts: self.in_turn(shape),
            layout,
            element_bytes,
            ranks: 0..shape.ranks(),
            memory: Memory::default(),
        }
    }

    /// Whether its input is first copied to scratch.
    pub(super) fn stages(&self, shape: &Shape) -> bool {
        shape.call.in_place && self.in_place == InPlace::Staged
    }
}

impl Plans<'_> {
    /// The same plans without the extents of operations that do not move, whose lists are empty: for a simulation in which
    /// nobody asks where bytes lie, only how many they are.
    #[must_use]
    pub fn without_extents(mut self) -> Self {
        self.memory.leaves_out_extents = true;
        self
    }
}

impl Iterator for Plans<'_> {
    type Item = Result<Plan, LowerError>;

    fn next(&mut self) -> Option<Result<Plan, LowerError>> {
        let rank = self.ranks.next()?;
        let call = self.parts.shape.call;
        let schedule = self.parts.of(rank);
        let layout = (self.layout, self.element_bytes);
        Some(lower(schedule, &call, layout, &mut self.memory))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ranks.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm;
    use crate::call::Call;
    use alloc::vec::Vec;

    #[test]
    fn memory_of_one_rank_does_not_show_in_the_next_one_s_part_and_plan() {
        for algorithm in algorithm::all() {
            for ranks in [1, 5, 8] {
                let call = Call::new(algorithm.collective, ranks);
                for setting in algorithm.settings {
                    let shape = algorithm.shape(call, setting).expect("it is registered");
                    for shape in algorithm.everywhere(&shape) {
                        let layout = Layout::regular(algorithm.collective, 6);
                        let plans: Result<Vec<Plan>, _> =
                            algorithm.plans(&shape, &layout, 8).collect();
                        let mut parts = algorithm.in_turn(&shape);
                        for rank in 0..ranks {
                            let alone = algorithm.schedule(&shape, rank);
                            assert!(*parts.of(rank) == alone, "{algorithm:?} {setting} {ranks}");
                        }
                        let alone = |rank| {
                            let schedule = algorithm.schedule(&shape, rank);
                            Plan::lower(&schedule, &shape.call, &layout, 8)
                        };
                        let alone: Result<Vec<Plan>, _> = (0..ranks).map(alone).collect();
                        assert!(plans == alone, "{algorithm:?} {setting} {ranks}");
                    }
                }
            }
        }
    }
}
