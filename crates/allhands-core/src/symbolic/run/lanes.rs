//! The lanes of a repeat in a symbolic run: each operation of the body goes through its iterations alone.

use super::{Failure, Item, Lane, Runner};
use crate::schedule::Dependence;

impl Runner<'_, '_> {
    /// Starts what may start in a repeat; whether all of it is done.
    pub(super) fn run_lanes(
        &mut self,
        rank: u32,
        strand: u16,
        item: &Item,
    ) -> Result<bool, Failure> {
        let Item::Repeat {
            times,
            window,
            waits,
            start,
            ..
        } = item
        else {
            return Ok(true);
        };
        let lane_base = self.lane_base(rank, strand, item);
        loop {
            let mut moved = false;
            for (at, waits) in waits.iter().enumerate() {
                let state = self.strand(rank, strand);
                let Lane { done, flying, .. } = state.lanes[at];
                let oldest = || state.lanes.iter().map(|l| l.done).min().unwrap_or(0);
                // Looked for only where it counts: a body may have very many operations.
                let room = *window == 0 || done < oldest() + window;
                let ready = |w: &Dependence| {
                    done < w.back || state.lanes[w.op as usize].done > done - w.back
                };
                if flying || done == *times || !room || !waits.iter().all(ready) {
                    continue;
                }
                let mut clock = state.clock.clone();
                let mut round = state.lanes[at]
                    .rounds
                    .last()
                    .copied()
                    .unwrap_or(state.round);
                clock[lane_base + at] = done;
                for wait in waits.iter().filter(|w| done >= w.back) {
                    clock[lane_base + wait.op as usize] = done - wait.back + 1;
                    round = round
                        .max(state.lanes[wait.op as usize].rounds[(done - wait.back) as usize]);
                }
                state.lanes[at].flying = true;
                let op = start + at as u32;
                let instance = self.instance(rank, strand, op, done, Some(at as u32), round);
                self.start(instance, &clock)?;
                moved = true;
            }
            if self
                .strand(rank, strand)
                .lanes
                .iter()
                .all(|l| l.done == *times)
            {
                return Ok(true);
            }
            if !moved {
                return Ok(false);
            }
        }
    }

    /// The number of the first lane of a repeat: strands come first, then all operations in order.
    fn lane_base(&self, rank: u32, _strand: u16, item: &Item) -> usize {
        self.ranks[rank as usize].strands.len() + item.ops().start
    }
}
