//! A multi-rail cluster of SMP nodes: ranks of a node share its memory and its network interfaces, one for each rail.
//!
//! ```text
//! rank ─ post ─▶ bus of (node, rail) ─ latency ─▶ bus of (node, rail) ─ take ─▶ rank      a message, a put to another node
//! rank ─ copy ─▶ memory of the node                                                     a put, a get on the own node
//! ```
//!
//! A message between ranks is an RDMA write, also on a node, where it goes out and in again by the same interface (Q 4.2: copying
//! through the NIC). It goes by one rail,
//! which its sender and its port say; from a length on, in equal parts by all. A bus has one transfer at a
//! time, out or in. What ranks of a node do to each other's windows their processors do, and share the memory's bandwidth in it. Flags on a node are seen a little later.
//!
//! Hardware broadcast: of all messages of a step with [`BROADCAST_PORT`] one is made, which leaves its sender's bus once and
//! comes to every node once; there each receiver copies it while it comes in.
//!
//! Hardware barrier: when the last rank has raised its node's flag, one node asks all others by a broadcast, which the network
//! answers as one, and tells all by another.
//!
//! What only Quadrics' own library does with this hardware: interfaces hand on by themselves what comes to be sent further
//! ([`RailTimes::chained`]), and a Tports message is announced before its receiver's interface fetches it
//! ([`RailTimes::fetched_from_bytes`]).
//!
//! Source: Q 3.1, 4, 6, 7.1.

mod broadcast;
mod chain;
mod links;
mod memory;
#[cfg(test)]
mod tests;
mod tports;

use super::links::{Gauges, Link, Use, Watch};
use super::network::{Envelope, Event, Kind, Network, Task, Work};
use super::queue::{Moment, Queue};
use super::time::Linear;
use crate::machine::{Fabric, Nodes};
use crate::schedule::{BROADCAST_PORT, Plan, Space};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use broadcast::Cast;
use chain::Chain;
use memory::Memory;

/// What everything takes on a multi-rail cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RailTimes {
    /// Rails: interfaces of each node, one or more.
    pub rails: u32,
    /// From this length on, in bytes, a message goes in equal parts by all rails.
    pub stripe_from_bytes: u64,
    /// For a processor to hand a message to an interface.
    pub post_ps: u64,
    /// From the sender's bus to the receiver's.
    pub latency_ps: u64,
    /// How long a message, or its part, has a bus, at each end.
    pub bus: Linear,
    /// For a processor to see that a message is there.
    pub take_ps: u64,
    /// For other ranks of the node to see a flag.
    pub flag_ps: u64,
    /// For a processor to copy, alone.
    pub copy: Linear,
    /// For how long a copied byte has the node's memory, in femtoseconds, if the rank's window and result fit the cache …
    pub cached_byte_fs: u64,
    /// … and if it does not.
    pub uncached_byte_fs: u64,
    /// What the cache of a processor holds, in bytes.
    pub cache_bytes: u64,
    /// For a processor to combine.
    pub reduce: Linear,
    /// Whether interfaces hand messages on by themselves: then it costs processors nothing (Q 3.1).
    pub chained: bool,
    /// From this length on, in bytes, a message is announced, and fetched by its receiver's interface; others come at once.
    pub fetched_from_bytes: u64,
    /// Whether all ranks can meet in the network (Q 3.1).
    pub hardware_barrier: bool,
}

/// What the network knows of a message under way.
#[derive(Clone, Debug, Default)]
struct Passage {
    ranks: (u32, u32),
    port: u8,
    /// Parts that have not come yet.
    parts: u32,
    /// When the last of those that have come will be there.
    there_ps: Moment,
    /// The length of the part of each rail, if there is one.
    parts_bytes: Vec<Option<u64>>,
    /// Messages of the same broadcast to other ranks of the receiver's node: they are there with it.
    with: Vec<u32>,
}

/// Messages between two ranks, in order.
#[derive(Clone, Debug, Default)]
struct Line {
    /// When the last one is there of which that is known, and of all before it.
    last_ps: Moment,
    /// Those behind it, with the moment at which one is there, if that is known.
    waiting: VecDeque<(u32, Option<Moment>)>,
}

/// What happens to the message with a number.
#[derive(Clone, Copy, Debug)]
pub enum Passing {
    /// That it is there to be fetched comes to its receiver's bus.
    Announced(u32),
    /// That it is fetched comes to its sender's bus.
    Fetched(u32),
    /// The first byte of its part on a rail comes to its receiver's bus.
    Part {
        /// The message.
        number: u32,
        /// The rail.
        rail: u32,
    },
}

