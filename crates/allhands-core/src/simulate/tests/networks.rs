//! Exact times on PLogP's machine, the fat tree and the dragonfly.

use super::super::*;
use super::named;
use crate::call::Collective;
use alloc::vec;

const NOTHING: Linear = Linear {
    fixed_ps: 0,
    per_byte_fs: 0,
};

fn hop(latency_ps: u64, byte_ps: u64) -> Hop {
    let occupies = Linear {
        fixed_ps: 0,
        per_byte_fs: 1000 * byte_ps,
    };
    Hop {
        occupies,
        latency_ps,
    }
}

fn plogp(ranks: u32) -> Flat<PLogP> {
    let curve = |points: &[(u64, u64)]| Curve::new(points.to_vec()).expect("it rises");
    let curves = [
        curve(&[(0, 100), (100, 200)]),
        curve(&[(0, 50), (100, 250)]),
        curve(&[(0, 300), (100, 1300)]),
    ];
    let times = PLogP::new(curves, NOTHING, NOTHING).expect("the gap covers the overheads");
    Flat::with_times(ranks, 7000, times)
}

/// C 3.1: a message takes L + g(m); the next one leaves g(m) later.
#[test]
fn plogps_messages_take_latency_and_gap_and_leave_a_gap_apart() {
    let gap = 300 + 800;
    let one = named(Collective::Broadcast, "binomial", 2, 10);
    let outcome = simulate(&one, &mut plogp(2)).expect("it ends");
    assert_eq!(outcome.ends_ps, [gap, 7000 + gap]);
    let three = named(Collective::Broadcast, "one-to-all", 4, 10);
    let outcome = simulate(&three, &mut plogp(4)).expect("it ends");
    let ends = [3 * gap, 7000 + gap, 7000 + 2 * gap, 7000 + 3 * gap];
    assert_eq!(outcome.ends_ps, ends);
    // Both directions at once, in each of three steps.
    let doubling = named(Collective::Allreduce, "recursive-doubling", 8, 10);
    let outcome = simulate(&doubling, &mut plogp(8)).expect("it ends");
    assert_eq!(outcome.completion_ps(), 3 * (7000 + gap));
}

fn fat_tree() -> FatTree {
    let level = |down, up| Level {
        down,
        up,
        hop: hop(10, 1),
    };
    let routes = FatTreeRoutes::new(vec![level(2, 1), level(2, 2)]).expect("it is right");
    FatTree::new(routes, Processor::default())
}

#[test]
fn on_a_fat_tree_a_message_takes_its_hops_and_shares_its_links() {
    // 80 bytes from host 0: the first link has one after another; 2 hops to rank 1, 4 to the others.
    let plans = named(Collective::Broadcast, "one-to-all", 4, 10);
    let outcome = simulate(&plans, &mut fat_tree()).expect("it ends");
    assert_eq!(outcome.ends_ps, [240, 100, 80 + 120, 160 + 120]);
    // All to host 0, over the same last link: the near one first, the others when it has passed.
    let plans = named(Collective::Gather, "direct", 4, 10);
    let mut network = fat_tree();
    network.watch(Watch::Uses);
    let outcome = simulate(&plans, &mut network).expect("it ends");
    assert_eq!(outcome.completion_ps(), 10 + 3 * 80 + 10);
    let links = network.links();
    let last = links
        .iter()
        .find(|l| l.name == "switch 1.0 to host 0")
        .expect("it is there");
    assert_eq!((last.load.busy_ps, last.load.bytes), (240, 240));
    // The two far ones share a link before, so they come one after another.
    assert_eq!((last.load.messages, last.load.longest_queue), (3, 1));
    let begins: vec::Vec<u64> = last.load.uses.iter().map(|used| used.from_ps).collect();
    assert_eq!(begins, [10, 90, 170]);
}

#[test]
fn on_a_dragonfly_the_slowest_link_says_how_long_a_message_takes() {
    let routes = DragonflyRoutes {
        hosts_per_router: 1,
        routers_per_group: 2,
        globals_per_router: 1,
        groups: 3,
        host: hop(10, 1),
        local: hop(20, 2),
        global: hop(300, 3),
    };
    let mut network = Dragonfly::new(routes, Processor::default());
    let plans = named(Collective::Scatter, "direct", 6, 10);
    let outcome = simulate(&plans, &mut network).expect("it ends");
    // Out of host 0 one after another, 80 each; host, local, global and local link, host, as there are.
    let alone = [
        // Its neighbour: the local link says.
        20 + 20 + 160,
        // Group 1, whose link to group 0 is at its first router, as ours to it.
        20 + 300 + 240,
        20 + 20 + 300 + 240,
        // Group 2: its link to us is at its first router, ours to it at our second.
        20 + 20 + 300 + 240,
        20 + 20 + 20 + 300 + 240,
    ];
    // The second message to a group waits until the global link has passed the first, and its own tail follows.
    let passed = 240 - 80;
    let ends: vec::Vec<u64> = (0..5)
        .map(|rank| {
            let waits = if rank == 2 || rank == 4 { passed } else { 0 };
            80 * rank as u64 + alone[rank] + waits
        })
        .collect();
    assert_eq!(outcome.ends_ps[1..], ends);
}
