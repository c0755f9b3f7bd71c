//! Operations of a symbolic run: how each starts, meets its counterpart and is done.

use super::{
    Access, Blocks, Clock, Delivery, Failure, Instance, Knowledge, Law, List, Notification, Op,
    OpKind, Rc, Runner, Schedule, Side, Space, Stamp, Value, Vec, format,
};

/// A block, named.
type Named = (Space, u32);

/// The blocks of a list in iteration `iteration`, one by one.
fn named(schedule: &Schedule, list: List, iteration: u32) -> Vec<Named> {
    let each = |set: &Blocks| {
        let space = set.space;
        set.each(iteration).map(move |block| (space, block))
    };
    schedule.list(list).iter().flat_map(each).collect()
}

impl<'a> Runner<'a, '_> {
    fn op(&self, instance: &Instance) -> (&'a Schedule, &'a Op) {
        let schedule = self.ranks[instance.rank as usize].memory.schedule;
        (schedule, &schedule.ops[instance.op as usize])
    }

    fn access(&self, instance: &Instance) -> Access {
        let state = &self.ranks[instance.rank as usize];
        match instance.lane {
            None => {
                let place = state.strands[instance.strand as usize].item as u32 + 1;
                Access {
                    lane: instance.strand,
                    place,
                    op: instance.op,
                }
            }
            Some(_) => {
                let lane = (state.strands.len() + instance.op as usize) as u16;
                Access {
                    lane,
                    place: instance.iteration + 1,
                    op: instance.op,
                }
            }
        }
    }

    /// The stamp of an access to a window; puts have a counter of their own, which only notifications publish.
    fn stamp(&self, instance: &Instance, put: bool) -> Stamp {
        let state = &self.ranks[instance.rank as usize];
        let counter =
            self.counters[instance.rank as usize] + 2 * u32::from(instance.strand) + u32::from(put);
        let place = state.base_items + state.strands[instance.strand as usize].item as u32 + 1;
        Stamp { counter, place }
    }

    pub(super) fn start(&mut self, mut instance: Instance, clock: &Clock) -> Result<(), Failure> {
        let (schedule, op) = self.op(&instance);
        let rank = instance.rank;
        if instance.lane.is_some()
            && matches!(
                op.kind,
                OpKind::Put { .. }
                    | OpKind::Get { .. }
                    | OpKind::Notify { .. }
                    | OpKind::Wait { .. }
                    | OpKind::Await { .. }
            )
        {
            return self.fail(
                Law::Window,
                rank,
                format!(
                    "op {}: one-sided operations stand in steps, not in repeats",
                    instance.op
                ),
            );
        }
        let from = named(schedule, op.from, instance.iteration);
        let into = named(schedule, op.into, instance.iteration);
        match op.kind {
            OpKind::Send { to, channel, .. } => {
                instance.values = self.read_all(&instance, &from, clock)?;
                self.ranks[rank as usize].sent += from.len() as u64;
                self.meet((rank, to, channel), instance, true)
            }
            OpKind::Recv {
                from: peer,
                channel,
                ..
            } => {
                self.claim_all(&instance, &into, clock, &[])?;
                self.ranks[rank as usize].received += into.len() as u64;
                self.meet((peer, rank, channel), instance, false)
            }
            OpKind::RecvReduce {
                from: peer,
                channel,
                ..
            } => {
                if from.len() != into.len() {
                    return self.fail(
                        Law::Matching,
                        rank,
                        format!(
                            "op {} combines {} blocks into {}",
                            instance.op,
                            from.len(),
                            into.len()
                        ),
                    );
                }
                instance.values = self.read_all(&instance, &from, clock)?;
                self.claim_all(&instance, &into, clock, &[&from])?;
                self.ranks[rank as usize].received += into.len() as u64;
                self.ranks[rank as usize].work += into.len() as u64;
                self.meet((peer, rank, channel), instance, false)
            }
            OpKind::Copy => {
                let values = self.read_all(&instance, &from, clock)?;
                self.claim_all(&instance, &into, clock, &[&from])?;
                self.write_all(&instance, &into, &values)?;
                self.complete(&instance, instance.round, &Knowledge::default())
            }
            OpKind::Reduce => self.start_reduce(&instance, clock),
            OpKind::Put { .. } | OpKind::Get { .. } => self.start_window(&instance, clock),
            OpKind::Notify { to, flag } => self.start_notify(&instance, to, flag),
            OpKind::Wait { flag, count } => self.start_wait(&instance, flag, count),
            OpKind::Await { strand, items } => self.await_strand(instance, strand, items),
        }
    }

    fn start_reduce(&mut self, instance: &Instance, clock: &Clock) -> Result<(), Failure> {
        let (schedule, op) = self.op(instance);
        let [left, right, into] =
            [op.from, op.other, op.into].map(|l| named(schedule, l, instance.iteration));
        let lefts = self.read_all(instance, &left, clock)?;
        let rights = self.read_all(instance, &right, clock)?;
        self.claim_all(instance, &into, clock, &[&left, &right])?;
        let values = self.combine_all(instance, &lefts, &rights)?;
        self.write_all(instance, &into, &values)?;
        self.ranks[instance.rank as usize].work += into.len() as u64;
        self.complete(instance, instance.round, &Knowledge::default())
    }

    fn start_window(&mut self, instance: &Instance, clock: &Clock) -> Result<(), Failure> {
        let (schedule, op) = self.op(instance);
        let world = self.ranks[instance.rank as usize].strands[instance.strand as usize]
            .world
            .clone();
        let [from, into, other] =
            [op.from, op.into, op.other].map(|l| named(schedule, l, instance.iteration));
        self.outcome.messages += 1;
        match op.kind {
            OpKind::Put { to, .. } => {
                let values = self.read_all(instance, &from, clock)?;
                let stamp = self.stamp(instance, true);
                self.same_count(instance, values.len(), into.len())?;
                for (&(_, block), value) in into.iter().zip(values) {
                    let peer = self.ranks[to as usize].memory.schedule;
                    let unit = super::super::unit_of(
                        peer,
                        self.ranks[to as usize].memory.call,
                        Space::Window,
                        block,
                    );
                    if unit != value.unit() {
                        let what = format!(
                            "op {} puts block {} where block {unit} belongs",
                            instance.op,
                            value.unit()
                        );
                        return self.fail(Law::Matching, instance.rank, what);
                    }
                    self.one_sided
                        .write(instance.rank, (to, block), value, stamp, &world)?;
                }
                self.ranks[instance.rank as usize].sent += into.len() as u64;
                self.ranks[to as usize].received += into.len() as u64;
            }
            OpKind::Get { from: owner, .. } => {
                let stamp = self.stamp(instance, false);
                let mut values = Vec::with_capacity(other.len());
                for &(_, block) in &other {
                    values.push(self.one_sided.read(
                        instance.rank,
                        (owner, block),
                        stamp,
                        &world,
                    )?);
                }
                self.claim_all(instance, &into, clock, &[])?;
                self.write_all(instance, &into, &values)?;
                self.ranks[instance.rank as usize].received += into.len() as u64;
                self.ranks[owner as usize].sent += into.len() as u64;
            }
            OpKind::Send { .. }
            | OpKind::Recv { .. }
            | OpKind::RecvReduce { .. }
            | OpKind::Copy
            | OpKind::Reduce
            | OpKind::Notify { .. }
            | OpKind::Wait { .. }
            | OpKind::Await { .. } => {}
        }
        self.complete(instance, instance.round + 1, &Knowledge::default())
    }

    fn start_notify(&mut self, instance: &Instance, to: u32, flag: u16) -> Result<(), Failure> {
        let mut knowledge = instance.knowledge.clone();
        if self.windows {
            let put = self.stamp(instance, true);
            Rc::make_mut(&mut knowledge.clock)[put.counter as usize] = put.place;
        }
        let notification = Notification {
            from: instance.rank,
            round: instance.round + 1,
            knowledge,
        };
        if let Some((rank, strand)) = self.one_sided.notify((to, flag), notification) {
            self.retry_wait(rank, strand)?;
        }
        self.complete(instance, instance.round, &Knowledge::default())
    }

    /// Asks again for the strand that waits for a flag.
    fn retry_wait(&mut self, rank: u32, strand: u16) -> Result<(), Failure> {
        let state = self.strand(rank, strand);
        let waiting = core::mem::take(&mut state.waits);
        for instance in waiting {
            let OpKind::Wait { flag, count } = self.op(&instance).1.kind else {
                continue;
            };
            self.start_wait(&instance, flag, count)?;
        }
        Ok(())
    }

    fn start_wait(&mut self, instance: &Instance, flag: u16, count: u32) -> Result<(), Failure> {
        let stamp = self.stamp(instance, false);
        let Some(got) = self
            .one_sided
            .take((instance.rank, flag), count, instance.strand, stamp)
        else {
            self.strand(instance.rank, instance.strand)
                .waits
                .push(instance.clone());
            return Ok(());
        };
        let mut round = instance.round;
        for notification in got {
            round = round.max(notification.round);
            self.learn(instance.rank, instance.strand, &notification.knowledge);
        }
        self.complete(instance, round, &Knowledge::default())
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
        let channel = self.channels.entry(key).or_default();
        let other = if sends {
            channel.receives.pop_front()
        } else {
            channel.sends.pop_front()
        };
        match other {
            None if sends => channel.sends.push_back(instance),
            None => channel.receives.push_back(instance),
            Some(other) => {
                if channel.sends.is_empty() && channel.receives.is_empty() {
                    self.channels.remove(&key);
                }
                let (send, receive) = if sends {
                    (instance, other)
                } else {
                    (other, instance)
                };
                return self.deliver(&send, &receive);
            }
        }
        Ok(())
    }

    fn deliver(&mut self, send: &Instance, receive: &Instance) -> Result<(), Failure> {
        let (schedule, op) = self.op(receive);
        let into = named(schedule, op.into, receive.iteration);
        self.same_count(receive, send.values.len(), into.len())?;
        let round = send.round.max(receive.round) + 1;
        let (values, reduced) = match op.kind {
            OpKind::RecvReduce {
                side: Side::Left, ..
            } => (
                self.combine_all(receive, &send.values, &receive.values)?,
                true,
            ),
            OpKind::RecvReduce {
                side: Side::Right, ..
            } => (
                self.combine_all(receive, &receive.values, &send.values)?,
                true,
            ),
            _ => (send.values.clone(), false),
        };
        self.write_all(receive, &into, &values)?;
        self.outcome.messages += 1;
        if self.observer.watches() {
            let (sender, send_op) = self.op(send);
            let OpKind::Send { port, .. } = send_op.kind else {
                return Ok(());
            };
            let sent = named(sender, send_op.from, send.iteration);
            self.observer.delivered(Delivery {
                from: send.rank,
                to: receive.rank,
                round,
                port,
                sent,
                received: into,
                values: send.values.clone(),
                reduced,
            });
        }
        self.complete(receive, round, &send.knowledge)?;
        self.complete(send, round, &Knowledge::default())
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
        match instance.lane {
            None => {
                state.outstanding -= 1;
                if state.outstanding == 0 {
                    self.ready.push((instance.rank, instance.strand));
                }
            }
            Some(lane) => {
                let lane = &mut state.lanes[lane as usize];
                lane.done += 1;
                lane.flying = false;
                lane.rounds.push(round);
                self.ready.push((instance.rank, instance.strand));
            }
        }
        Ok(())
    }

    fn learn(&mut self, rank: u32, strand: u16, learned: &Knowledge) {
        let state = self.strand(rank, strand);
        state
            .next_world
            .iter_mut()
            .zip(learned.clock.iter())
            .for_each(|(own, other)| *own = (*own).max(*other));
        state
            .next_entered
            .iter_mut()
            .zip(learned.entered.iter())
            .for_each(|(own, other)| *own |= other);
    }

    pub(super) fn fail<T>(
        &self,
        law: Law,
        rank: u32,
        what: alloc::string::String,
    ) -> Result<T, Failure> {
        Err(Failure { law, rank, what })
    }

    fn same_count(&self, instance: &Instance, sent: usize, expected: usize) -> Result<(), Failure> {
        if sent == expected {
            return Ok(());
        }
        self.fail(
            Law::Matching,
            instance.rank,
            format!(
                "op {} expects {expected} blocks and gets {sent}",
                instance.op
            ),
        )
    }

    fn read_all(
        &mut self,
        instance: &Instance,
        blocks: &[Named],
        clock: &Clock,
    ) -> Result<Vec<Value>, Failure> {
        let access = self.access(instance);
        let mut values = Vec::with_capacity(blocks.len());
        for &(space, block) in blocks {
            values.push(if space == Space::Window {
                let stamp = self.stamp(instance, false);
                let world = self.ranks[instance.rank as usize].strands[instance.strand as usize]
                    .world
                    .clone();
                self.one_sided
                    .read(instance.rank, (instance.rank, block), stamp, &world)?
            } else {
                self.ranks[instance.rank as usize]
                    .memory
                    .read(space, block, access, clock)?
            });
        }
        Ok(values)
    }

    fn claim_all(
        &mut self,
        instance: &Instance,
        blocks: &[Named],
        clock: &Clock,
        sources: &[&[Named]],
    ) -> Result<(), Failure> {
        let access = self.access(instance);
        let memory = &mut self.ranks[instance.rank as usize].memory;
        for (at, &(space, block)) in blocks
            .iter()
            .enumerate()
            .filter(|(_, b)| b.0 != Space::Window)
        {
            let aligned: [Option<Named>; 2] =
                [0, 1].map(|s| sources.get(s).and_then(|s| s.get(at)).copied());
            let mut list = [(space, u32::MAX); 2];
            let mut len = 0;
            for source in aligned
                .into_iter()
                .flatten()
                .filter(|s| s.0 != Space::Window)
            {
                list[len] = source;
                len += 1;
            }
            memory.claim((space, block), access, clock, &list[..len])?;
        }
        Ok(())
    }

    fn write_all(
        &mut self,
        instance: &Instance,
        blocks: &[Named],
        values: &[Value],
    ) -> Result<(), Failure> {
        self.same_count(instance, values.len(), blocks.len())?;
        for (&(space, block), &value) in blocks.iter().zip(values) {
            if space == Space::Window {
                let stamp = self.stamp(instance, false);
                let world = self.ranks[instance.rank as usize].strands[instance.strand as usize]
                    .world
                    .clone();
                self.one_sided.write(
                    instance.rank,
                    (instance.rank, block),
                    value,
                    stamp,
                    &world,
                )?;
            } else {
                self.ranks[instance.rank as usize]
                    .memory
                    .write(space, block, value)?;
            }
        }
        Ok(())
    }

    fn combine_all(
        &mut self,
        instance: &Instance,
        left: &[Value],
        right: &[Value],
    ) -> Result<Vec<Value>, Failure> {
        self.same_count(instance, left.len(), right.len())?;
        let mut values = Vec::with_capacity(left.len());
        for (&l, &r) in left.iter().zip(right) {
            match self.sets.combine(l, r) {
                Some(value) => values.push(value),
                None => {
                    let (l, r) = (self.sets.describe(l), self.sets.describe(r));
                    return self.fail(
                        Law::Result,
                        instance.rank,
                        format!("op {} combines {l} with {r}", instance.op),
                    );
                }
            }
        }
        Ok(values)
    }
}