/// A multi-rail cluster of SMP nodes.
#[derive(Clone, Debug)]
pub struct Rails {
    times: RailTimes,
    /// The node of each rank.
    node_of: Vec<u32>,
    /// Whether the window and the result of each rank fit its cache.
    cached: Vec<bool>,
    /// When the bus of each (node, rail) is free again.
    buses: Vec<Moment>,
    /// What the buses do, if somebody watches.
    gauges: Option<Gauges>,
    /// The memory of each node.
    memory: Vec<Memory>,
    /// The last broadcast of each rank.
    casts: Vec<Option<Cast>>,
    /// What each rank hands on, if interfaces do that by themselves.
    chains: Vec<Chain>,
    /// The last put of each rank to another node: the receiver, and when it was handed over.
    puts: Vec<Option<(u32, Moment)>>,
    under_way: Vec<Passage>,
    lines: BTreeMap<(u32, u32), Line>,
}

impl Rails {
    /// A cluster in which nothing is under way; how large windows and results are, the plans say.
    ///
    /// # Panics
    /// If there is no rail, or, later, if the nodes are not those of as many ranks ([`Nodes::check`] says so before).
    #[must_use]
    pub fn new(plans: &[Plan], nodes: &Nodes, times: RailTimes) -> Rails {
        let ranks = plans.len() as u32;
        let sizes = nodes.innermost(ranks);
        assert!(times.rails > 0, "a node without rails");
        let node = |(node, size): (usize, &u32)| vec![node as u32; *size as usize];
        let fits = |plan: &Plan| {
            let bytes = |space: Space| plan.space_bytes[space.index()] as u64;
            bytes(Space::Window) + bytes(Space::Output) < times.cache_bytes
        };
        Rails {
            node_of: sizes.iter().enumerate().flat_map(node).collect(),
            cached: plans.iter().map(fits).collect(),
            buses: vec![0; sizes.len() * times.rails as usize],
            gauges: None,
            memory: sizes.iter().map(|size| Memory::new(*size)).collect(),
            casts: vec![None; plans.len()],
            chains: match times.chained {
                true => plans.iter().map(Chain::of).collect(),
                false => vec![Chain::default(); plans.len()],
            },
            puts: vec![None; plans.len()],
            under_way: Vec::new(),
            lines: BTreeMap::new(),
            times,
        }
    }

    fn node(&self, rank: u32) -> u32 {
        self.node_of[rank as usize]
    }

    fn on_one_node(&self, a: u32, b: u32) -> bool {
        self.node(a) == self.node(b)
    }

    /// Takes the bus of (node, rail) for so many bytes as soon as it is free, not before `at_ps`; gives from when to when.
    fn take_bus(&mut self, (node, rail): (u32, u32), at_ps: Moment, bytes: u64) -> [Moment; 2] {
        let number = (node * self.times.rails + rail) as usize;
        let from_ps = at_ps.max(self.buses[number]);
        let to_ps = from_ps + self.times.bus.of(bytes);
        self.buses[number] = to_ps;
        if let Some(gauges) = &mut self.gauges {
            let used = Use {
                from_ps,
                to_ps,
                bytes,
            };
            gauges.note(number, at_ps, used);
        }
        [from_ps, to_ps]
    }

    /// How long a copy takes that starts at `start_ps`: what the processor needs for it, or until the node's memory has served
    /// it.
    fn copies_ps(&mut self, rank: u32, start_ps: Moment, bytes: u64) -> u64 {
        let byte_fs = match self.cached[rank as usize] {
            true => self.times.cached_byte_fs,
            false => self.times.uncached_byte_fs,
        };
        let served_ps = (bytes * byte_fs).div_ceil(1000);
        let memory = &mut self.memory[self.node_of[rank as usize] as usize];
        memory.copy(start_ps, self.times.copy.of(bytes), served_ps) - start_ps
    }

    /// What a message costs its sender's processor: to hand it over, and where it lies in several runs, to do so for each, or to
    /// copy them together first, whichever takes less.
    fn posts_ps(&mut self, rank: u32, task: &Task, bytes: u64) -> u64 {
        let (post_ps, more) = (self.times.post_ps, u64::from(task.runs.saturating_sub(1)));
        if more * post_ps > self.times.copy.of(bytes) {
            return post_ps + self.copies_ps(rank, task.start_ps, bytes);
        }
        (more + 1) * post_ps
    }

    /// The rails by which a message goes, and the length of each part. Short ones are multiplexed, by rank and port.
    fn parts(&self, from: u32, port: u8, bytes: u64) -> Vec<(u32, u64)> {
        let rails = u64::from(self.times.rails);
        if port == BROADCAST_PORT || bytes < self.times.stripe_from_bytes || rails == 1 {
            let rail = match port {
                BROADCAST_PORT => 0,
                _ => (from + u32::from(port)) % self.times.rails,
            };
            return vec![(rail, bytes)];
        }
        let part = |rail| (bytes * (rail + 1) / rails) - (bytes * rail / rails);
        let parts = (0..rails).map(|rail| (rail as u32, part(rail)));
        parts.collect()
    }

