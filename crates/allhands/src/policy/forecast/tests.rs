//! Tests of what the forecast chooses.

use super::*;
use allhands_core::call::Call;
use allhands_core::simulate::simulate;

/// About a cluster of 200 Mbit/s and 500 µs.
const SLOW: NetworkTimes = NetworkTimes {
    latency_ns: 500_000.0,
    overhead_ns: 5_000.0,
    long_overhead_ns: 5_000.0,
    burst_overhead_ns: 5_000.0,
    gap_ns: 1_000.0,
    byte_ns: 40.0,
    reduce_byte_ns: 0.1,
};

fn chosen(collective: Collective, bytes: u64, nodes: &str) -> (String, f64) {
    let nodes: Nodes = nodes.parse().unwrap();
    let ranks = nodes.sizes(0).iter().sum();
    let question = Question::new(Call::new(collective, ranks), bytes);
    let (forecast, places) = (Forecast::new(&SLOW), Places::of(&nodes, ranks));
    let (algorithm, shape) = forecast.choose(&question, (&nodes, &places)).unwrap();
    let times_ps = forecast.times_ps(algorithm, &shape.clone().on(nodes), bytes, (0, &places));
    let inter = algorithm.named(&shape, "inter").unwrap_or("");
    let name = format!("{} {inter}", algorithm.name);
    (name.trim().to_string(), times_ps.unwrap().0 as f64 / 1e6)
}

#[test]
fn long_vectors_come_near_the_bound() {
    const MB: u64 = 1 << 20;
    // L + 2 (p−1)/p mG, and L + (p−1)/p mG of all blocks together.
    for (nodes, ranks) in [("8x1", 8.0), ("13x1", 13.0)] {
        let (name, time_us) = chosen(Collective::Allreduce, 4 * MB, nodes);
        let bound_us = 500.0 + 2.0 * (ranks - 1.0) / ranks * 4.0 * MB as f64 * 0.04;
        assert!(time_us < 1.15 * bound_us, "{name}: {time_us} of {bound_us}");
        let (name, time_us) = chosen(Collective::Allgather, MB, nodes);
        let bound_us = 500.0 + (ranks - 1.0) * MB as f64 * 0.04;
        assert!(time_us < 1.1 * bound_us, "{name}: {time_us} of {bound_us}");
    }
}

#[test]
fn few_messages_are_the_best_where_all_of_a_burst_wait_for_one_another() {
    let nodes: Nodes = "13x1".parse().unwrap();
    let question = Question::new(Call::new(Collective::Allgather, 13), 8);
    let places = Places::of(&nodes, 13);
    let of = |burst_overhead_ns| {
        let times = NetworkTimes {
            burst_overhead_ns,
            ..SLOW
        };
        let chosen = Forecast::new(&times).choose(&question, (&nodes, &places));
        chosen.expect("something serves it").0.name
    };
    // 24 messages in all, though the nodes have a rank each.
    assert_eq!(of(100_000.0), "smp-gather-broadcast");
    assert_ne!(of(SLOW.burst_overhead_ns), "smp-gather-broadcast");
}

#[test]
fn a_pipeline_has_as_many_segments_as_are_best_for_it() {
    const MB: u64 = 1 << 20;
    // Two messages and one transfer of the vector; no registered number of segments comes as near.
    for bytes in [MB, 4 * MB, 16 * MB] {
        let (name, time_us) = chosen(Collective::Broadcast, bytes, "13x1");
        let bound_us = 1000.0 + bytes as f64 * 0.04 - 500.0 / 12.0;
        assert!(time_us < 1.1 * bound_us, "{name}: {time_us} of {bound_us}");
    }
}

