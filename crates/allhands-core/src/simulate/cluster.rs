//! A cluster of nodes: LogGP between nodes, whose ranks share an interface, and LogGP of other times inside.
//!
//! ```text
//! rank ─ o ─▶ interface of the node ─ L ─▶ interface of the node ─ o ─▶ rank      between nodes: g + nG of both interfaces
//! rank ─ o ─▶ port of the rank ─── L ───▶ port of the rank ─── o ─▶ rank          inside one: its own g + nG
//! ```
//!
//! An interface sends one message at a time and receives one at a time, or, where that is said, all that come to it, interleaved. Nodes may share processors, as virtual machines of one host do:
//! then each message between nodes has these for a while at each end, one after another, whose ever it is; one that comes while another of
//! the same two ranks still waits goes along with it, as a kernel sends and delivers all that is there at once. And a rank that waits may have
//! to be woken, one after another: those of further messages that come until it is awake wake nobody. What ranks of a node do to each
//! other's windows counts as messages inside it. With a rank a node that shares nothing it is the flat network with LogGP's
//! times (C 3.1).

use super::inflow::Inflow;
use super::level::ClusterLevel;
use super::network::{Envelope, Event, Kind, Network, Task, Work};
use super::queue::{Moment, Queue};
use super::time::Linear;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// LogGP's times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// L: from one port to the other, in picoseconds.
    pub latency_ps: u64,
    /// o: for a processor to send a message, or to receive one, in picoseconds.
    pub overhead_ps: u64,
    /// The same of one that is longer than so many bytes, which may have to be announced and acknowledged.
    pub long_overhead_ps: u64,
    /// The longest message of the others, in bytes.
    pub short_bytes: u64,
    /// g and G: how long a message has a port, at each end.
    pub gap: Linear,
}

impl Reach {
    /// How long a processor is busy to send or to receive a message of `bytes` bytes, in picoseconds.
    #[must_use]
    pub fn overhead_of(&self, bytes: u64) -> u64 {
        match bytes > self.short_bytes {
            true => self.long_overhead_ps,
            false => self.overhead_ps,
        }
    }
}

impl ClusterLevel for Reach {
    fn takes_ps(&self, work: Work) -> u64 {
        self.overhead_of(work.bytes())
    }

    fn latency_ps(&self, _: Kind, _: u64) -> u64 {
        self.latency_ps
    }

    fn gap_ps(&self, _: Kind, bytes: u64) -> u64 {
        self.gap.of(bytes)
    }
}

/// What everything takes on a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterTimes<L = Reach> {
    /// Between ranks of different nodes.
    pub between: L,
    /// Between ranks of a node.
    pub inside: L,
    /// For a processor to copy.
    pub copy: Linear,
    /// For a processor to combine, by the length of one operand.
    pub reduce: Linear,
    /// How long a message between nodes has the processors that all nodes share, at each of its ends, in picoseconds, besides what
    /// its level says; 0 where they share none.
    pub shared_ps: u64,
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct Cluster<L = Reach> {
    times: ClusterTimes<L>,
    /// The node of each rank.
    node_of: Vec<u32>,
    /// When they are free again, out and in: the ports of the ranks, then the interfaces of the nodes.
    ports: Vec<[Moment; 2]>,
    /// What comes to the same ports, where it is interleaved.
    inflows: Vec<Inflow>,
    /// At the same ports, the other end's port of the last message.
    last: Vec<[u32; 2]>,
    /// When what is shared has done all that it has been given: what messages inside each node share, then what those between nodes do.
    shared: Vec<Moment>,
    /// When that has done the last message of two ranks, at each end, where further ones are done along with one that waits.
    shared_last: BTreeMap<[u32; 3], Moment>,
    /// When another rank can be woken, by what messages share.
    wakes: Vec<Moment>,
    /// Until when each rank is awake for certain.
    awake: Vec<Moment>,
    /// The messages that are under way, by their numbers.
    under_way: Vec<Passage>,
    /// When the first byte of the last message between two ports comes, where a shorter one could pass it.
    heads: BTreeMap<[u32; 2], Moment>,
}

/// What a message that is under way takes.
#[derive(Clone, Copy, Debug, Default)]
struct Passage {
    /// The ports of its sender and of its receiver.
    ports: [u32; 2],
    latency_ps: u64,
    /// How long it has each port, and how long if it follows one of the same two ranks there.
    gap_ps: u64,
    gap_again_ps: u64,
    /// How long it has what messages share, at each end, and which of these that is.
    shared_ps: u64,
    shared: u32,
    /// The same if it comes while the last one of the same two ranks still waits for it, or has it.
    shared_again_ps: u64,
    /// Whether it is interleaved with what comes to its receiver's port at the same time.
    is_interleaved: bool,
    /// Its sender.
    from: u32,
    /// Its receiver, and how long it takes to wake that one.
    to: u32,
    wake_ps: u64,
}

impl Passage {
    /// Whether it has to do with what messages share.
    fn shares(&self) -> bool {
        self.shared_ps > 0 || self.wake_ps > 0
    }
}

