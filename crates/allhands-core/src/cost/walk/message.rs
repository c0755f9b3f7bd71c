//! Messages of a walk: how they start, who gets a port next, and what happens when they arrive.

use super::super::model::{Deed, Kind, Model, Passage};
use super::{Instance, Transfer, Walker, What};
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

/// Ends of one channel that have not met; all of them sends (in LogP's family, messages that are there), or all receives.
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
    /// A send for whoever receives from its channel.
    Eager { send: Instance, channel: u16 },
    /// A copy of one that leaves it where it passes; its sender has nothing to do with it any more.
    Copied { send: Instance, channel: u16 },
    /// A put with this number among its strand's puts to that rank.
    Put { put: Instance, number: u32 },
    /// A get, or what answers to it.
    Get { get: Instance },
    /// That a get asks for so many units.
    Request { get: Instance, units: u64 },
    /// A notification on its own.
    Notice { flag: u16 },
    /// A look at the flag of a peer, which that has raised itself.
    Sight { flag: u16 },
}

impl Load {
    fn kind(self) -> Kind {
        match self {
            Load::TwoSided { .. } | Load::Eager { .. } | Load::Copied { .. } => Kind::Message,
            Load::Put { .. } => Kind::Put,
            Load::Get { .. } => Kind::Answer,
            Load::Request { .. } => Kind::Request,
            Load::Notice { .. } | Load::Sight { .. } => Kind::Notice,
        }
    }
}

/// Which ports a message needs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leg {
    /// One of each end.
    Whole,
    /// Its sender's.
    Out,
    /// Its receiver's.
    In,
}

/// A message, ready or under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<P> {
    pub from: u32,
    pub to: u32,
    pub port: u8,
    pub units: u64,
    pub one_way: bool,
    /// The sender's place in its step: of messages ready at once, the first of each rank go first.
    pub place: u32,
    pub load: Load,
    pub leg: Leg,
    /// How it came to be ready, and in which moment.
    pub path: P,
    pub moment: u64,
    pub started: bool,
}

/// Sending or receiving ports, of a rank or of what shares them.
#[derive(Clone, Debug)]
pub(super) struct PortSide<P> {
    free: u32,
    /// Ready messages that need one of them, in order.
    waiting: Vec<u32>,
    dirty: bool,
    /// How, and in which moment, a port was last given back.
    freed: P,
    freed_moment: u64,
}

impl<P: Default> PortSide<P> {
    pub(super) fn new(ports: u32) -> PortSide<P> {
        PortSide {
            free: ports,
            waiting: Vec::new(),
            dirty: false,
            freed: P::default(),
            freed_moment: 0,
        }
    }
}