#[test]
fn more_segments_are_tried_until_they_gain_nothing() {
    // By the costs with 1, 2, 4, … segments.
    let best = |costs: &[u64]| {
        let make = |segments: u32| {
            let cost = costs.get(segments.ilog2() as usize)?;
            Some((segments, *cost))
        };
        best_power(make, |made| made.1).map(|made| made.0)
    };
    assert_eq!(best(&[]), None);
    assert_eq!(best(&[1000, 700, 600, 650, 100]), Some(4));
    assert_eq!(best(&[1000, 1000, 700]), Some(4));
    assert_eq!(best(&[1000, 1000, 1000, 100]), Some(1));
    assert_eq!(best(&[1000, 500]), Some(2));
}

#[test]
fn no_pipeline_is_simulated_for_long() {
    let nodes: Nodes = "64x1".parse().unwrap();
    let places = Places::of(&nodes, 64);
    let question = Question::new(Call::new(Collective::Reduce, 64), 4 << 20);
    let all = Forecast::new(&SLOW).segmented(&question, (&nodes, &places), 4 << 20);
    assert!(all.iter().any(|timed| timed.named.0.name == "mutualcast"));
    for timed in all {
        let ports = u64::from((timed.named.0.claims)(&timed.shape).ports);
        let looks = ports.pow(2) * 64 * u64::from(timed.shape.get("segments"));
        assert!(looks <= MOST_LOOKS, "{}: {looks}", timed.named.1);
    }
}

/// The window of what is chosen for 13 hosts, 0 for all messages at once.
fn window_of(times: &NetworkTimes, collective: Collective, bytes: u64) -> u32 {
    let question = Question::new(Call::new(collective, 13), bytes);
    let (nodes, places) = (Nodes::even(13, 1), Places::of(&Nodes::even(13, 1), 13));
    let forecast = Forecast::new(times);
    let (algorithm, shape) = forecast.choose(&question, (&nodes, &places)).unwrap();
    window(algorithm, &shape).map_or(0, |window| window.messages)
}

#[test]
fn long_exchanges_keep_a_window_and_short_ones_go_at_once() {
    const LONG: u64 = 320 << 10;
    for (collective, bytes, window) in [
        (Collective::Alltoall, LONG, 4),
        (Collective::Allgather, LONG, 4),
        (Collective::ReduceScatter, 13 * LONG, 4),
        // A ring in two segments.
        (Collective::Allreduce, 13 * LONG, 2),
    ] {
        assert_eq!(
            window_of(&SLOW, collective, bytes),
            window,
            "{collective:?}"
        );
        assert_eq!(window_of(&SLOW, collective, 8), 0, "{collective:?}");
    }
}

#[test]
fn a_window_is_wide_enough_for_late_peers() {
    let busy = NetworkTimes {
        burst_overhead_ns: 57_000.0,
        ..SLOW
    };
    // Each message has the way for so many microseconds, and a peer is late by 12 messages of 57 us.
    for (way_us, expected) in [(100, 0), (200, 8), (400, 8), (800, 4), (3200, 4)] {
        let bytes = way_us * 25;
        for collective in [Collective::Alltoall, Collective::Allgather] {
            let window = window_of(&busy, collective, bytes);
            assert_eq!(window, expected, "{collective:?} of {bytes} bytes");
        }
    }
}

#[test]
fn where_messages_cost_processors_much_there_are_few() {
    let busy = NetworkTimes {
        burst_overhead_ns: 70_000.0,
        ..SLOW
    };
    let count = |times: &NetworkTimes| {
        let question = Question::new(Call::new(Collective::Broadcast, 13), 64 << 10);
        let nodes = Nodes::even(13, 1);
        let places = Places::of(&nodes, 13);
        let forecast = Forecast::new(times);
        let (algorithm, shape) = forecast.choose(&question, (&nodes, &places)).unwrap();
        let layout = Layout::regular(Collective::Broadcast, 16 << 10);
        let plan =
            |rank| Plan::lower(&algorithm.schedule(&shape, rank), &shape.call, &layout, 4).unwrap();
        let plans: Vec<Plan> = (0..13).map(plan).collect();
        let node_of: Vec<u32> = (0..13).collect();
        let outcome = simulate(&plans, &mut Cluster::new(&node_of, of_cluster(times)));
        outcome.unwrap().messages
    };
    assert!(count(&busy) < count(&SLOW));
}