    /// Keeps a message as the newest between its ranks.
    fn keep(&mut self, message: Envelope, parts: &[(u32, u64)]) {
        let ranks = (message.from, message.to);
        let least = message.number as usize + 1;
        if self.under_way.len() < least {
            self.under_way.resize(least, Passage::default());
        }
        let passage = &mut self.under_way[message.number as usize];
        passage.parts_bytes.clear();
        passage.parts_bytes.resize(self.times.rails as usize, None);
        for (rail, bytes) in parts {
            passage.parts_bytes[*rail as usize] = Some(*bytes);
        }
        passage.with.clear();
        passage.parts = parts.len() as u32;
        (passage.ranks, passage.port, passage.there_ps) = (ranks, message.port, 0);
        let line = self.lines.entry(ranks).or_default();
        line.waiting.push_back((message.number, None));
    }

    /// Says that a message will be there at `at_ps`; so then are those behind it that were only waiting for it.
    fn there(&mut self, number: u32, at_ps: Moment, queue: &mut Queue<Event<Passing>>) {
        let ranks = self.under_way[number as usize].ranks;
        let line = self.lines.entry(ranks).or_default();
        if let Some(own) = line.waiting.iter_mut().find(|(other, _)| *other == number) {
            own.1 = Some(at_ps);
        }
        while let Some(&(first, Some(there_ps))) = line.waiting.front() {
            line.last_ps = there_ps.max(line.last_ps);
            queue.push(line.last_ps, Event::Arrived(first));
            line.waiting.pop_front();
        }
    }

    /// Sends the parts of a message out; gives when the first byte leaves, and when the last has left.
    fn leave(
        &mut self,
        at_ps: Moment,
        number: u32,
        parts: &[(u32, u64)],
        queue: &mut Queue<Event<Passing>>,
    ) -> [Moment; 2] {
        let passage = &self.under_way[number as usize];
        let ((from, to), port) = (passage.ranks, passage.port);
        let node = self.node(from);
        let by_loop_back = port != BROADCAST_PORT && self.node(to) == node;
        let mut leaves_ps = [Moment::MAX, at_ps];
        for &(rail, bytes) in parts {
            let [start_ps, end_ps] = self.take_bus((node, rail), at_ps, bytes);
            let [first_ps, last_ps] = leaves_ps;
            leaves_ps = [first_ps.min(start_ps), last_ps.max(end_ps)];
            // An interface does not take in what it still sends.
            let from_ps = if by_loop_back { end_ps } else { start_ps };
            let come_ps = from_ps + self.times.latency_ps;
            queue.push(come_ps, Event::Inside(Passing::Part { number, rail }));
        }
        leaves_ps
    }
}

impl Network for Rails {
    type Event = Passing;

    const GOES_BY_TASKS: bool = true;

    /// As if nobody else used the node's memory; see [`Rails::busy_ps`](Network::busy_ps).
    fn takes_ps(&self, rank: u32, work: Work) -> u64 {
        let times = &self.times;
        match work {
            Work::Put { to: peer, bytes } | Work::Get { from: peer, bytes }
                if self.on_one_node(rank, peer) =>
            {
                times.copy.of(bytes)
            }
            Work::Notify { to } if self.on_one_node(rank, to) => 0,
            Work::Send { .. } | Work::Put { .. } | Work::Get { .. } | Work::Notify { .. } => {
                times.post_ps
            }
            Work::Receive { .. } => times.take_ps,
            Work::Copy { bytes } => times.copy.of(bytes),
            Work::Reduce { bytes } | Work::Combine { bytes, .. } => times.reduce.of(bytes),
        }
    }

    fn busy_ps(&mut self, rank: u32, task: Task) -> u64 {
        let (start_ps, cast) = (task.start_ps, task.port == BROADCAST_PORT);
        let alone_ps = self.takes_ps(rank, task.work);
        match task.work {
            Work::Put { to: peer, bytes } | Work::Get { from: peer, bytes }
                if self.on_one_node(rank, peer) =>
            {
                self.copies_ps(rank, start_ps, bytes)
            }
            Work::Copy { bytes } => self.copies_ps(rank, start_ps, bytes),
            // Of a broadcast the first message alone is handed over.
            Work::Send { to, bytes } if cast && self.goes_with((rank, to), bytes, start_ps) => 0,
            Work::Put { to, bytes } => {
                let busy_ps = self.posts_ps(rank, &task, bytes);
                self.puts[rank as usize] = Some((to, start_ps + busy_ps));
                busy_ps
            }
            Work::Send { .. } if self.chains[rank as usize].sends() => 0,
            Work::Send { bytes, .. } => self.posts_ps(rank, &task, bytes),
            // A put says with itself that it is there (Q 7.1).
            Work::Notify { to } if self.puts[rank as usize] == Some((to, start_ps)) => 0,
            // A broadcast is copied while it comes in.
            Work::Receive { bytes, .. } if cast => {
                let copies_ps = self.copies_ps(rank, start_ps, bytes);
                alone_ps + copies_ps.saturating_sub(self.times.bus.of(bytes))
            }
            Work::Receive { .. } if self.chains[rank as usize].takes() => 0,
            Work::Receive { bytes, .. } if task.runs > 1 => {
                alone_ps + self.copies_ps(rank, start_ps + alone_ps, bytes)
            }
            Work::Receive { .. }
            | Work::Get { .. }
            | Work::Notify { .. }
            | Work::Reduce { .. }
            | Work::Combine { .. } => alone_ps,
        }
    }

