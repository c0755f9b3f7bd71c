//! Tests of clusters, beside flat networks and what their times add up to.

use super::*;
use crate::algorithm;
use crate::call::{Call, Collective};
use crate::schedule::{Layout, Plan};
use crate::simulate::plogp::Curve;
use crate::simulate::{Curves, Flat, Processor, simulate};

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
fn nodes_that_share_processors_wait_for_one_another() {
    let shared_ps = 6_000_000;
    let between = Reach {
        latency_ps: 500_000_000,
        gap: Linear::default(),
        ..BETWEEN
    };
    let times = ClusterTimes {
        between,
        shared_ps,
        ..ClusterTimes::default()
    };
    let time = |collective, name, ranks| {
        let plans = plans(collective, name, ranks, 8);
        let node_of: Vec<u32> = (0..ranks).collect();
        let outcome = simulate(&plans, &mut Cluster::new(&node_of, times));
        outcome.unwrap().completion_ps()
    };
    // All messages leave one after another, and the last one is taken in.
    let ends_ps = between.latency_ps + 2 * between.overhead_ps;
    let everybody_ps = time(Collective::Alltoall, "scattered", 4);
    assert_eq!(everybody_ps, ends_ps + 13 * shared_ps);
    // A message alone waits for nobody.
    let alone_ps = time(Collective::Broadcast, "binomial", 2);
    assert_eq!(alone_ps, ends_ps + 2 * shared_ps);
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

#[test]
fn an_interleaved_message_does_not_overtake_one_of_the_same_ranks() {
    let curve = |points: &[(u64, u64)]| Curve::new(points.to_vec()).unwrap();
    // The longer one is on its way for less than half as long: its protocol is another.
    let level = Curves {
        send: curve(&[(0, 0)]),
        receive: curve(&[(0, 0)]),
        latency: curve(&[(2000, 9000), (3000, 4000)]),
        gap: curve(&[(0, 1000)]),
        gap_again: None,
        shared: curve(&[(0, 0)]),
        wake_ps: 0,
        interleaves: true,
        exchange: None,
        combine: None,
        window: None,
        alone: None,
    };
    let times = ClusterTimes {
        between: level.clone(),
        inside: level,
        copy: Linear::default(),
        reduce: Linear::default(),
        shared_ps: 0,
    };
    let mut cluster = Cluster::new(&[0, 1], times);
    let mut queue = Queue::default();
    for (number, bytes) in [(0, 2000), (1, 3000)] {
        let message = Envelope {
            number,
            from: 0,
            to: 1,
            bytes,
            kind: Kind::Message,
            carrier: None,
            port: 0,
            agreement: false,
            exchanged: false,
        };
        cluster.send(0, message, &mut queue);
    }
    let mut arrived = Vec::new();
    while let Some(event) = queue.pop() {
        match event {
            Event::Inside(stage) => cluster.happen(stage, &mut queue),
            Event::Arrived(number) => arrived.push((number, queue.now_ps())),
            _ => {}
        }
    }
    assert_eq!(arrived, [(0, 9000), (1, 10_000)]);
}
