//! Messages of a walk: how their ends meet, who gets a port next, and what happens when they arrive.

use super::{Breakdown, Instance, Transfer, WalkError, Walker, What};
use crate::schedule::OpKind;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;

/// One end of a message, waiting for the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub instance: Instance,
    /// Whether this end's step has nothing in the other direction.
    pub one_way: bool,
    pub units: u64,
    /// The operation's place in its step.
    pub place: u32,
    pub port: u8,
}

/// Ends of one channel that have not met; all of them sends, or all receives.
#[derive(Default)]
pub(super) struct Meeting {
    pub sends: VecDeque<End>,
    pub receives: VecDeque<End>,
}

/// What arrives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Load {
    /// A send, for a receive.
    TwoSided { send: Instance, receive: Instance },
    /// A put with this number among its strand's puts to that rank.
    Put { put: Instance, number: u32 },
    /// A get.
    Get { get: Instance },
    /// A notification on its own.
    Notice { flag: u16 },
    /// A look at the flag of a peer, which that has raised itself.
    Sight { flag: u16 },
}

/// A message, ready or under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub from: u32,
    pub to: u32,
    pub port: u8,
    pub units: u64,
    pub one_way: bool,
    /// The sender's place in its step: of messages ready at once, the first of each rank go first.
    pub place: u32,
    pub load: Load,
    /// How it came to be ready, and in which moment.
    pub path: Breakdown,
    pub moment: u64,
    pub started: bool,
}

/// A rank's sending or receiving ports.
#[derive(Clone, Debug)]
pub(super) struct PortSide {
    free: u32,
    /// Ready messages that need one of them, in order.
    waiting: Vec<u32>,
    dirty: bool,
    /// How, and in which moment, a port was last given back.
    freed: Breakdown,
    freed_moment: u64,
}

impl PortSide {
    pub(super) fn new(ports: u32) -> PortSide {
        PortSide {
            free: ports,
            waiting: Vec::new(),
            dirty: false,
            freed: Breakdown::default(),
            freed_moment: 0,
        }
    }
}

fn sending(rank: u32) -> u32 {
    2 * rank
}

fn receiving(rank: u32) -> u32 {
    2 * rank + 1
}

