//! One-sided operations of a symbolic run: puts, gets, notifications and waits.

use super::blocks::{Named, named};
use super::{
    Clock, Delivery, Failure, Instance, Knowledge, Law, Notification, OpKind, Rc, Runner, Space,
    Stamp, Value, Vec, format,
};

impl Runner<'_, '_> {
    /// The stamp of an access to a window; puts have a counter of their own, which only notifications publish.
    pub(super) fn stamp(&self, instance: &Instance, put: bool) -> Stamp {
        let state = &self.ranks[instance.rank as usize];
        let counter =
            self.counters[instance.rank as usize] + 2 * u32::from(instance.strand) + u32::from(put);
        let place = state.base_items + state.strands[instance.strand as usize].item as u32 + 1;
        Stamp { counter, place }
    }

    /// The rank at the other end must be there, and its flag, if one is named.
    fn is_there(&self, instance: &Instance, peer: u32, flag: Option<u16>) -> Result<(), Failure> {
        let peer_is = self.ranks.get(peer as usize);
        if peer_is.is_some_and(|p| flag.is_none_or(|f| f < p.memory.schedule.flags)) {
            return Ok(());
        }
        let what = match flag {
            Some(flag) => format!("op {}: no flag {flag} at rank {peer}", instance.op),
            None => format!("op {}: no rank {peer}", instance.op),
        };
        self.fail(Law::Matching, instance.rank, what)
    }

    /// What is put into a block of a window must be of the unit that the block is sized for.
    fn for_this_block(
        &self,
        instance: &Instance,
        (to, block): (u32, u32),
        value: Value,
    ) -> Result<(), Failure> {
        let memory = &self.ranks[to as usize].memory;
        let window = memory.schedule.window.last();
        if block >= window.map_or(0, |r| r.first + r.blocks) {
            let what = format!(
                "op {} puts into block {block} of the window of rank {to}, which is not there",
                instance.op
            );
            return self.fail(Law::Window, instance.rank, what);
        }
        let unit = memory.unit(Space::Window, block);
        if unit == value.unit() {
            return Ok(());
        }
        let what = format!(
            "op {} puts block {} where block {unit} belongs",
            instance.op,
            value.unit()
        );
        self.fail(Law::Matching, instance.rank, what)
    }

    pub(super) fn start_window(
        &mut self,
        instance: &Instance,
        clock: &Clock,
    ) -> Result<(), Failure> {
        let (schedule, op) = self.op(instance);
        let world = self.ranks[instance.rank as usize].strands[instance.strand as usize]
            .world
            .clone();
        let [from, into, other] =
            [op.from, op.into, op.other].map(|l| named(schedule, l, instance.iteration));
        self.outcome.messages += 1;
        match op.kind {
            OpKind::Put { to, .. } => {
                self.is_there(instance, to, None)?;
                let values = self.read_all(instance, &from, clock)?;
                let stamp = self.stamp(instance, true);
                self.same_count(instance, values.len(), into.len())?;
                self.observe(instance, (instance.rank, to), (&from, &into), &values);
                for (&(_, block), value) in into.iter().zip(values) {
                    self.for_this_block(instance, (to, block), value)?;
                    self.one_sided
                        .write(instance.rank, (to, block), value, stamp, &world)?;
                }
                self.ranks[instance.rank as usize].sent += into.len() as u64;
                self.ranks[to as usize].received += into.len() as u64;
            }
            OpKind::Get { from: owner, .. } => {
                self.is_there(instance, owner, None)?;
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
                self.observe(instance, (owner, instance.rank), (&other, &into), &values);
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

    fn deliver_token(&mut self, from: u32, to: u32, round: u32) {
        self.observer.delivered(Delivery {
            from,
            to,
            round,
            port: 0,
            sent: Vec::new(),
            received: Vec::new(),
            values: Vec::new(),
            landed: Vec::new(),
            reduced: false,
        });
    }

    /// Shows a put, get or notification to the observer.
    fn observe(
        &mut self,
        instance: &Instance,
        (from, to): (u32, u32),
        (sent, received): (&[Named], &[Named]),
        values: &[Value],
    ) {
        if !self.observer.watches() {
            return;
        }
        let kind = self.op(instance).1.kind;
        let (OpKind::Put { port, .. } | OpKind::Get { port, .. }) = kind else {
            return self.deliver_token(from, to, instance.round + 1);
        };
        self.observer.delivered(Delivery {
            from,
            to,
            round: instance.round + 1,
            port,
            sent: sent.to_vec(),
            received: received.to_vec(),
            values: values.to_vec(),
            landed: values.to_vec(),
            reduced: false,
        });
    }

    pub(super) fn start_notify(
        &mut self,
        instance: &Instance,
        to: u32,
        flag: u16,
    ) -> Result<(), Failure> {
        self.is_there(instance, to, Some(flag))?;
        let mut knowledge = instance.knowledge.clone();
        if self.windows {
            let put = self.stamp(instance, true);
            let clock = knowledge.clock.get_or_insert_default();
            Rc::make_mut(clock)[put.counter as usize] = put.place;
        }
        self.observe(instance, (instance.rank, to), (&[], &[]), &[]);
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

    pub(super) fn start_wait(
        &mut self,
        instance: &Instance,
        flag: u16,
        count: u32,
    ) -> Result<(), Failure> {
        self.is_there(instance, instance.rank, Some(flag))?;
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
}
