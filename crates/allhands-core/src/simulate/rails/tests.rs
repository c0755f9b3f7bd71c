//! Exact times: one message, striped, multiplexed, by loop-back; copies, alone and at the same time; a hardware broadcast.

use super::super::{Outcome, simulate};
use super::*;
use crate::algorithm;
use crate::call::{Call, Collective};
use crate::schedule::{Builder, Layout};

const TIMES: RailTimes = RailTimes {
    rails: 2,
    stripe_from_bytes: 1024,
    post_ps: 100,
    latency_ps: 1000,
    bus: linear(50, 1000),
    take_ps: 30,
    flag_ps: 20,
    copy: linear(10, 500),
    cached_byte_fs: 200,
    uncached_byte_fs: 2000,
    cache_bytes: 1 << 20,
    reduce: linear(0, 0),
    chained: false,
    fetched_from_bytes: u64::MAX,
    hardware_barrier: true,
};

const fn linear(fixed_ps: u64, per_byte_fs: u64) -> Linear {
    Linear {
        fixed_ps,
        per_byte_fs,
    }
}

/// A gather to rank 0 with blocks of `bytes` bytes.
fn gather(name: &str, nodes: &str, ranks: u32, bytes: usize, times: RailTimes) -> Outcome {
    let found = algorithm::find(Collective::Gather, name).expect("it is there");
    let call = Call::new(Collective::Gather, ranks);
    let shape = found.shape(call, "").expect("the default is right");
    let build = |b: &mut Builder| (found.build)(b);
    run(
        &shape.on(nodes.parse().expect("nodes")),
        bytes,
        times,
        build,
    )
}

/// What every rank builds, with blocks of `bytes` bytes.
fn run(
    shape: &crate::schedule::Shape,
    bytes: usize,
    times: RailTimes,
    build: impl Fn(&mut Builder),
) -> Outcome {
    let (call, parts) = (shape.call, shape.call.ranks);
    let layout = Layout::regular(call.collective, bytes);
    let plan = |rank| {
        let mut b = Builder::new(shape.clone(), rank, parts, false);
        build(&mut b);
        Plan::lower(&b.finish(), &call, &layout, 1).expect("it can be lowered")
    };
    let plans: Vec<Plan> = (0..call.ranks).map(plan).collect();
    let mut rails = Rails::new(&plans, &shape.nodes, times);
    simulate(&plans, &mut rails).expect("it ends")
}

const ONE_RAIL: RailTimes = RailTimes { rails: 1, ..TIMES };

#[test]
fn a_message_is_handed_over_has_two_buses_and_is_taken() {
    let outcome = gather("direct", "2x1", 2, 100, TIMES);
    assert_eq!(outcome.ends_ps, [100 + 1000 + 150 + 30, 100 + 150]);
}

#[test]
fn a_long_message_goes_in_equal_parts_by_all_rails() {
    let end_ps = |bytes, times| gather("direct", "2x1", 2, bytes, times).completion_ps();
    assert_eq!(end_ps(1023, TIMES), 100 + 1000 + 1073 + 30);
    assert_eq!(end_ps(1024, TIMES), 100 + 1000 + 562 + 30);
    // Of an odd length one part is longer.
    assert_eq!(end_ps(2001, TIMES), 100 + 1000 + 1051 + 30);
    assert_eq!(end_ps(2000, ONE_RAIL), 100 + 1000 + 2050 + 30);
}

#[test]
fn short_messages_are_multiplexed_and_share_what_there_is() {
    // Ranks 1 and 2 are on one node and send to the only rank of another.
    let outcome = gather("direct", "1,2", 3, 100, TIMES);
    assert_eq!(outcome.ends_ps, [1100 + 150 + 30 + 30, 250, 250]);
    let outcome = gather("direct", "1,2", 3, 100, ONE_RAIL);
    assert_eq!(outcome.ends_ps, [1250 + 150 + 30, 250, 400]);
}

#[test]
fn by_loop_back_a_message_has_the_same_bus_twice() {
    let end_ps = |bytes| gather("direct", "one", 2, bytes, TIMES).completion_ps();
    assert_eq!(end_ps(100), 100 + 150 + 1000 + 150 + 30);
    assert_eq!(end_ps(4000), 100 + 2050 + 1000 + 2050 + 30);
}

#[test]
fn a_put_on_a_node_is_a_copy_and_a_flag() {
    let outcome = gather("shared-memory", "one", 2, 100, TIMES);
    // In, seen, and out again.
    assert_eq!(outcome.ends_ps, [60 + 20 + 60, 60]);
    let elsewhere = gather("shared-memory", "2x1", 2, 100, TIMES);
    // The flag comes with the put.
    assert_eq!(elsewhere.ends_ps[0], 100 + 1000 + 150 + 60);
}

#[test]
fn copies_on_a_node_share_its_memory() {
    let slow = RailTimes {
        cached_byte_fs: 1000,
        ..TIMES
    };
    let outcome = gather("shared-memory", "one", 4, 100, slow);
    // Four copies of 100 bytes one after another, then one of 300.
    assert_eq!(outcome.ends_ps, [400 + 20 + 300, 200, 300, 400]);
    let uncached = RailTimes {
        cache_bytes: 0,
        ..TIMES
    };
    let outcome = gather("shared-memory", "one", 2, 100, uncached);
    assert_eq!(outcome.ends_ps, [400 + 20 + 200, 400]);
}