impl Walker<'_> {
    /// An end of a two-sided message has come; if the other was there, the message is ready.
    pub(super) fn meet(
        &mut self,
        (from, to, channel): (u32, u32, u16),
        end: End,
        sends: bool,
        path: Breakdown,
    ) {
        let meetings = &mut self.ranks[to as usize].meetings;
        let meeting = meetings.entry((from, channel)).or_default();
        let (own, other) = if sends {
            (&mut meeting.sends, &mut meeting.receives)
        } else {
            (&mut meeting.receives, &mut meeting.sends)
        };
        let Some(met) = other.pop_front() else {
            own.push_back(end);
            return;
        };
        if other.is_empty() {
            meetings.remove(&(from, channel));
        }
        let (send, receive) = if sends { (end, met) } else { (met, end) };
        let load = Load::TwoSided {
            send: send.instance,
            receive: receive.instance,
        };
        let one_way = send.one_way && receive.one_way;
        self.offer(from, to, End { one_way, ..send }, load, path);
    }

    /// A message is ready from now on.
    pub(super) fn offer(&mut self, from: u32, to: u32, end: End, load: Load, path: Breakdown) {
        self.fresh.push(Message {
            from,
            to,
            port: end.port,
            units: end.units,
            one_way: end.one_way,
            place: end.place,
            load,
            path,
            moment: self.moment,
            started: false,
        });
    }

    /// Starts every message that has ports, the one that was ready first first.
    pub(super) fn start_messages(&mut self) {
        let mut fresh = core::mem::take(&mut self.fresh);
        fresh.sort_by_key(|m| (m.place, m.from, m.to));
        for message in fresh.drain(..) {
            let number = self.messages.len() as u32;
            for side in [sending(message.from), receiving(message.to)] {
                self.sides[side as usize].waiting.push(number);
            }
            self.mark(sending(message.from));
            self.messages.push(message);
        }
        self.fresh = fresh;
        // Each side on which something changed proposes its first message that can start.
        let mut proposals = BinaryHeap::new();
        for side in core::mem::take(&mut self.dirty) {
            self.sides[side as usize].dirty = false;
            proposals.extend(self.propose(side, 0).map(|m| Reverse((m, side))));
        }
        while let Some(Reverse((number, side))) = proposals.pop() {
            if self.can_start(number) {
                self.start_message(number);
            }
            proposals.extend(self.propose(side, number + 1).map(|m| Reverse((m, side))));
        }
    }

    fn mark(&mut self, side: u32) {
        if !core::mem::replace(&mut self.sides[side as usize].dirty, true) {
            self.dirty.push(side);
        }
    }

    fn can_start(&self, number: u32) -> bool {
        let m = &self.messages[number as usize];
        let free = |side: u32| self.sides[side as usize].free > 0;
        !m.started && free(sending(m.from)) && free(receiving(m.to))
    }

    /// The first message of `side`, from number `least` on, that can start.
    fn propose(&self, side: u32, least: u32) -> Option<u32> {
        let side = &self.sides[side as usize];
        if side.free == 0 {
            return None;
        }
        let from = side.waiting.partition_point(|&m| m < least);
        let later = side.waiting[from..].iter().copied();
        later.into_iter().find(|&m| self.can_start(m))
    }

    fn start_message(&mut self, number: u32) {
        let m = self.messages[number as usize];
        let (out, into) = (sending(m.from) as usize, receiving(m.to) as usize);
        // It starts now: because it is ready only now, or because a port was given back now.
        let start = if m.moment == self.moment {
            m.path
        } else if self.sides[out].freed_moment == self.moment {
            self.sides[out].freed
        } else {
            self.sides[into].freed
        };
        for side in [out, into] {
            let side = &mut self.sides[side];
            side.free -= 1;
            if let Ok(at) = side.waiting.binary_search(&number) {
                side.waiting.remove(at);
            }
        }
        self.messages[number as usize].started = true;
        let end = start.with_message(m.units, m.one_way);
        (self.observer)(Transfer {
            from: m.from,
            to: m.to,
            port: m.port,
            start_us: self.machine.time_us(&start, self.unit_bytes),
            end_us: self.machine.time_us(&end, self.unit_bytes),
            bytes: m.units as f64 * self.unit_bytes,
        });
        self.push_event(end, What::Arrived(number));
    }

    pub(super) fn arrived(&mut self, number: u32, path: Breakdown) -> Result<(), WalkError> {
        let m = self.messages[number as usize];
        for side in [sending(m.from), receiving(m.to)] {
            let ports = &mut self.sides[side as usize];
            ports.free += 1;
            ports.freed = path;
            ports.freed_moment = self.moment;
            self.mark(side);
        }
        match m.load {
            Load::TwoSided { send, receive } => {
                self.complete(send, path);
                self.take_in(receive, m.units, path);
            }
            Load::Put { put, number } => {
                self.take_in(put, m.units, path);
                self.put_arrived((put.rank, put.strand, m.to), number, path);
            }
            Load::Get { get } => self.take_in(get, m.units, path),
            Load::Notice { flag } => self.raise(m.to, flag, path),
            Load::Sight { flag } => self.see((m.from, flag), m.to, path),
        }
        Ok(())
    }

    /// The data of a receive, a get or a put are there; if it combines them, its rank's processor does that now.
    fn take_in(&mut self, receive: Instance, units: u64, path: Breakdown) {
        let op = &self.schedules[receive.rank as usize].ops[receive.op as usize];
        if matches!(
            op.kind,
            OpKind::RecvReduce { .. } | OpKind::PutReduce { .. } | OpKind::GetReduce { .. }
        ) {
            self.compute(receive, path, |from| from.with_reduced(units));
        } else {
            self.complete(receive, path);
        }
    }

    /// Lets the rank's processor do something as soon as it is free.
    pub(super) fn compute(
        &mut self,
        instance: Instance,
        path: Breakdown,
        work: impl Fn(Breakdown) -> Breakdown,
    ) {
        let busy = self.ranks[instance.rank as usize].busy_until;
        let start = if self.time_us(&busy) > self.time_us(&path) {
            busy
        } else {
            path
        };
        let end = work(start);
        if self.time_us(&end) <= self.time_us(&path) {
            self.complete(instance, path);
            return;
        }
        self.ranks[instance.rank as usize].busy_until = end;
        self.push_event(end, What::Done(instance));
    }
}