#[test]
fn what_is_chosen_follows_the_times() {
    /// About processors that share a fast switch.
    const FAST: NetworkTimes = NetworkTimes {
        latency_ns: 1_000.0,
        overhead_ns: 300.0,
        long_overhead_ns: 900.0,
        burst_overhead_ns: 300.0,
        gap_ns: 100.0,
        byte_ns: 1.0,
        reduce_byte_ns: 0.1,
    };
    let named = |times: &NetworkTimes, collective, bytes| {
        let question = Question::new(Call::new(collective, 8), bytes);
        let nodes = Nodes::even(8, 1);
        let places = Places::of(&nodes, 8);
        let forecast = Forecast::new(times);
        let (algorithm, shape) = forecast.choose(&question, (&nodes, &places)).unwrap();
        let layout = Layout::regular(collective, bytes as usize / 4);
        let schedule = algorithm.schedule(&shape, 1);
        let plan = Plan::lower(&schedule, &shape.call, &layout, 4).unwrap();
        (algorithm.name, plan.kinds().count())
    };
    // A message costs as much as 12 KB there, and as 1 KB here.
    for collective in [
        Collective::Allreduce,
        Collective::Broadcast,
        Collective::ReduceScatter,
    ] {
        let mut sizes = (10..=20).map(|power| 1 << power);
        let differs = |bytes| named(&SLOW, collective, bytes) != named(&FAST, collective, bytes);
        assert!(sizes.any(differs), "{collective}");
    }
}

#[test]
fn a_short_reduce_is_a_tree_of_one_level() {
    // One message's latency, and the overheads of all that the root receives.
    for (nodes, ranks) in [("8x1", 8.0), ("13x1", 13.0)] {
        let (name, time_us) = chosen(Collective::Reduce, 8, nodes);
        assert!(time_us < 500.0 + 5.0 * (ranks + 1.0), "{name}: {time_us}");
    }
}

#[test]
fn nodes_of_several_ranks_send_through_few() {
    let (name, _) = chosen(Collective::Allreduce, 8, "4x4");
    assert!(name.starts_with("hierarchical"), "{name}");
    let (name, _) = chosen(Collective::Barrier, 0, "4x4");
    assert!(name.starts_with("hierarchical"), "{name}");
}

#[test]
fn a_size_class_is_a_quarter_wide_at_most() {
    assert_eq!(
        [0, 1, 7, 8, 9, 10, 1000].map(size_class),
        [0, 1, 7, 8, 8, 10, 896]
    );
    for bytes in 1..5000u64 {
        let class = size_class(bytes);
        assert!(class <= bytes && bytes - class <= class / 4);
    }
}

#[test]
fn what_cannot_be_told_is_left_to_rules() {
    let forecast = Forecast::new(&SLOW);
    let is_left = |question, ranks| {
        let nodes = Nodes::even(ranks, 1);
        let places = Places::of(&nodes, ranks);
        forecast.choose(question, (&nodes, &places)).is_none()
    };
    let call = Call::new(Collective::Gather, 4);
    let hidden = Question {
        irregular: true,
        ..Question::new(call, 0)
    };
    assert!(is_left(&hidden, 4));
    // So many are not simulated; what algorithms claim decides.
    let many = Question::new(Call::new(Collective::Gather, 1000), 8);
    assert!(!is_left(&many, 1000));
    let hidden = Question {
        irregular: true,
        ..many
    };
    assert!(is_left(&hidden, 1000));
}

#[test]
fn of_equals_the_one_that_sends_the_least_is_chosen() {
    const MB: u64 = 1 << 20;
    // By a tree whose root sends to several at once it is forecast to take as long.
    assert_eq!(chosen(Collective::Scatter, 4 * MB / 13, "13x1").0, "direct");
}