impl<L: ClusterLevel> Cluster<L> {
    /// A cluster in which nothing is under way, with the node of each rank.
    #[must_use]
    pub fn new(node_of: &[u32], times: ClusterTimes<L>) -> Cluster<L> {
        let nodes = node_of.iter().max().map_or(0, |last| *last as usize + 1);
        Cluster {
            times,
            node_of: node_of.to_vec(),
            ports: vec![[0; 2]; node_of.len() + nodes],
            inflows: vec![Inflow::default(); node_of.len() + nodes],
            last: vec![[u32::MAX; 2]; node_of.len() + nodes],
            shared: vec![0; nodes + 1],
            shared_last: BTreeMap::new(),
            wakes: vec![0; nodes + 1],
            awake: vec![0; node_of.len()],
            under_way: Vec::new(),
            heads: BTreeMap::new(),
        }
    }

    /// The level of two ranks, and what its messages share.
    fn level(&self, one: u32, other: u32) -> (&L, u32) {
        let node = self.node_of[one as usize];
        match node == self.node_of[other as usize] {
            true => (&self.times.inside, node),
            false => (&self.times.between, self.shared.len() as u32 - 1),
        }
    }

    /// What a message takes.
    fn passage(&self, message: &Envelope) -> Passage {
        let Envelope {
            from,
            to,
            bytes,
            kind,
            exchanged,
            ..
        } = *message;
        let (level, shared) = self.level(from, to);
        let is_between = shared as usize + 1 == self.shared.len();
        let more_ps = u64::from(is_between) * self.times.shared_ps;
        let latency_ps = match exchanged {
            true => level.exchanged_latency_ps(bytes),
            false => level.latency_ps(kind, bytes),
        };
        Passage {
            ports: [self.port(from, to), self.port(to, from)],
            latency_ps,
            gap_ps: level.gap_ps(kind, bytes),
            gap_again_ps: level.gap_again_ps(kind, bytes),
            shared_ps: level.shared_ps(kind, bytes) + more_ps,
            shared,
            shared_again_ps: level.shared_again_ps(kind, bytes) + more_ps,
            is_interleaved: level.interleaves(bytes),
            from,
            to,
            wake_ps: level.wake_ps(kind),
        }
    }

    /// A message is there for a rank, which is woken unless it is awake; when it is.
    fn wake(&mut self, number: u32, now_ps: Moment) -> Moment {
        let passage = self.under_way[number as usize];
        let awake_ps = &mut self.awake[passage.to as usize];
        if passage.wake_ps > 0 && now_ps > *awake_ps {
            let free_ps = &mut self.wakes[passage.shared as usize];
            *free_ps = now_ps.max(*free_ps) + passage.wake_ps;
            *awake_ps = *free_ps;
        }
        now_ps.max(*awake_ps)
    }

    /// The port of `rank` for what goes to or comes from `peer`.
    fn port(&self, rank: u32, peer: u32) -> u32 {
        let node = self.node_of[rank as usize];
        match node == self.node_of[peer as usize] {
            true => rank,
            false => self.node_of.len() as u32 + node,
        }
    }

    /// A message that is ready has its port on this side as soon as that is free; when that begins and ends.
    fn occupy(&mut self, number: u32, side: usize, ready_ps: Moment) -> (Moment, Moment) {
        let gap_ps = self.gap_at(number, side);
        let port = self.under_way[number as usize].ports[side];
        let free_ps = &mut self.ports[port as usize][side];
        let from_ps = ready_ps.max(*free_ps);
        *free_ps = from_ps + gap_ps;
        (from_ps, *free_ps)
    }

    /// A message has what is shared as soon as that is free, at one of its ends; when that ends.
    fn share(&mut self, number: u32, end: u32, now_ps: Moment) -> Moment {
        let passage = self.under_way[number as usize];
        let free_ps = &mut self.shared[passage.shared as usize];
        let mut takes_ps = passage.shared_ps;
        if passage.shared_again_ps < passage.shared_ps {
            let ranks = [passage.from, passage.to, end];
            let last_ps = self.shared_last.entry(ranks).or_default();
            if now_ps < *last_ps {
                takes_ps = passage.shared_again_ps;
            }
            *last_ps = now_ps.max(*free_ps) + takes_ps;
        }
        *free_ps = now_ps.max(*free_ps) + takes_ps;
        *free_ps
    }

    /// How long a message would have a port that nobody else has, on this side of it.
    fn gap_at(&mut self, number: u32, side: usize) -> u64 {
        let passage = self.under_way[number as usize];
        let [port, other] = [passage.ports[side], passage.ports[1 - side]];
        match core::mem::replace(&mut self.last[port as usize][side], other) == other {
            true => passage.gap_again_ps,
            false => passage.gap_ps,
        }
    }

    /// A message has come through its receiver's port.
    fn pass(&self, number: u32, here_ps: Moment, queue: &mut Queue<Event<Moving>>) {
        queue.push(
            here_ps,
            match self.under_way[number as usize].shares() {
                false => Event::Arrived(number),
                true => Event::Inside(Moving::Lands(number)),
            },
        );
    }