impl<M: Model> Walker<'_, M> {
    /// The sides on which a message needs a port.
    fn needs(&self, m: &Message<M::Path>) -> impl Iterator<Item = usize> + use<M> {
        let out = 2 * self.machine.port(m.from, m.to) as usize;
        let into = 2 * self.machine.port(m.to, m.from) as usize + 1;
        let sides = [(Leg::In, out), (Leg::Out, into)];
        let leg = m.leg;
        sides
            .into_iter()
            .filter(move |side| side.0 != leg)
            .map(|side| side.1)
    }

    /// Starts every message that has ports, the one that was ready first first.
    pub(super) fn start_messages(&mut self) {
        let mut fresh = core::mem::take(&mut self.fresh);
        fresh.sort_by_key(|m| (m.place, m.from, m.to));
        for message in fresh.drain(..) {
            let number = self.messages.len() as u32;
            for side in self.needs(&message) {
                self.sides[side].waiting.push(number);
            }
            if let Some(side) = self.needs(&message).next() {
                self.mark(side as u32);
            }
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
        !m.started && self.needs(m).all(|side| self.sides[side].free > 0)
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
        // It starts now: because it is ready only now, or because a port was given back now.
        let mut start = m.path;
        if m.moment != self.moment {
            let freed_now = |side: &usize| self.sides[*side].freed_moment == self.moment;
            let freed = self.needs(&m).find(freed_now).or(self.needs(&m).last());
            start = freed.map_or(start, |side| self.sides[side].freed);
        }
        for side in self.needs(&m) {
            let side = &mut self.sides[side];
            side.free -= 1;
            if let Ok(at) = side.waiting.binary_search(&number) {
                side.waiting.remove(at);
            }
        }
        self.messages[number as usize].started = true;
        let passage = self.passage(&m);
        let end = self.machine.carried(start, &passage);
        match m.leg {
            Leg::Whole => {
                self.tell(&m, start, end);
                self.push_event(end, What::Arrived(number));
            }
            Leg::Out => self.depart(number, start, end),
            Leg::In => self.push_event(end, What::Arrived(number)),
        }
    }

    fn passage(&self, m: &Message<M::Path>) -> Passage {
        Passage {
            from: m.from,
            to: m.to,
            kind: m.load.kind(),
            one_way: m.one_way,
            units: m.units,
            unit_bytes: self.unit_bytes,
        }
    }

    /// Tells the observer of a message that starts.
    fn tell(&mut self, m: &Message<M::Path>, start: M::Path, end: M::Path) {
        self.started += 1;
        let (start_us, end_us) = (self.time_us(&start), self.time_us(&end));
        (self.observer)(Transfer {
            from: m.from,
            to: m.to,
            port: m.port,
            start_us,
            end_us,
            bytes: m.units as f64 * self.unit_bytes,
        });
    }

    /// A message has its sender's port from one moment to another, and leaves, with the copies that it drops.
    fn depart(&mut self, number: u32, start: M::Path, end: M::Path) {
        let m = self.messages[number as usize];
        self.push_event(end, What::Left(number));
        let mut riders = Vec::new();
        if let Load::Eager { send, .. } = m.load {
            riders = self.riders.remove(&send).unwrap_or_default();
            let carrier = &mut self.ranks[m.from as usize].carrier;
            carrier.take_if(|carrier| *carrier == send);
        }
        for copy in riders {
            self.came_later(copy, start);
        }
        self.came_later(m, start);
    }

    /// A message that leaves at `start` will come to its receiver's port: behind those that left before it on the same way.
    fn came_later(&mut self, m: Message<M::Path>, start: M::Path) {
        let passage = self.passage(&m);
        let mut head = self.machine.travelled(start, &passage);
        let way = [
            self.machine.port(m.from, m.to),
            self.machine.port(m.to, m.from),
        ];
        if let Some(last) = self.heads.get(&way)
            && self.time_us(last) > self.time_us(&head)
        {
            head = *last;
        }
        self.heads.insert(way, head);
        let here = self.machine.carried(head, &passage);
        self.tell(&m, start, here);
        self.push_event(head, What::Came(self.handed.len() as u32));
        self.handed.push(Message { leg: Leg::In, ..m });
    }

    /// A message comes to its receiver's port.
    pub(super) fn came(&mut self, number: u32, path: M::Path) {
        let message = self.handed[number as usize];
        self.ready_now(message, path);
    }

    /// A message has left its sender's port.
    pub(super) fn left(&mut self, number: u32, path: M::Path) {
        self.give_back(number, path);
        match self.messages[number as usize].load {
            Load::Eager { send, .. } => self.complete(send, path),
            Load::Put { put, .. } if !self.combines(put) => self.complete(put, path),
            _ => {}
        }
    }

    fn give_back(&mut self, number: u32, path: M::Path) {
        let m = self.messages[number as usize];
        for side in self.needs(&m) {
            let ports = &mut self.sides[side];
            ports.free += 1;
            ports.freed = path;
            ports.freed_moment = self.moment;
            self.mark(side as u32);
        }
    }

    pub(super) fn arrived(&mut self, number: u32, path: M::Path) {
        self.give_back(number, path);
        let m = self.messages[number as usize];
        match m.load {
            Load::TwoSided { send, receive } => {
                self.complete(send, path);
                self.take_in(receive, m.units, path);
            }
            Load::Eager { send, channel } | Load::Copied { send, channel } => {
                let end = End {
                    instance: send,
                    one_way: m.one_way,
                    units: m.units,
                    place: m.place,
                    port: m.port,
                };
                self.meet((m.from, m.to, channel), end, true, path);
            }
            Load::Put { put, number } if M::MEETS => {
                self.take_in(put, m.units, path);
                self.put_arrived((put.rank, put.strand, m.to), number, path);
            }
            Load::Put { put, .. } if self.combines(put) => {
                self.compute_on(m.to, put, &[Deed::Reduce], m.units, path);
            }
            Load::Put { .. } => {}
            Load::Request { get, units } => {
                let end = End {
                    instance: get,
                    one_way: m.one_way,
                    units,
                    place: m.place,
                    port: m.port,
                };
                self.offer((m.to, m.from), end, Load::Get { get }, path);
            }
            Load::Get { get } => self.take_in(get, m.units, path),
            Load::Notice { flag } => self.raise(m.to, flag, path),
            Load::Sight { flag } => self.see((m.from, flag), m.to, path),
        }
    }
}