/// Rank 0 sends to all others what `send` says, and they receive it.
fn to_all(ranks: u32, nodes: &str, bytes: usize, times: RailTimes, ports: &[u32]) -> Outcome {
    let found = algorithm::find(Collective::Broadcast, "one-to-all").expect("it is there");
    let call = Call::new(Collective::Broadcast, ranks);
    let shape = found.shape(call, "").expect("the default is right");
    run(
        &shape.on(nodes.parse().expect("nodes")),
        bytes,
        times,
        |b| {
            let data = if b.rank() == 0 { b.input() } else { b.output() };
            for &port in ports {
                b.port(port);
                match b.rank() {
                    0 => (1..ranks).for_each(|to| b.send(to, data)),
                    _ => b.recv(0, data),
                }
            }
        },
    )
}

#[test]
fn of_a_hardware_broadcast_one_message_leaves() {
    let port = u32::from(BROADCAST_PORT);
    let outcome = to_all(5, "2,3", 100, TIMES, &[port]);
    let there_ps = 100 + 1000 + 150 + 30;
    assert_eq!(
        outcome.ends_ps,
        [250, there_ps, there_ps, there_ps, there_ps]
    );
    assert_eq!(outcome.messages, 4);
    // Two one after another.
    let outcome = to_all(3, "1,2", 100, TIMES, &[port, port]);
    assert_eq!(outcome.ends_ps, [400, 1400 + 30, 1400 + 30]);
}

#[test]
fn messages_between_two_ranks_come_in_order() {
    let unstriped = RailTimes {
        stripe_from_bytes: u64::MAX,
        ..TIMES
    };
    // The second has a rail of its own, and is there first, but for its place in the line.
    let outcome = to_all(2, "2x1", 5000, unstriped, &[0, 1]);
    assert_eq!(outcome.ends_ps[1], 100 + 1000 + 5050 + 100 + 30);
}

#[test]
fn interfaces_hand_on_by_themselves() {
    let hands_on = |chained, nodes| {
        let times = RailTimes { chained, ..TIMES };
        gather("binomial", nodes, 4, 100, times).completion_ps()
    };
    // 3 to 2, which takes it, hands over two runs, and sends them to 0.
    let first_ps = 100 + 1000 + 150;
    assert_eq!(
        hands_on(false, "4x1"),
        first_ps + 30 + 2 * 100 + 1000 + 250 + 30
    );
    assert_eq!(hands_on(true, "4x1"), first_ps + 1000 + 250 + 30);
    // Who only sends or only receives is not spared.
    let direct = |chained| {
        let times = RailTimes { chained, ..TIMES };
        gather("direct", "2x1", 2, 100, times).completion_ps()
    };
    assert_eq!(direct(true), direct(false));
}

#[test]
fn a_message_that_is_fetched_crosses_three_times() {
    let fetched = RailTimes {
        fetched_from_bytes: 100,
        ..TIMES
    };
    // The announcement, and that it is fetched.
    let leaves_ps = 100 + 2 * (1000 + 50);
    let outcome = gather("direct", "2x1", 2, 100, fetched);
    assert_eq!(
        outcome.ends_ps,
        [leaves_ps + 1000 + 150 + 30, leaves_ps + 150]
    );
    let short = gather("direct", "2x1", 2, 99, fetched);
    assert_eq!(short, gather("direct", "2x1", 2, 99, TIMES));
    // In parts, by both rails.
    let outcome = gather("direct", "2x1", 2, 2000, fetched);
    assert_eq!(outcome.ends_ps[0], leaves_ps + 1000 + 1050 + 30);
}

#[test]
fn all_meet_in_the_network() {
    let meeting_ps = |nodes: &str, times| {
        let found = algorithm::find(Collective::Barrier, "global-interrupt").expect("it is there");
        let call = Call::new(Collective::Barrier, 4);
        let shape = found.shape(call, "").expect("it has no parameters");
        let shape = shape
            .on(nodes.parse().expect("nodes"))
            .with(found.fabrics());
        run(&shape, 0, times, found.build).ends_ps
    };
    let asked_and_told_ps = 100 + 50 + 2 * 1000 + 2 * 50 + 1000 + 30;
    assert_eq!(meeting_ps("2x2", TIMES), [20 + asked_and_told_ps + 20; 4]);
    assert_eq!(meeting_ps("one", TIMES), [40; 4]);
}

#[test]
fn buses_say_what_they_carried() {
    let call = Call::new(Collective::Gather, 2);
    let found = algorithm::find(Collective::Gather, "direct").expect("it is there");
    let shape = found.shape(call, "").expect("the default is right");
    let shape = shape.on("2x1".parse().expect("nodes"));
    let layout = Layout::regular(Collective::Gather, 2001);
    let plan = |rank| Plan::lower(&found.schedule(&shape, rank), &call, &layout, 1);
    let plans: Vec<Plan> = (0..2).map(|rank| plan(rank).expect("it fits")).collect();
    let mut rails = Rails::new(&plans, &shape.nodes, TIMES);
    rails.watch(Watch::Sums);
    simulate(&plans, &mut rails).expect("it ends");
    let links = rails.links();
    let said = |link: &Link| (link.name.clone(), link.load.bytes, link.load.busy_ps);
    assert_eq!(said(&links[0]), ("rail 0 of node 0".into(), 1000, 1050));
    assert_eq!(said(&links[3]), ("rail 1 of node 1".into(), 1001, 1051));
}