    /// A message that is ready goes out by its sender's port; when the last byte has.
    fn leave(&mut self, number: u32, ready_ps: Moment, queue: &mut Queue<Event<Moving>>) -> Moment {
        let passage = self.under_way[number as usize];
        let (from_ps, sent_ps) = self.occupy(number, 0, ready_ps);
        // All together it takes as long as any of its length.
        let mut head_ps = from_ps + passage.latency_ps + passage.gap_ps - (sent_ps - from_ps);
        if L::LENGTH_DELAYS {
            // Messages between the same ranks arrive in their order.
            let last_ps = self.heads.entry(passage.ports).or_default();
            head_ps = head_ps.max(*last_ps);
            // Ports that take turns keep it; of those that interleave one message's first byte comes after the last one's last.
            *last_ps = head_ps + u64::from(passage.is_interleaved) * (sent_ps - from_ps);
        }
        queue.push(head_ps, Event::Inside(Moving::Comes(number)));
        sent_ps
    }
}

/// Where the message with this number comes to.
#[derive(Clone, Copy, Debug)]
pub enum Moving {
    /// What messages share, on its way out.
    Leaves(u32),
    /// Its receiver's port, with its first byte.
    Comes(u32),
    /// The same with its last byte, where bytes of others come between.
    Ends(u32),
    /// What messages share, on its way in.
    Lands(u32),
    /// Its receiver, which may sleep.
    Wakes(u32),
}

impl<L: ClusterLevel> Network for Cluster<L> {
    type Event = Moving;

    const GOES_BY_TASKS: bool = L::TELLS_EXCHANGES;
    const TELLS_EXCHANGES: bool = L::TELLS_EXCHANGES;

    fn busy_ps(&mut self, rank: u32, task: Task) -> u64 {
        match (task.exchanged, task.work.peer()) {
            (true, Some(peer)) => self.level(rank, peer).0.exchanged_takes_ps(task.work),
            _ => self.takes_ps(rank, task.work),
        }
    }

    fn takes_ps(&self, rank: u32, work: Work) -> u64 {
        if let Work::Combine { from, bytes } = work
            && let Some(known_ps) = self.level(rank, from).0.combine_ps(bytes)
        {
            return known_ps;
        }
        match (work, work.peer()) {
            (_, Some(peer)) => self.level(rank, peer).0.takes_ps(work),
            (_, None) => {
                let line = match work {
                    Work::Reduce { .. } | Work::Combine { .. } => self.times.reduce,
                    _ => self.times.copy,
                };
                let known_ps = self.times.inside.alone_ps(work);
                known_ps.unwrap_or_else(|| line.of(work.bytes()))
            }
        }
    }

    fn send(
        &mut self,
        at_ps: Moment,
        message: Envelope,
        queue: &mut Queue<Event<Moving>>,
    ) -> Option<Moment> {
        let number = message.number;
        let least = number as usize + 1;
        if self.under_way.len() < least {
            self.under_way.resize(least, Passage::default());
        }
        let passage = self.passage(&message);
        self.under_way[number as usize] = passage;
        let ready_ps = at_ps.max(queue.now_ps());
        if passage.wake_ps > 0 {
            let awake_ps = &mut self.awake[message.from as usize];
            *awake_ps = ready_ps.max(*awake_ps);
        }
        if passage.shared_ps == 0 {
            return Some(self.leave(number, ready_ps, queue));
        }
        queue.push(ready_ps, Event::Inside(Moving::Leaves(number)));
        None
    }

    fn happen(&mut self, stage: Moving, queue: &mut Queue<Event<Moving>>) {
        match stage {
            Moving::Leaves(number) => {
                let ready_ps = self.share(number, 0, queue.now_ps());
                let sent_ps = self.leave(number, ready_ps, queue);
                queue.push(sent_ps, Event::Sent(number));
            }
            Moving::Comes(number) if self.under_way[number as usize].is_interleaved => {
                let port = self.under_way[number as usize].ports[1];
                self.inflows[port as usize].begin(queue.now_ps());
                let end_ps = queue.now_ps() + self.gap_at(number, 1);
                queue.push(end_ps, Event::Inside(Moving::Ends(number)));
            }
            Moving::Ends(number) => {
                let port = self.under_way[number as usize].ports[1];
                let here_ps = self.inflows[port as usize].end(queue.now_ps());
                self.pass(number, here_ps, queue);
            }
            Moving::Comes(number) => {
                let (_, here_ps) = self.occupy(number, 1, queue.now_ps());
                self.pass(number, here_ps, queue);
            }
            Moving::Lands(number) => {
                let here_ps = self.share(number, 1, queue.now_ps());
                let passage = self.under_way[number as usize];
                queue.push(
                    here_ps,
                    match passage.wake_ps {
                        0 => Event::Arrived(number),
                        _ => Event::Inside(Moving::Wakes(number)),
                    },
                );
            }
            Moving::Wakes(number) => {
                let here_ps = self.wake(number, queue.now_ps());
                queue.push(here_ps, Event::Arrived(number));
            }
        }
    }
}

#[cfg(test)]
mod tests;
