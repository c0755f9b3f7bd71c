//! Operations of a symbolic run: how each starts, meets its counterpart and is done.

use super::blocks::Named;
use super::{
    Clock, Delivery, Failure, Instance, Knowledge, Law, Op, OpKind, Runner, Schedule, Side, Value,
    VecDeque, Waiting, format,
};
use alloc::collections::btree_map::Entry;

impl<'a> Runner<'a, '_> {
    pub(super) fn op(&self, instance: &Instance) -> (&'a Schedule, &'a Op) {
        let schedule = self.ranks[instance.rank as usize].memory.schedule;
        (schedule, &schedule.ops[instance.op as usize])
    }

    pub(super) fn start(&mut self, instance: Instance, clock: &Clock) -> Result<(), Failure> {
        let (schedule, op) = self.op(&instance);
        self.stands_in_step(&instance, op)?;
        let [from, into] =
            [op.from, op.into].map(|list| self.spare.named(schedule, list, instance.iteration));
        self.start_named(instance, (&from, &into), clock)?;
        self.spare.keep_names(from);
        self.spare.keep_names(into);
        Ok(())
    }

    /// Starts an operation that reads and writes these blocks.
    fn start_named(
        &mut self,
        mut instance: Instance,
        (from, into): (&[Named], &[Named]),
        clock: &Clock,
    ) -> Result<(), Failure> {
        let rank = instance.rank;
        match self.op(&instance).1.kind {
            OpKind::Send {
                to,
                channel,
                deposited,
                ..
            } => {
                instance.values = self.read_all(&instance, from, clock)?;
                if deposited {
                    self.is_carried(&instance)?;
                } else {
                    self.ranks[rank as usize].sent += from.len() as u64;
                }
                self.meet((rank, to, channel), instance, true)
            }
            OpKind::Recv {
                from: peer,
                channel,
                ..
            } => {
                self.claim_all(&instance, into, clock, &[])?;
                self.ranks[rank as usize].received += into.len() as u64;
                self.meet((peer, rank, channel), instance, false)
            }
            OpKind::RecvReduce {
                from: peer,
                channel,
                ..
            } => {
                self.same_count(&instance, from.len(), into.len())?;
                instance.values = self.read_all(&instance, from, clock)?;
                self.claim_all(&instance, into, clock, &[from])?;
                self.ranks[rank as usize].received += into.len() as u64;
                self.ranks[rank as usize].work += into.len() as u64;
                self.meet((peer, rank, channel), instance, false)
            }
            OpKind::Combine { fabric, gives, .. } => {
                self.start_combine(instance, (fabric, gives), (from, into), clock)
            }
            OpKind::Copy => {
                let values = self.read_all(&instance, from, clock)?;
                self.claim_all(&instance, into, clock, &[from])?;
                self.write_all(&instance, into, &values)?;
                self.spare.keep_values([values]);
                self.complete(&instance, instance.round, &Knowledge::default())
            }
            OpKind::Reduce => self.start_reduce(&instance, (from, into), clock),
            OpKind::Put { to, .. } | OpKind::PutReduce { to, .. } => {
                self.start_put(&instance, to, (from, into), clock)
            }
            OpKind::Get { from: owner, .. } | OpKind::GetReduce { from: owner, .. } => {
                self.start_get(&instance, owner, (from, into), clock)
            }
            OpKind::Notify { to, flag } => self.start_notify(&instance, to, flag),
            OpKind::Wait { at, flag, count } => self.start_wait(&instance, (at, flag), count),
            OpKind::Await { strand, items } => self.await_strand(instance, strand, items),
        }
    }

    /// Flags, windows and meetings are ordered item by item, so what touches them stands in a step.
    fn stands_in_step(&self, instance: &Instance, op: &Op) -> Result<(), Failure> {
        let one_sided = match op.kind {
            OpKind::Send { .. }
            | OpKind::Recv { .. }
            | OpKind::RecvReduce { .. }
            | OpKind::Copy
            | OpKind::Reduce => false,
            OpKind::Put { .. }
            | OpKind::PutReduce { .. }
            | OpKind::Get { .. }
            | OpKind::GetReduce { .. }
            | OpKind::Notify { .. }
            | OpKind::Wait { .. }
            | OpKind::Combine { .. }
            | OpKind::Await { .. } => true,
        };
        if instance.lane.is_none() || !one_sided {
            return Ok(());
        }
        let what = format!(
            "op {}: one-sided operations and meetings stand in steps, not in repeats",
            instance.op
        );
        self.fail(Law::Window, instance.rank, what)
    }

    fn start_reduce(
        &mut self,
        instance: &Instance,
        (left, into): (&[Named], &[Named]),
        clock: &Clock,
    ) -> Result<(), Failure> {
        let (schedule, op) = self.op(instance);
        let right = self.spare.named(schedule, op.other, instance.iteration);
        let lefts = self.read_all(instance, left, clock)?;
        let rights = self.read_all(instance, &right, clock)?;
        self.claim_all(instance, into, clock, &[left, &right])?;
        let values = self.combine_all(instance, &lefts, &rights)?;
        self.write_all(instance, into, &values)?;
        self.spare.keep_names(right);
        self.spare.keep_values([lefts, rights, values]);
        self.ranks[instance.rank as usize].work += into.len() as u64;
        self.complete(instance, instance.round, &Knowledge::default())
    }

    /// Pairs a send with a receive, first in first out.
    fn meet(
        &mut self,
        key: (u32, u32, u16),
        instance: Instance,
        sends: bool,
    ) -> Result<(), Failure> {
        if key.0 as usize >= self.ranks.len()
            || key.1 as usize >= self.ranks.len()
            || key.0 == key.1
        {
            return self.fail(
                Law::Matching,
                instance.rank,
                format!(
                    "op {} is between ranks {} and {}",
                    instance.op, key.0, key.1
                ),
            );
        }
        let waiting = match self.channels[key.1 as usize].entry((key.0, key.2)) {
            Entry::Vacant(place) => {
                place.insert(Waiting {
                    sends,
                    first: Some(instance),
                    more: VecDeque::new(),
                });
                return Ok(());
            }
            Entry::Occupied(waiting) => waiting.into_mut(),
        };
        let Some(other) = waiting.first.take_if(|_| waiting.sends != sends) else {
            waiting.sends = sends;
            match &waiting.first {
                None => waiting.first = Some(instance),
                Some(_) => waiting.more.push_back(instance),
            }
            return Ok(());
        };
        waiting.first = waiting.more.pop_front();
        if sends {
            self.deliver(instance, other)
        } else {
            self.deliver(other, instance)
        }
    }

    fn deliver(&mut self, send: Instance, receive: Instance) -> Result<(), Failure> {
        let (schedule, op) = self.op(&receive);
        let into = self.spare.named(schedule, op.into, receive.iteration);
        self.same_count(&receive, send.values.len(), into.len())?;
        let round = send.round.max(receive.round) + 1;
        let combined = match op.kind {
            OpKind::RecvReduce {
                side: Side::Left, ..
            } => Some(self.combine_all(&receive, &send.values, &receive.values)?),
            OpKind::RecvReduce {
                side: Side::Right, ..
            } => Some(self.combine_all(&receive, &receive.values, &send.values)?),
            _ => None,
        };
        self.write_all(&receive, &into, combined.as_ref().unwrap_or(&send.values))?;
        self.outcome.messages += 1;
        if self.observer.watches() {
            let landed = combined.as_ref().unwrap_or(&send.values);
            let reduced = combined.is_some();
            self.show(&send, &receive, (&into, landed), (round, reduced));
        }
        self.complete(&receive, round, &send.knowledge)?;
        self.complete(&send, round, &Knowledge::default())?;
        self.spare.keep_names(into);
        let values = [send.values, receive.values, combined.unwrap_or_default()];
        self.spare.keep_values(values);
        Ok(())
    }

    /// Shows a message to the observer, with the blocks to which it came and what they hold now.
    fn show(
        &mut self,
        send: &Instance,
        receive: &Instance,
        (into, landed): (&[Named], &[Value]),
        (round, reduced): (u32, bool),
    ) {
        let (sender, op) = self.op(send);
        let OpKind::Send { port, .. } = op.kind else {
            return;
        };
        let sent = self.spare.named(sender, op.from, send.iteration);
        self.observer.delivered(Delivery {
            from: send.rank,
            to: receive.rank,
            round,
            port,
            sent,
            received: into.to_vec(),
            values: send.values.clone(),
            landed: landed.to_vec(),
            reduced,
        });
    }

    /// Ends an operation in round `round`, with what its strand learns from it.
    pub(super) fn complete(
        &mut self,
        instance: &Instance,
        round: u32,
        learned: &Knowledge,
    ) -> Result<(), Failure> {
        self.learn(instance.rank, instance.strand, learned);
        let state = self.strand(instance.rank, instance.strand);
        state.next_round = state.next_round.max(round);
        if let Some(lane) = instance.lane {
            state.rounds[lane as usize].push(round);
        }
        if state.cursor.done(instance.lane) {
            self.ready.push((instance.rank, instance.strand));
        }
        Ok(())
    }

    pub(super) fn learn(&mut self, rank: u32, strand: u16, learned: &Knowledge) {
        if learned.clock.is_none() && learned.entered.is_none() {
            return;
        }
        let state = self.strand(rank, strand);
        let Knowledge { clock, entered } = learned.clone();
        // Who has entered matters in a barrier only.
        let entered = entered.filter(|_| state.next_known.entered.is_some());
        state.next_known.join(&Knowledge { clock, entered });
    }

    pub(super) fn fail<T>(
        &self,
        law: Law,
        rank: u32,
        what: alloc::string::String,
    ) -> Result<T, Failure> {
        Err(Failure { law, rank, what })
    }
}
