//! Simulation: the machine in virtual time, with thousands of seeds of delays, cuts, deaths, slow readers and strangers.
//!
//! Each message must arrive right, once, and in the order of its source and tag, or fail with the name of a rank that is dead (or,
//! where nothing is sent again, whose connection was cut); a flag is heard when all is there that was put before; and no world may last for a minute of its time.

mod arena;
mod chance;
mod counts;
mod rails;
mod sockets;
mod traffic;
mod windows;
mod wire;
mod world;

use counts::{Counts, Event};
use world::World;

/// How many worlds are tried.
const SEEDS: u64 = 10_000;

fn try_seed(seed: u64) -> Counts {
    let mut world = World::new(seed);
    world.run();
    let is_whole = !world.had_cuts || world.settings.resends;
    let mut counts = world.counts.clone();
    for node in world.nodes.iter_mut().filter(|node| !node.is_dead) {
        node.check_windows(seed);
    }
    for (at, node) in world.nodes.iter().enumerate() {
        let report = node.rank.report();
        counts.add(Event::Lost, report.lost);
        counts.add(Event::Resent, report.resent);
        counts.add(Event::Unexpected, report.unexpected);
        counts.add(Event::Moved, report.moved);
        if report.lost > 0 {
            counts.add(Event::MovedAmidCuts, report.moved);
        }
        counts.add(Event::Waited, report.waited);
        counts.add(Event::Refused, report.refused);
        counts.add(Event::Death, node.is_dead.into());
        counts.add(Event::Heard, node.heard.len() as u64);
        if node.is_dead {
            continue;
        }
        check_order(&node.heard, seed);
        let mut heard = node.heard.clone();
        heard.sort_unstable();
        heard.dedup();
        assert_eq!(
            heard.len(),
            node.heard.len(),
            "seed {seed}: a notice came twice"
        );
        for (other, from) in (0..).zip(&world.nodes) {
            if !from.is_dead && is_whole {
                for number in from.told_to(at as u32) {
                    assert!(
                        heard.contains(&(other, number)),
                        "seed {seed}: rank {at} has not heard notice {number} of rank {other}"
                    );
                }
            }
        }
        if world.nodes.iter().all(|node| !node.is_dead) && is_whole {
            check_credit(&world, at as u32);
        }
        let is_fickle = node.operations.iter().any(|it| it.gives_up.is_some());
        if world.nodes.iter().all(|node| !node.is_dead) && is_whole && !is_fickle {
            assert_eq!(
                node.rank.messages_under_way(),
                0,
                "seed {seed}: something is left"
            );
        }
    }
    counts
}

/// Notices of a rank are heard in the order in which they were given.
fn check_order(heard: &[(u32, u8)], seed: u64) {
    for (at, (from, number)) in heard.iter().enumerate() {
        let is_earlier = |later: &(u32, u8)| later.0 == *from && later.1 < *number;
        assert!(
            !heard[at..].iter().any(is_earlier),
            "seed {seed}: notice {number} of rank {from} has overtaken another"
        );
    }
}

/// Credit that a rank has spent is known to whom it was spent on, whether or not messages were taken back.
fn check_credit(world: &World, at: u32) {
    for (other, to) in (0..).zip(&world.nodes) {
        if other != at {
            let spent = world.nodes[at as usize].rank.credit(other).spent;
            let taken = to.rank.credit(at).taken;
            let seed = world.seed;
            assert_eq!(
                spent, taken,
                "seed {seed}: the credit of rank {at} with rank {other}"
            );
        }
    }
}

#[test]
fn every_message_arrives_or_its_lost_rank_is_named() {
    let mut counts = Counts::default();
    for seed in 0..SEEDS {
        counts.add_world(&try_seed(seed));
    }
    // All that can go wrong has, and most messages have arrived all the same.
    assert!(counts.has_all(SEEDS / 50), "{counts:?}");
    let [received, failed] = [Event::Received, Event::Failed].map(|event| counts.events(event));
    assert!(received > 20 * SEEDS && received > 5 * failed, "{counts:?}");
}
