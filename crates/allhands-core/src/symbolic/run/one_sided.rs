//! One-sided operations of a symbolic run: puts, gets, notifications and waits.

use super::blocks::Named;
use super::{
    Clock, Delivery, Failure, Instance, Knowledge, Law, Notification, OpKind, Rc, Runner, Side,
    Space, Stamp, Value, Vec, WorldClock, format,
};
use crate::schedule::Units;

/// How many counters a strand has in a clock.
pub(super) fn counters_of_strand(node_of: &[u32]) -> u32 {
    2 + node_of.len() as u32
}

impl Runner<'_, '_> {
    /// The first counter of a strand.
    pub(super) fn counter(&self, rank: u32, strand: u16) -> u32 {
        self.counters[rank as usize] + counters_of_strand(self.node_of) * u32::from(strand)
    }

    /// Whether two ranks share no memory.
    fn are_apart(&self, one: u32, other: u32) -> bool {
        let node = |rank: u32| self.node_of.get(rank as usize);
        node(one) != node(other)
    }

    /// The stamp of an access to a window; `put` says to whom, if it is a put. Puts have a counter of their own, which only notifications
    /// publish, and count operations: a notification tells of what is put before it in its step, and not of what is put behind.
    /// Those to each rank of another node have one, too, which the end of a step does not publish, nor notifications to others.
    pub(super) fn stamp(&self, instance: &Instance, put: Option<u32>) -> Stamp {
        let state = &self.ranks[instance.rank as usize];
        let counter = self.counter(instance.rank, instance.strand);
        if let Some(to) = put {
            let own = match self.are_apart(instance.rank, to) {
                true => 2 + to,
                false => 1,
            };
            return Stamp {
                counter: counter + own,
                place: state.base_ops + instance.op + 1,
            };
        }
        let place =
            state.base_items + state.strands[instance.strand as usize].cursor.item() as u32 + 1;
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
        if unit == value.unit() || unit == Units::ANY {
            return Ok(());
        }
        let what = format!(
            "op {} puts block {} where block {unit} belongs",
            instance.op,
            value.unit()
        );
        self.fail(Law::Matching, instance.rank, what)
    }

    /// A put, or a put-reduce, which combines what it puts with what is there.
    pub(super) fn start_put(
        &mut self,
        instance: &Instance,
        to: u32,
        (from, into): (&[Named], &[Named]),
        clock: &Clock,
    ) -> Result<(), Failure> {
        let (_, op) = self.op(instance);
        self.is_there(instance, to, None)?;
        let values = self.read_all(instance, from, clock)?;
        let (stamp, world) = (self.stamp(instance, Some(to)), self.world(instance));
        self.same_count(instance, values.len(), into.len())?;
        let combined = match op.kind {
            OpKind::PutReduce { side, .. } => {
                self.ranks[instance.rank as usize].work += into.len() as u64;
                let there = into.iter().map(|(_, block)| {
                    let place = (to, *block);
                    self.one_sided.look(instance.rank, place, &world)
                });
                let there = there.collect::<Result<Vec<_>, _>>()?;
                Some(match side {
                    Side::Left => self.combine_all(instance, &values, &there)?,
                    Side::Right => self.combine_all(instance, &there, &values)?,
                })
            }
            _ => None,
        };
        let landed = combined.as_ref().unwrap_or(&values);
        self.observe(instance, (instance.rank, to), (from, into), &values, landed);
        for (&(_, block), &value) in into.iter().zip(landed) {
            self.for_this_block(instance, (to, block), value)?;
            self.one_sided
                .write(instance.rank, (to, block), value, stamp, &world)?;
        }
        let lists = [values, combined.unwrap_or_default()];
        self.spare.keep_values(lists);
        self.travelled(instance, (instance.rank, to), into.len())
    }

    /// A get, or a get-reduce, which combines what it reads with an own operand.
    pub(super) fn start_get(
        &mut self,
        instance: &Instance,
        owner: u32,
        (from, into): (&[Named], &[Named]),
        clock: &Clock,
    ) -> Result<(), Failure> {
        let (schedule, op) = self.op(instance);
        let other = self.spare.named(schedule, op.other, instance.iteration);
        self.is_there(instance, owner, None)?;
        let (OpKind::Get { last, .. } | OpKind::GetReduce { last, .. }) = op.kind else {
            return Ok(());
        };
        let (stamp, world) = (self.stamp(instance, None), self.world(instance));
        let mut values = Vec::with_capacity(other.len());
        for &(_, block) in &other {
            let block = (owner, block);
            values.push(match last {
                false => self.one_sided.read(instance.rank, block, stamp, &world)?,
                true => self
                    .one_sided
                    .take_out(instance.rank, block, stamp, &world)?,
            });
        }
        let own = self.read_all(instance, from, clock)?;
        self.claim_all(instance, into, clock, &[from])?;
        let combined = match op.kind {
            OpKind::GetReduce { side, .. } => {
                self.ranks[instance.rank as usize].work += into.len() as u64;
                Some(match side {
                    Side::Left => self.combine_all(instance, &values, &own)?,
                    Side::Right => self.combine_all(instance, &own, &values)?,
                })
            }
            _ => None,
        };
        let landed = combined.as_ref().unwrap_or(&values);
        self.write_all(instance, into, landed)?;
        self.observe(
            instance,
            (owner, instance.rank),
            (&other, into),
            &values,
            landed,
        );
        self.spare.keep_names(other);
        let lists = [values, own, combined.unwrap_or_default()];
        self.spare.keep_values(lists);
        self.travelled(instance, (owner, instance.rank), into.len())
    }

