//! The lanes of a repeat in a symbolic run: what an iteration knows when it starts, and in which round it does.

use super::{Clock, Failure, Item, Runner};

impl Runner<'_, '_> {
    /// Starts an iteration of operation `at` of a repeat's body.
    pub(super) fn start_lane(
        &mut self,
        (rank, strand): (u32, u16),
        item: &Item,
        (at, iteration): (u32, u32),
    ) -> Result<(), Failure> {
        let Item::Repeat { waits, start, .. } = item else {
            return Ok(());
        };
        // Strands come first among a rank's lanes, then all operations in order.
        let base = self.ranks[rank as usize].strands.len() + item.ops().start;
        let mut clock: Clock = core::mem::take(&mut self.lane_clock);
        let state = self.strand(rank, strand);
        clock.clone_from(&state.clock);
        let mut round = state.rounds[at as usize].last().copied();
        clock[base + at as usize] = iteration;
        for wait in waits[at as usize].iter().filter(|w| iteration >= w.back) {
            let other = &state.rounds[wait.op as usize];
            clock[base + wait.op as usize] = iteration - wait.back + 1;
            round = round.max(Some(other[(iteration - wait.back) as usize]));
        }
        let round = round.unwrap_or(0).max(state.round);
        let instance = self.instance(rank, strand, start + at, iteration, Some(at), round);
        self.start(instance, &clock)?;
        self.lane_clock = clock;
        Ok(())
    }
}
