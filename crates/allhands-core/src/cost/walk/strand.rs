//! Strands of a walk: how operations start, and how steps and repeats go on.

use super::message::{End, Load};
use super::{Breakdown, Instance, WalkError, Walker};
use crate::schedule::{Item, List, Op, OpKind};
use alloc::vec;
use alloc::vec::Vec;

#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    done: u32,
    flying: bool,
}

/// Where a strand stands.
#[derive(Clone, Debug, Default)]
pub(super) struct StrandState {
    item: usize,
    started: bool,
    outstanding: u32,
    /// Whether the present item sends, and whether it receives.
    sends: bool,
    receives: bool,
    lanes: Vec<Lane>,
    /// Operations that wait for another strand: (itself, the strand, how many items).
    awaiting: Vec<(Instance, u16, u32)>,
}

impl Walker<'_> {
    fn strand(&mut self, rank: u32, strand: u16) -> &mut StrandState {
        &mut self.ranks[rank as usize].strands[strand as usize]
    }

    /// Takes a strand as far as it comes now.
    pub(super) fn go_on(
        &mut self,
        rank: u32,
        strand: u16,
        path: Breakdown,
    ) -> Result<(), WalkError> {
        let schedules = self.schedules;
        let items = &schedules[rank as usize].strands[strand as usize].items;
        loop {
            let state = self.strand(rank, strand);
            let Some(item) = items.get(state.item) else {
                self.leave(rank, path);
                return Ok(());
            };
            if !state.started {
                self.start_item(rank, strand, item, path)?;
            }
            let finished = match item {
                Item::Step { .. } => self.strand(rank, strand).outstanding == 0,
                Item::Repeat { .. } => self.run_lanes(rank, strand, item, path)?,
            };
            if !finished {
                return Ok(());
            }
            let state = self.strand(rank, strand);
            state.item += 1;
            state.started = false;
            self.wake_awaiting(rank, path);
        }
    }

    fn leave(&mut self, rank: u32, path: Breakdown) {
        let items = &self.schedules[rank as usize].strands;
        let state = &mut self.ranks[rank as usize];
        let all = state
            .strands
            .iter()
            .zip(items)
            .all(|(s, t)| s.item == t.items.len());
        if all && state.finish.is_none() {
            state.finish = Some(path);
        }
    }

    fn start_item(
        &mut self,
        rank: u32,
        strand: u16,
        item: &Item,
        path: Breakdown,
    ) -> Result<(), WalkError> {
        let schedules = self.schedules;
        let ops = &schedules[rank as usize].ops[item.ops()];
        let state = self.strand(rank, strand);
        state.started = true;
        state.sends = ops.iter().any(|op| sends(&op.kind));
        state.receives = ops.iter().any(|op| receives(&op.kind));
        match item {
            Item::Step { start, .. } => {
                state.outstanding = ops.len() as u32;
                for (place, _) in ops.iter().enumerate() {
                    let instance = Instance {
                        rank,
                        strand,
                        op: start + place as u32,
                        lane: None,
                        iteration: 0,
                    };
                    self.start(instance, place as u32, path)?;
                }
            }
            Item::Repeat { .. } => state.lanes = vec![Lane::default(); ops.len()],
        }
        Ok(())
    }

    /// Starts what may start in a repeat; whether all of it is done.
    fn run_lanes(
        &mut self,
        rank: u32,
        strand: u16,
        item: &Item,
        path: Breakdown,
    ) -> Result<bool, WalkError> {
        let Item::Repeat {
            times,
            window,
            start,
            waits,
            ..
        } = item
        else {
            return Ok(true);
        };
        loop {
            let mut moved = false;
            for (at, waits) in waits.iter().enumerate() {
                let lanes = &self.strand(rank, strand).lanes;
                let Lane { done, flying } = lanes[at];
                let oldest = || lanes.iter().map(|l| l.done).min().unwrap_or(0);
                let free = |w: &crate::schedule::Dependence| {
                    done < w.back || lanes[w.op as usize].done > done - w.back
                };
                if flying
                    || done == *times
                    || !waits.iter().all(free)
                    || (*window > 0 && done >= oldest() + window)
                {
                    continue;
                }
                self.strand(rank, strand).lanes[at].flying = true;
                let instance = Instance {
                    rank,
                    strand,
                    op: start + at as u32,
                    lane: Some(at as u32),
                    iteration: done,
                };
                self.start(instance, at as u32, path)?;
                moved = true;
            }
            if !moved {
                let lanes = &self.strand(rank, strand).lanes;
                return Ok(lanes.iter().all(|l| l.done == *times));
            }
        }
    }

    fn start(&mut self, instance: Instance, place: u32, path: Breakdown) -> Result<(), WalkError> {
        let schedules = self.schedules;
        let rank = instance.rank;
        let op = schedules[rank as usize].ops[instance.op as usize];
        let units = self.op_units(&op, &instance)?;
        // In a step a message without bytes is left out at both ends, as it is when a schedule is lowered.
        let token = op.from.len + op.into.len + op.other.len == 0;
        if units == 0 && !token && instance.lane.is_none() {
            self.complete(instance, path);
            return Ok(());
        }
        let state = self.strand(rank, instance.strand);
        let end = End {
            instance,
            one_way: !(state.sends && state.receives),
            units,
            place,
            port: op.kind.port(),
        };
        match op.kind {
            OpKind::Send { to, channel, .. } => self.meet((rank, to, channel), end, true, path),
            OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
                self.meet((from, rank, channel), end, false, path);
            }
            OpKind::Combine { .. } => return Err(WalkError::NoFabric),
            OpKind::Copy => self.compute(instance, path, |from| from.with_copied(units)),
            OpKind::Reduce => self.compute(instance, path, |from| from.with_reduced(units)),
            OpKind::Put { to, .. } if to == rank => {
                self.compute(instance, path, |from| from.with_copied(units));
            }
            OpKind::PutReduce { to, .. } if to == rank => {
                self.compute(instance, path, |from| from.with_reduced(units));
            }
            OpKind::Put { to, .. } | OpKind::PutReduce { to, .. } => self.put(to, end, path),
            OpKind::Get { from, .. } if from == rank => {
                self.compute(instance, path, |from| from.with_copied(units));
            }
            OpKind::GetReduce { from, .. } if from == rank => {
                self.compute(instance, path, |from| from.with_reduced(units));
            }
            OpKind::Get { from, .. } | OpKind::GetReduce { from, .. } => {
                self.offer(from, rank, end, Load::Get { get: instance }, path);
            }
            OpKind::Notify { to, flag } => self.notify(to, flag, end, path),
            OpKind::Wait { at, flag, count } => self.wait(instance, (at, flag), count, path),
            OpKind::Await { strand, items } => {
                let state = self.strand(rank, instance.strand);
                state.awaiting.push((instance, strand, items));
                self.wake_awaiting(rank, path);
            }
        }
        Ok(())
    }

    fn op_units(&self, op: &Op, instance: &Instance) -> Result<u64, WalkError> {
        let schedule = &self.schedules[instance.rank as usize];
        let list: List = match op.kind {
            OpKind::Copy if schedule.in_slots(op.from) => op.into,
            OpKind::Send { .. } | OpKind::Put { .. } | OpKind::PutReduce { .. } | OpKind::Copy => {
                op.from
            }
            OpKind::Recv { .. }
            | OpKind::RecvReduce { .. }
            | OpKind::Reduce
            | OpKind::Combine { .. }
            | OpKind::Get { .. }
            | OpKind::GetReduce { .. } => op.into,
            OpKind::Notify { .. } | OpKind::Wait { .. } | OpKind::Await { .. } => return Ok(0),
        };
        self.sizes
            .units(schedule, self.call, list, instance.iteration)
    }

    /// An operation is done; its strand may go on.
    pub(super) fn complete(&mut self, instance: Instance, path: Breakdown) {
        let state = self.strand(instance.rank, instance.strand);
        match instance.lane {
            None => state.outstanding -= 1,
            Some(lane) => {
                let lane = &mut state.lanes[lane as usize];
                lane.done += 1;
                lane.flying = false;
            }
        }
        if instance.lane.is_some() || state.outstanding == 0 {
            self.ready.push((instance.rank, instance.strand, path));
        }
    }

    /// Lets go the operations that wait for a strand that has come far enough.
    fn wake_awaiting(&mut self, rank: u32, path: Breakdown) {
        for strand in 0..self.ranks[rank as usize].strands.len() as u16 {
            let waiting = core::mem::take(&mut self.strand(rank, strand).awaiting);
            for (instance, on, items) in waiting {
                if self.strand(rank, on).item >= items as usize {
                    self.complete(instance, path);
                } else {
                    let state = self.strand(rank, strand);
                    state.awaiting.push((instance, on, items));
                }
            }
        }
    }
}

fn sends(kind: &OpKind) -> bool {
    match kind {
        OpKind::Send { .. }
        | OpKind::Put { .. }
        | OpKind::PutReduce { .. }
        | OpKind::Notify { .. } => true,
        OpKind::Recv { .. }
        | OpKind::RecvReduce { .. }
        | OpKind::Get { .. }
        | OpKind::GetReduce { .. }
        | OpKind::Wait { .. }
        | OpKind::Combine { .. }
        | OpKind::Copy
        | OpKind::Reduce
        | OpKind::Await { .. } => false,
    }
}

fn receives(kind: &OpKind) -> bool {
    match kind {
        OpKind::Recv { .. }
        | OpKind::RecvReduce { .. }
        | OpKind::Get { .. }
        | OpKind::GetReduce { .. }
        | OpKind::Wait { .. } => true,
        OpKind::Send { .. }
        | OpKind::Put { .. }
        | OpKind::PutReduce { .. }
        | OpKind::Notify { .. }
        | OpKind::Combine { .. }
        | OpKind::Copy
        | OpKind::Reduce
        | OpKind::Await { .. } => false,
    }
}