    /// What the strand of an operation knows of the world.
    pub(super) fn world(&self, instance: &Instance) -> Rc<WorldClock> {
        let state = &self.ranks[instance.rank as usize];
        let known = &state.strands[instance.strand as usize].known;
        known.clock.clone().unwrap_or_default()
    }

    /// A put or get is done; between a rank and itself nothing travels.
    fn travelled(
        &mut self,
        instance: &Instance,
        (from, to): (u32, u32),
        blocks: usize,
    ) -> Result<(), Failure> {
        if from == to {
            return self.complete(instance, instance.round, &Knowledge::default());
        }
        self.outcome.messages += 1;
        self.ranks[from as usize].sent += blocks as u64;
        self.ranks[to as usize].received += blocks as u64;
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
        landed: &[Value],
    ) {
        if !self.observer.watches() || from == to {
            return;
        }
        let kind = self.op(instance).1.kind;
        let (OpKind::Put { port, .. }
        | OpKind::PutReduce { port, .. }
        | OpKind::Get { port, .. }
        | OpKind::GetReduce { port, .. }) = kind
        else {
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
            landed: landed.to_vec(),
            reduced: matches!(kind, OpKind::PutReduce { .. } | OpKind::GetReduce { .. }),
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
        let stamp = self.stamp(instance, Some(instance.rank));
        if self.windows {
            let clock = Rc::make_mut(knowledge.clock.get_or_insert_default());
            for told in [stamp, self.stamp(instance, Some(to))] {
                clock[told.counter as usize] = told.place;
            }
        }
        self.observe(instance, (instance.rank, to), (&[], &[]), &[], &[]);
        let notification = Notification {
            from: instance.rank,
            stamp,
            round: instance.round + u32::from(to != instance.rank),
            knowledge,
        };
        self.one_sided.notify((to, flag), notification);
        while let Some((rank, strand)) = self.one_sided.served((to, flag)) {
            self.retry_wait(rank, strand)?;
        }
        self.complete(instance, instance.round, &Knowledge::default())
    }

    /// Asks again for a strand that waits for a flag.
    fn retry_wait(&mut self, rank: u32, strand: u16) -> Result<(), Failure> {
        let state = self.strand(rank, strand);
        let waiting = core::mem::take(&mut state.waits);
        for instance in waiting {
            let OpKind::Wait { at, flag, count } = self.op(&instance).1.kind else {
                continue;
            };
            self.start_wait(&instance, (at, flag), count)?;
        }
        Ok(())
    }

    pub(super) fn start_wait(
        &mut self,
        instance: &Instance,
        flag: (u32, u16),
        count: u32,
    ) -> Result<(), Failure> {
        self.is_there(instance, flag.0, Some(flag.1))?;
        let strand = (instance.rank, instance.strand);
        let Some(told) = self.one_sided.take(flag, count, strand) else {
            self.strand(strand.0, strand.1).waits.push(instance.clone());
            return Ok(());
        };
        let round = instance.round.max(told.round);
        self.complete(instance, round, &told.knowledge)
    }
}

#[cfg(test)]
mod tests {
    use crate::schedule::text::parse;
    use crate::symbolic::{Law, World, run, run_apart};

    /// Rank 0 puts to rank 2 and tells rank 1, or rank 2 itself; whoever was told first tells rank 2.
    fn broadcast(told: u32) -> alloc::string::String {
        let words = alloc::format!(
            "call broadcast ranks 3 root 0
             parts 1
             rank 0 {{ window[0..1] run first=0 modulo=1 flag 0 credits 0 flag 1 credits 0 strand 0 {{
               step {{ copy in[0] into out[0] put to 1 port 0 in[0] into window[0] put to 2 port 0 in[0] into window[0] }}
               step {{ notify 1 flag 0 notify {told} flag 1 }} }} }}
             rank 1 {{ window[0..1] run first=0 modulo=1 flag 0 credits 0 flag 1 credits 0 strand 0 {{
               step {{ wait at 1 flag 0 count 1 {} }}
               step {{ copy window[0] into out[0] notify 2 flag 0 }} }} }}
             rank 2 {{ window[0..1] run first=0 modulo=1 flag 0 credits 0 flag 1 credits 0 strand 0 {{
               step {{ wait at 2 flag 0 count 1 {} }}
               step {{ copy window[0] into out[0] }} }} }}",
            if told == 1 { "wait at 1 flag 1 count 1" } else { "" },
            if told == 2 { "wait at 2 flag 1 count 1" } else { "" },
        );
        words
    }

    #[test]
    fn a_put_to_another_node_is_told_of_by_notifications_to_the_same_rank_alone() {
        for (told, apart) in [(1, Err(Law::Window)), (2, Ok(()))] {
            let document = parse(&broadcast(told)).unwrap();
            let world = World {
                call: &document.call,
                schedules: &document.schedules,
            };
            assert!(run(&[world]).is_ok(), "{told}");
            let ran = |node_of| run_apart(&[world], node_of);
            let law = |node_of| ran(node_of).map(|_| ()).map_err(|failure| failure.law);
            assert_eq!(law(&[0, 1, 2]), apart, "{told}");
            assert_eq!(law(&[0, 1, 0]), Ok(()), "{told}: both share memory");
        }
    }
}