    /// Interrupt wires are what the hardware barrier is to algorithms.
    fn meeting_ps(&self, fabric: Fabric, _bytes: u64, _converted: bool) -> Option<u64> {
        if fabric != Fabric::Interrupt || !self.times.hardware_barrier {
            return None;
        }
        let times = &self.times;
        let (into_ps, out_ps) = (times.flag_ps, times.flag_ps);
        if self.memory.len() == 1 {
            return Some(into_ps + out_ps);
        }
        let asked_ps = times.post_ps + times.bus.of(0) + 2 * times.latency_ps;
        let told_ps = 2 * times.bus.of(0) + times.latency_ps + times.take_ps;
        Some(into_ps + asked_ps + told_ps + out_ps)
    }

    fn send(
        &mut self,
        at_ps: Moment,
        message: Envelope,
        queue: &mut Queue<Event<Passing>>,
    ) -> Option<Moment> {
        let Envelope {
            number,
            from,
            to,
            bytes,
            port,
            kind,
            ..
        } = message;
        let parts = match kind {
            Kind::Message => self.parts(from, port, bytes),
            Kind::Put | Kind::Request | Kind::Answer
                if bytes > 0 && !self.on_one_node(from, to) =>
            {
                self.parts(from, port, bytes)
            }
            Kind::Put | Kind::Request | Kind::Answer | Kind::Notice => Vec::new(),
        };
        self.keep(message, &parts);
        if parts.is_empty() {
            let there_ps = match (self.on_one_node(from, to), kind) {
                (true, Kind::Notice) => at_ps + self.times.flag_ps,
                (true, Kind::Message | Kind::Put | Kind::Request | Kind::Answer) => at_ps,
                (false, Kind::Notice) => at_ps + self.times.latency_ps + self.times.take_ps,
                (false, Kind::Message | Kind::Put | Kind::Request | Kind::Answer) => {
                    at_ps + self.times.latency_ps
                }
            };
            self.there(number, there_ps, queue);
            return Some(at_ps);
        }
        if port == BROADCAST_PORT {
            return Some(self.broadcast(at_ps, message, &parts, queue));
        }
        if kind == Kind::Message && bytes >= self.times.fetched_from_bytes {
            let come_ps = self.crosses_ps(from, at_ps);
            queue.push(come_ps, Event::Inside(Passing::Announced(number)));
            return None;
        }
        Some(self.leave(at_ps, number, &parts, queue)[1])
    }

    fn happen(&mut self, passing: Passing, queue: &mut Queue<Event<Passing>>) {
        match passing {
            Passing::Announced(number) => self.announced(number, queue),
            Passing::Fetched(number) => self.fetched(number, queue),
            Passing::Part { number, rail } => self.comes(number, rail, queue),
        }
    }

    fn watch(&mut self, watch: Watch) {
        self.gauges = Some(Gauges::new(self.buses.len(), watch));
    }

    fn links(&self) -> Vec<Link> {
        let gauges = self.gauges.as_ref();
        gauges.map_or_else(Vec::new, |gauges| links::all(self.times.rails, gauges))
    }
}

impl Rails {
    /// A part of a message comes to its receiver's bus.
    fn comes(&mut self, number: u32, rail: u32, queue: &mut Queue<Event<Passing>>) {
        let passage = &self.under_way[number as usize];
        let bytes = passage.parts_bytes[rail as usize].unwrap_or(0);
        let node = self.node(passage.ranks.1);
        let [_, there_ps] = self.take_bus((node, rail), queue.now_ps(), bytes);
        let passage = &mut self.under_way[number as usize];
        passage.parts -= 1;
        passage.there_ps = passage.there_ps.max(there_ps);
        if passage.parts > 0 {
            return;
        }
        let (there_ps, with) = (passage.there_ps, core::mem::take(&mut passage.with));
        for number in core::iter::once(number).chain(with) {
            self.there(number, there_ps, queue);
        }
    }
}
