//! The end of a rank's call in a symbolic run: what its output holds, and who never gets there.

use super::{
    Collective, Entered, Failure, Knowledge, Law, Outcome, RankState, Runner, Space, Value,
};
use alloc::format;
use alloc::vec;

impl Runner<'_, '_> {
    pub(super) fn leave(&mut self, rank: u32) -> Result<(), Failure> {
        let state = &self.ranks[rank as usize];
        let schedule = state.memory.schedule;
        let done = state
            .strands
            .iter()
            .zip(&schedule.strands)
            .all(|(s, t)| s.cursor.item() == t.items.len());
        if !done {
            return Ok(());
        }
        self.check_result(rank)?;
        let state = &mut self.ranks[rank as usize];
        self.outcome.work = self.outcome.work.max(state.work);
        let round = state.strands.iter().map(|s| s.round).max().unwrap_or(0);
        self.outcome.steps = self.outcome.steps.max(round);
        let next = state.number + 1;
        if let Some(world) = self.worlds.get(next) {
            let mut known = Knowledge::default();
            for strand in &state.strands {
                known.join(&strand.known);
            }
            known.entered = None;
            let base = state.base_items
                + state
                    .strands
                    .iter()
                    .map(|s| s.cursor.item() as u32)
                    .max()
                    .unwrap_or(0);
            let mut fresh = RankState::new(
                *world,
                &world.schedules[rank as usize],
                &mut self.sets,
                next,
            );
            fresh.base_items = base;
            fresh.base_ops = state.base_ops + schedule.ops.len() as u32;
            // Peers read the window of a rank that has left the call, and that counts too.
            (fresh.sent, fresh.received) = (state.sent, state.received);
            fresh.strands.iter_mut().for_each(|s| {
                s.known = known.clone();
                s.round = round;
            });
            self.ranks[rank as usize] = fresh;
            self.enter(rank)?;
        } else {
            self.ranks[rank as usize].number = next;
        }
        Ok(())
    }

    fn check_result(&mut self, rank: u32) -> Result<(), Failure> {
        let state = &self.ranks[rank as usize];
        let (call, schedule) = (*state.memory.call, state.memory.schedule);
        if call.collective == Collective::Barrier {
            let mut known: Entered = vec![0; self.ranks_words()];
            for strand in &state.strands {
                let entered = strand.known.entered.iter().flat_map(|known| known.iter());
                let both = known.iter_mut().zip(entered);
                both.for_each(|(all, some)| *all |= some);
            }
            if let Some(other) =
                (0..call.ranks).find(|r| known[*r as usize / 64] & (1 << (r % 64)) == 0)
            {
                let what =
                    format!("leaves the barrier without knowing that rank {other} has entered");
                return Err(Failure {
                    law: Law::Result,
                    rank,
                    what,
                });
            }
        }
        for block in 0..call.output_blocks(rank, schedule.parts) {
            let Some(content) = call.after(rank, block, schedule.parts) else {
                continue;
            };
            let expected = match content.contributions {
                None => Value::data(content.unit),
                Some((start, end)) => self.sets.value(content.unit, start, end),
            };
            let got = self.ranks[rank as usize].memory.peek(Space::Output, block);
            if got != expected {
                let (got, expected) = (self.sets.describe(got), self.sets.describe(expected));
                let what = format!("output block {block} holds {got}, not {expected}");
                return Err(Failure {
                    law: Law::Result,
                    rank,
                    what,
                });
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Outcome, Failure> {
        let traffic = self
            .ranks
            .iter()
            .map(|state| state.sent.max(state.received));
        self.outcome.volume = traffic.max().unwrap_or(0);
        for (rank, state) in self.ranks.iter().enumerate() {
            if state.number < self.worlds.len() {
                let schedule = state.memory.schedule;
                let stuck = state
                    .strands
                    .iter()
                    .zip(&schedule.strands)
                    .find(|(s, t)| s.cursor.item() < t.items.len());
                let what = match stuck {
                    Some((strand, items)) => {
                        let ops = items.items[strand.cursor.item()].ops();
                        format!(
                            "waits for ever in item {} at {:?}",
                            strand.cursor.item(),
                            schedule.ops[ops.start].kind
                        )
                    }
                    None => format!("never enters call {}", state.number),
                };
                return Err(Failure {
                    law: Law::Termination,
                    rank: rank as u32,
                    what,
                });
            }
        }
        self.one_sided.check()?;
        self.observer.finished(&self.sets);
        Ok(self.outcome)
    }
}
