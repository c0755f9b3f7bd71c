//! A cluster of nodes: LogGP between nodes, whose ranks share an interface, and LogGP of other times inside.
//!
//! ```text
//! rank ─ o ─▶ interface of the node ─ L ─▶ interface of the node ─ o ─▶ rank      between nodes: g + nG of both interfaces
//! rank ─ o ─▶ port of the rank ─── L ───▶ port of the rank ─── o ─▶ rank          inside one: its own g + nG
//! ```
//!
//! An interface sends one message at a time and receives one at a time. What ranks of a node do to each other's windows
//! counts as messages inside it. With a rank a node it is the flat network with LogGP's times (C 3.1).

use super::network::{Envelope, Event, Network, Work};
use super::queue::{Moment, Queue};
use super::time::Linear;
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

/// What everything takes on a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterTimes {
    /// Between ranks of different nodes.
    pub between: Reach,
    /// Between ranks of a node.
    pub inside: Reach,
    /// For a processor to copy.
    pub copy: Linear,
    /// For a processor to combine, by the length of one operand.
    pub reduce: Linear,
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    times: ClusterTimes,
    /// The node of each rank.
    node_of: Vec<u32>,
    /// When they are free again, out and in: the ports of the ranks, then the interfaces of the nodes.
    ports: Vec<[Moment; 2]>,
    /// The receiving port of each message that is under way, by its number.
    under_way: Vec<u32>,
}

impl Cluster {
    /// A cluster in which nothing is under way, with the node of each rank.
    #[must_use]
    pub fn new(node_of: &[u32], times: ClusterTimes) -> Cluster {
        let nodes = node_of.iter().max().map_or(0, |last| *last as usize + 1);
        Cluster {
            times,
            node_of: node_of.to_vec(),
            ports: vec![[0; 2]; node_of.len() + nodes],
            under_way: Vec::new(),
        }
    }

    fn reach(&self, one: u32, other: u32) -> &Reach {
        match self.node_of[one as usize] == self.node_of[other as usize] {
            true => &self.times.inside,
            false => &self.times.between,
        }
    }

    /// The port of `rank` for what goes to or comes from `peer`.
    fn port(&self, rank: u32, peer: u32) -> u32 {
        let node = self.node_of[rank as usize];
        match node == self.node_of[peer as usize] {
            true => rank,
            false => self.node_of.len() as u32 + node,
        }
    }

    /// A message that is ready has a port for `gap_ps` as soon as that is free; when that begins and ends.
    fn occupy(
        &mut self,
        port: u32,
        side: usize,
        ready_ps: Moment,
        gap_ps: u64,
    ) -> (Moment, Moment) {
        let free_ps = &mut self.ports[port as usize][side];
        let from_ps = ready_ps.max(*free_ps);
        *free_ps = from_ps + gap_ps;
        (from_ps, *free_ps)
    }
}

/// The first byte of the message with this number comes to its receiver's port.
#[derive(Clone, Copy, Debug)]
pub struct Coming {
    number: u32,
    gap_ps: u64,
}

impl Network for Cluster {
    type Event = Coming;

    fn takes_ps(&self, rank: u32, work: Work) -> u64 {
        let (peer, bytes) = match work {
            Work::Copy { bytes } => return self.times.copy.of(bytes),
            Work::Reduce { bytes } => return self.times.reduce.of(bytes),
            Work::Notify { to } => (to, 0),
            Work::Send { to, bytes } | Work::Put { to, bytes } => (to, bytes),
            Work::Get { from, bytes } | Work::Receive { from, bytes } => (from, bytes),
        };
        let reach = self.reach(rank, peer);
        match bytes > reach.short_bytes {
            true => reach.long_overhead_ps,
            false => reach.overhead_ps,
        }
    }

    fn send(
        &mut self,
        at_ps: Moment,
        message: Envelope,
        queue: &mut Queue<Event<Coming>>,
    ) -> Option<Moment> {
        let Envelope {
            number,
            from,
            to,
            bytes,
            ..
        } = message;
        let reach = *self.reach(from, to);
        let gap_ps = reach.gap.of(bytes);
        let least = number as usize + 1;
        if self.under_way.len() < least {
            self.under_way.resize(least, 0);
        }
        self.under_way[number as usize] = self.port(to, from);
        let ready_ps = at_ps.max(queue.now_ps());
        let (from_ps, to_ps) = self.occupy(self.port(from, to), 0, ready_ps, gap_ps);
        let head = Coming { number, gap_ps };
        queue.push(from_ps + reach.latency_ps, Event::Inside(head));
        Some(to_ps)
    }

