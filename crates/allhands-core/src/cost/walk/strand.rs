//! Strands of a walk: how operations start, and how steps and repeats go on.

use super::super::model::{Deed, Model};
use super::message::End;
use super::{Instance, WalkError, Walker};
use crate::schedule::lower::send_first;
use crate::schedule::readiness::{Next, StrandCursor, is_left_out};
use crate::schedule::{Item, List, Op, OpKind};
use alloc::vec::Vec;

/// Where a strand stands.
#[derive(Clone, Debug, Default)]
pub(super) struct StrandState {
    cursor: StrandCursor,
    /// Whether the present item sends, and whether it receives.
    sends: bool,
    receives: bool,
    /// Operations that wait for another strand: (itself, the strand, how many items).
    awaiting: Vec<(Instance, u16, u32)>,
}

impl<M: Model> Walker<'_, M> {
    fn strand(&mut self, rank: u32, strand: u16) -> &mut StrandState {
        &mut self.ranks[rank as usize].strands[strand as usize]
    }

    /// Takes a strand as far as it comes now.
    pub(super) fn go_on(&mut self, rank: u32, strand: u16, path: M::Path) -> Result<(), WalkError> {
        let schedules = self.schedules;
        let items = &schedules[rank as usize].strands[strand as usize].items;
        loop {
            let state = self.strand(rank, strand);
            match state.cursor.next(items) {
                Next::Step(ops) => {
                    self.begin_item((rank, strand), &items[self.item(rank, strand)]);
                    let mut step: Vec<(u32, u32)> = (0..).zip(ops).collect();
                    // Where a processor hands messages over, it does so before what is local, as a plan has it.
                    if !M::MEETS {
                        let all = &schedules[rank as usize].ops;
                        send_first(&mut step, |(_, op)| all[*op as usize].kind);
                    }
                    for (place, op) in step {
                        let instance = Instance {
                            rank,
                            strand,
                            op,
                            lane: None,
                            iteration: 0,
                        };
                        self.start(instance, place, path)?;
                    }
                }
                Next::Repeat(_) => self.begin_item((rank, strand), &items[self.item(rank, strand)]),
                Next::Iteration { at, iteration } => {
                    let instance = Instance {
                        rank,
                        strand,
                        op: items[state.cursor.item()].ops().start as u32 + at,
                        lane: Some(at),
                        iteration,
                    };
                    self.start(instance, at, path)?;
                }
                Next::Over(_) => self.wake_awaiting(rank, path),
                Next::Wait => return Ok(()),
                Next::End => {
                    self.leave(rank, path);
                    return Ok(());
                }
            }
        }
    }

    fn leave(&mut self, rank: u32, path: M::Path) {
        let items = &self.schedules[rank as usize].strands;
        let state = &mut self.ranks[rank as usize];
        let all = state
            .strands
            .iter()
            .zip(items)
            .all(|(s, t)| s.cursor.item() == t.items.len());
        if all && state.finish.is_none() {
            state.finish = Some(path);
        }
    }

    /// The item at which a strand stands.
    fn item(&self, rank: u32, strand: u16) -> usize {
        self.ranks[rank as usize].strands[strand as usize]
            .cursor
            .item()
    }

    /// Looks in which directions an item that begins moves data.
    fn begin_item(&mut self, (rank, strand): (u32, u16), item: &Item) {
        let ops = &self.schedules[rank as usize].ops[item.ops()];
        let state = self.strand(rank, strand);
        state.sends = ops.iter().any(|op| sends(&op.kind));
        state.receives = ops.iter().any(|op| receives(&op.kind));
    }

    fn start(&mut self, instance: Instance, place: u32, path: M::Path) -> Result<(), WalkError> {
        let schedules = self.schedules;
        let rank = instance.rank;
        let op = schedules[rank as usize].ops[instance.op as usize];
        let units = self.op_units(&op, &instance)?;
        if is_left_out(units, op.is_token()) {
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
            OpKind::Send {
                to,
                channel,
                deposited,
                ..
            } => {
                self.send((rank, to, channel), end, deposited, path);
            }
            OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
                self.meet((from, rank, channel), end, false, path);
            }
            OpKind::Combine { .. } => return Err(WalkError::NoFabric),
            OpKind::Copy => self.compute(instance, &[Deed::Copy], units, path),
            OpKind::Reduce => self.compute(instance, &[Deed::Reduce], units, path),
            // Where ends meet, nobody meets oneself; elsewhere a rank's own window takes what any window does.
            OpKind::Put { to, .. } if to == rank && M::MEETS => {
                self.compute(instance, &[Deed::Copy], units, path);
            }
            OpKind::Get { from, .. } if from == rank && M::MEETS => {
                self.compute(instance, &[Deed::Copy], units, path);
            }
            OpKind::PutReduce { to: peer, .. } | OpKind::GetReduce { from: peer, .. }
                if peer == rank && M::MEETS =>
            {
                self.compute(instance, &[Deed::Reduce], units, path);
            }
            OpKind::Put { to, .. } | OpKind::PutReduce { to, .. } => self.put(to, end, path),
            OpKind::Get { from, .. } | OpKind::GetReduce { from, .. } => self.get(from, end, path),
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
    pub(super) fn complete(&mut self, instance: Instance, path: M::Path) {
        let state = self.strand(instance.rank, instance.strand);
        if state.cursor.done(instance.lane) {
            self.ready.push((instance.rank, instance.strand, path));
        }
    }

    /// Lets go the operations that wait for a strand that has come far enough.
    fn wake_awaiting(&mut self, rank: u32, path: M::Path) {
        for strand in 0..self.ranks[rank as usize].strands.len() as u16 {
            let waiting = core::mem::take(&mut self.strand(rank, strand).awaiting);
            for (instance, on, items) in waiting {
                if self.strand(rank, on).cursor.has_passed(items) {
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
