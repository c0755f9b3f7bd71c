//! Simulation: the machine in virtual time, with thousands of seeds of delays, cuts, deaths, slow readers and strangers.
//!
//! Each message must arrive right, once, and in the order of its source and tag, or fail with the name of a rank that is dead (or,
//! where nothing is sent again, whose connection was cut); and no world may last for a minute of its time.

mod arena;
mod chance;
mod sockets;
mod traffic;
mod wire;
mod world;

use world::World;

/// How many worlds are tried.
const SEEDS: u64 = 10_000;

fn try_seed(seed: u64) -> [u64; 6] {
    let mut world = World::new(seed);
    world.run();
    let is_whole = !world.had_cuts || world.settings.resends;
    let mut counts = [0; 6];
    for (at, node) in world.nodes.iter().enumerate() {
        let report = node.rank.report();
        counts[0] += report.lost;
        counts[1] += report.resent;
        counts[2] += report.unexpected;
        counts[3] += report.waited;
        counts[4] += report.refused;
        counts[5] += u64::from(node.is_dead);
        if node.is_dead {
            continue;
        }
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
            assert_eq!(
                node.rank.messages_under_way(),
                0,
                "seed {seed}: something is left"
            );
        }
    }
    counts
}

#[test]
fn every_message_arrives_or_its_lost_rank_is_named() {
    let mut counts = [0; 6];
    for seed in 0..SEEDS {
        let more = try_seed(seed);
        counts
            .iter_mut()
            .zip(more)
            .for_each(|(count, more)| *count += more);
    }
    // All that can go wrong has.
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}
