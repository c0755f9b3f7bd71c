//! The lanes of a repeat in a symbolic run: each operation of the body goes through its iterations alone.

use super::{Clock, Failure, Item, Lane, Runner, StrandState, Vec, vec};
use crate::schedule::Dependence;

/// Makes the lanes of a repeat, of which any may start.
pub(super) fn begin(state: &mut StrandState, times: u32, waits: &[Vec<Dependence>]) {
    let lane = Lane {
        rounds: Vec::with_capacity(times as usize),
        ..Lane::default()
    };
    state.lanes = vec![lane; waits.len()];
    state.times = times;
    state.open_lanes = if times > 0 { waits.len() } else { 0 };
    for (at, waits) in (0..).zip(waits) {
        for wait in waits {
            state.lanes[wait.op as usize].awaited_by.push(at);
        }
    }
    state.lanes_to_try = (0..waits.len() as u32).rev().collect();
}

/// Ends a lane's iteration: it may go on, and so may those that wait for it.
pub(super) fn end(state: &mut StrandState, lane: u32, round: u32) {
    state.lanes_to_try.push(lane);
    let StrandState {
        lanes,
        lanes_to_try,
        times,
        open_lanes,
        ..
    } = state;
    let lane = &mut lanes[lane as usize];
    lane.done += 1;
    *open_lanes -= usize::from(lane.done == *times);
    lane.flying = false;
    lane.met = 0;
    lane.rounds.push(round);
    lanes_to_try.extend_from_slice(&lane.awaited_by);
}

impl Runner<'_, '_> {
    /// Starts what may start in a repeat; whether all of it is done.
    pub(super) fn run_lanes(
        &mut self,
        rank: u32,
        strand: u16,
        item: &Item,
    ) -> Result<bool, Failure> {
        let Item::Repeat { window, .. } = item else {
            return Ok(true);
        };
        // In a window, the end of the oldest iteration lets any lane go on.
        if *window > 0 {
            let state = self.strand(rank, strand);
            state.lanes_to_try = (0..state.lanes.len() as u32).rev().collect();
        }
        while let Some(at) = self.strand(rank, strand).lanes_to_try.pop() {
            if self.may_start(rank, strand, item, at) {
                self.start_lane(rank, strand, item, at)?;
            }
        }
        // Asked after every operation, of which a body may have very many: counted, not looked for.
        Ok(self.strand(rank, strand).open_lanes == 0)
    }

    /// Whether a lane's next iteration has all that it waits for.
    fn may_start(&mut self, rank: u32, strand: u16, item: &Item, at: u32) -> bool {
        let Item::Repeat {
            times,
            window,
            waits,
            ..
        } = item
        else {
            return false;
        };
        let lanes = &mut self.strand(rank, strand).lanes;
        let Lane {
            done,
            flying,
            mut met,
            ..
        } = lanes[at as usize];
        // Looked for only where it counts: a body may have very many operations.
        let oldest = || lanes.iter().map(|l| l.done).min().unwrap_or(0);
        let room = *window == 0 || done < oldest() + window;
        let ready = |w: &Dependence| done < w.back || lanes[w.op as usize].done > done - w.back;
        if flying || done == *times || !room {
            return false;
        }
        // What is met stays so: of very many waits none is looked at again when another end is told.
        let unmet = &waits[at as usize][met..];
        met += unmet.iter().take_while(|wait| ready(wait)).count();
        lanes[at as usize].met = met;
        met == waits[at as usize].len()
    }

    fn start_lane(&mut self, rank: u32, strand: u16, item: &Item, at: u32) -> Result<(), Failure> {
        let Item::Repeat { waits, start, .. } = item else {
            return Ok(());
        };
        // Strands come first among a rank's lanes, then all operations in order.
        let base = self.ranks[rank as usize].strands.len() + item.ops().start;
        let mut clock: Clock = core::mem::take(&mut self.lane_clock);
        let state = self.strand(rank, strand);
        clock.clone_from(&state.clock);
        let lane = &state.lanes[at as usize];
        let (done, mut round) = (lane.done, lane.rounds.last().copied());
        clock[base + at as usize] = done;
        for wait in waits[at as usize].iter().filter(|w| done >= w.back) {
            let other = &state.lanes[wait.op as usize];
            clock[base + wait.op as usize] = done - wait.back + 1;
            round = round.max(Some(other.rounds[(done - wait.back) as usize]));
        }
        let round = round.unwrap_or(0).max(state.round);
        state.lanes[at as usize].flying = true;
        let instance = self.instance(rank, strand, start + at, done, Some(at), round);
        self.start(instance, &clock)?;
        self.lane_clock = clock;
        Ok(())
    }
}