    fn happen(&mut self, head: Coming, queue: &mut Queue<Event<Coming>>) {
        let port = self.under_way[head.number as usize];
        let (_, to_ps) = self.occupy(port, 1, queue.now_ps(), head.gap_ps);
        queue.push(to_ps, Event::Arrived(head.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm;
    use crate::call::{Call, Collective};
    use crate::schedule::{Layout, Plan};
    use crate::simulate::{Flat, Processor, simulate};

    const BETWEEN: Reach = Reach {
        latency_ps: 5_000_000,
        overhead_ps: 700_000,
        long_overhead_ps: 700_000,
        short_bytes: 100,
        gap: Linear {
            fixed_ps: 900_000,
            per_byte_fs: 40_000,
        },
    };

    fn plans(collective: Collective, name: &str, ranks: u32, bytes: usize) -> Vec<Plan> {
        let call = Call::new(collective, ranks);
        let algorithm = algorithm::find(collective, name).unwrap();
        let shape = algorithm.shape(call, "").unwrap();
        let layout = Layout::regular(collective, bytes);
        let plan = |rank| Plan::lower(&algorithm.schedule(&shape, rank), &call, &layout, 1);
        (0..ranks).map(plan).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn with_a_rank_a_node_it_is_the_flat_network() {
        let reduce = Linear {
            fixed_ps: 0,
            per_byte_fs: 1000,
        };
        let times = ClusterTimes {
            between: BETWEEN,
            reduce,
            ..ClusterTimes::default()
        };
        let overhead = Linear {
            fixed_ps: BETWEEN.overhead_ps,
            per_byte_fs: 0,
        };
        let processor = Processor {
            send: overhead,
            receive: overhead,
            reduce,
            ..Processor::default()
        };
        for (collective, name) in [
            (Collective::Allreduce, "rabenseifner"),
            (Collective::Alltoall, "scattered"),
            (Collective::Broadcast, "binomial"),
        ] {
            let plans = plans(collective, name, 7, 1000);
            let nodes: Vec<u32> = (0..7).collect();
            let flat = &mut Flat::new(7, BETWEEN.latency_ps, BETWEEN.gap, processor);
            let here = simulate(&plans, &mut Cluster::new(&nodes, times));
            assert_eq!(here, simulate(&plans, flat), "{name}");
        }
    }

    #[test]
    fn long_messages_keep_processors_busy_for_longer() {
        let between = Reach {
            long_overhead_ps: 5_000_000,
            ..BETWEEN
        };
        let times = ClusterTimes {
            between,
            ..ClusterTimes::default()
        };
        let time = |bytes| {
            let plans = plans(Collective::Broadcast, "binomial", 2, bytes);
            let outcome = simulate(&plans, &mut Cluster::new(&[0, 1], times));
            outcome.unwrap().completion_ps()
        };
        let on_its_way_ps = |bytes| between.latency_ps + between.gap.of(bytes);
        assert_eq!(time(100), 2 * 700_000 + on_its_way_ps(100));
        assert_eq!(time(101), 2 * 5_000_000 + on_its_way_ps(101));
    }

    #[test]
    fn ranks_of_a_node_share_its_interface() {
        let times = ClusterTimes {
            between: BETWEEN,
            ..ClusterTimes::default()
        };
        let pairs = plans(Collective::Alltoall, "scattered", 4, 100_000);
        let time = |node_of: &[u32]| {
            let outcome = simulate(&pairs, &mut Cluster::new(node_of, times));
            outcome.unwrap().completion_ps()
        };
        // Each rank alone sends three blocks; a node of two ranks sends four, and what stays inside is free.
        let gap_ps = BETWEEN.gap.of(100_000);
        let alone_ps = time(&[0, 1, 2, 3]);
        assert!((3 * gap_ps..4 * gap_ps).contains(&(alone_ps - BETWEEN.latency_ps)));
        let together_ps = time(&[0, 0, 1, 1]);
        assert!((4 * gap_ps..5 * gap_ps).contains(&(together_ps - BETWEEN.latency_ps)));
        assert_eq!(time(&[0, 0, 0, 0]), 0);
    }
}
