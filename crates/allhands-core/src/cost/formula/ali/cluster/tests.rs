//! C's models of clusters: term by term, and against simulated clusters.

use super::*;
use crate::algorithm;
use crate::call::Call;
use crate::cost::plogp::Way;
use crate::machine::Nodes;
use crate::schedule::{Layout, Plan};
use crate::simulate::cell::{Cell, Hardware, Level};
use crate::simulate::{Linear, Processor, simulate};
use alloc::vec;
use alloc::vec::Vec;

fn hop(latency_us: f64, gap_us: f64) -> Hop {
    let gap = Measured::new(vec![(1, gap_us)]);
    Hop { latency_us, gap }
}

/// A blade whose notifications take these times.
fn blade(inside_us: f64, between_us: f64) -> ExtendedPlogp {
    let way = |notice_us| Way {
        notice_us,
        ..Way::default()
    };
    ExtendedPlogp {
        inside: way(inside_us),
        between: way(between_us),
        ..ExtendedPlogp::default()
    }
}

/// A model's time, where L1(1) is 1, L2(1) 10, the PPE's link 100 and 0.125, the Opteron's 1000 and 0.25, the network's 10000 and 0.5.
fn time_us(model: usize, nodes: u32, levels: usize) -> f64 {
    let (blade, network) = (blade(1.0, 10.0), hop(10_000.0, 0.5));
    let up = [hop(100.0, 0.125), hop(1000.0, 0.25)];
    let cluster = Cluster {
        nodes,
        blade: &blade,
        up: &up[..levels],
        network: &network,
    };
    (CLUSTER_MODELS[model].time_us)(&cluster, 64.0)
}

#[test]
fn the_terms_are_those_that_are_printed() {
    // C 6.1: two rounds among four blades; among none, the PPE's link is longer than the blade's barrier.
    assert_eq!(time_us(0, 4, 1), 20_001.0 + 100.0 + 13.0);
    assert_eq!(time_us(0, 1, 1), 100.125 + 100.0 + 13.0);
    assert_eq!(time_us(1, 4, 1), 2.0 * (13.0 + 100.125) + 20_001.0);
    // C 6.2: L and 15 g, L3, 2 L4, L3 + g3, and L to the blade.
    let printed = 101.875 + 1000.0 + 20_000.0 + 1000.25 + 113.0;
    assert_eq!(time_us(3, 4, 2), printed);
    let corrected = 2.0 * (13.0 + 100.125 + 1000.25) + 20_001.0;
    assert_eq!(time_us(4, 4, 2), corrected);
}

fn linear(fixed_ps: u64, per_byte_fs: u64) -> Linear {
    Linear {
        fixed_ps,
        per_byte_fs,
    }
}

/// Blades alike, under these levels.
fn hardware(levels: Vec<Level>) -> Hardware {
    Hardware {
        chips: 2,
        cycle_ps: 625,
        mfc_ps: 10_000,
        command_ps: 30_000,
        deliver_ps: 40_000,
        outstanding: 16,
        bif_command_ps: 150_000,
        bif_latency_ps: 20_000,
        bif: linear(0, 50_000),
        processor: Processor {
            send: linear(12_500, 0),
            ..Processor::default()
        },
        levels,
    }
}

fn level(to_helper: bool, latency_ps: u64, fixed_ps: u64, per_byte_fs: u64) -> Level {
    Level {
        ranks: 16,
        latency_ps,
        gap: linear(fixed_ps, per_byte_fs),
        to_helper,
    }
}

/// The helpers' levels of C 6.1, or of C 6.2 with a blade for each Opteron, and the network's.
fn levels(helpers: usize, network: Level) -> Vec<Level> {
    let up = [
        level(true, 500_000, 200_000, 40),
        level(true, 3_000_000, 1_000_000, 1000),
    ];
    let mut levels = up[..helpers].to_vec();
    levels.push(network);
    levels
}

fn hop_of(level: &Level) -> Hop {
    let us = |ps: u64| ps as f64 / 1e6;
    let point = |bytes: u64| (bytes, us(level.gap.of(bytes)));
    Hop {
        latency_us: us(level.latency_ps),
        gap: Measured::new(vec![point(0), point(1 << 20)]),
    }
}

fn simulated_us(collective: Collective, parameters: &str, nodes: u32, levels: &[Level]) -> f64 {
    let ranks = nodes * 16;
    let name = if nodes > 1 {
        "hierarchical"
    } else {
        "binomial"
    };
    let name = match (nodes, collective) {
        (1, Collective::Barrier) => "gather-broadcast",
        _ => name,
    };
    let algorithm = algorithm::find(collective, name).expect("it is there");
    let shape = algorithm.shape(Call::new(collective, ranks), parameters);
    let shape = shape.expect("keys of it").on(Nodes::even(nodes, 16));
    let layout = Layout::regular(collective, 512);
    let lower = |s| Plan::lower(s, &shape.call, &layout, 8).expect("it can be lowered");
    let plans: Vec<Plan> = algorithm.world(&shape).iter().map(lower).collect();
    let mut cell = Cell::new(ranks, hardware(levels.to_vec())).with_helpers(&plans);
    simulate(&plans, &mut cell)
        .expect("it ends")
        .completion_ps() as f64
        / 1e6
}

/// Of a model, predicted by simulated, where a blade's share is half of the same barrier on one blade.
fn ratio(model: &ClusterModel, nodes: u32, levels: &[Level]) -> f64 {
    let half_us = simulated_us(Collective::Barrier, "", 1, levels) / 2.0;
    let (blade, hops) = (blade(0.0, half_us), levels.iter().map(hop_of));
    let hops: Vec<Hop> = hops.collect();
    let (network, up) = hops.split_last().expect("there is a network");
    let cluster = Cluster {
        nodes,
        blade: &blade,
        up,
        network,
    };
    let simulated = simulated_us(model.collective, model.parameters, nodes, levels);
    (model.time_us)(&cluster, 4096.0) / simulated
}

/// The corrected models are what is simulated; those that are printed are within C 7.2's 13 % on Ethernet.
#[test]
fn barriers_of_simulated_clusters_take_what_the_models_say() {
    let ethernet = level(false, 30_000_000, 5_000_000, 8000);
    let infiniband = level(false, 2_200_000, 500_000, 700);
    let [
        blades,
        blades_corrected,
        _,
        roadrunner,
        roadrunner_corrected,
    ] = &CLUSTER_MODELS;
    for nodes in [2, 3, 4, 8] {
        let near = |model, levels: &[Level], error: f64| {
            let ratio = ratio(model, nodes, levels);
            assert!((ratio - 1.0).abs() < error, "{nodes}: {ratio} {model:?}");
        };
        near(blades_corrected, &levels(1, ethernet), 0.01);
        near(blades, &levels(1, ethernet), 0.13);
        if nodes.is_power_of_two() {
            near(roadrunner_corrected, &levels(2, infiniband), 0.02);
            // The gaps that C leaves out weigh about as much as its 15.
            near(roadrunner, &levels(2, infiniband), 0.10);
        }
    }
}

/// The broadcast's rounds are whole trips from SPE to SPE, the longer the vector the more of all that it takes.
#[test]
fn broadcasts_of_simulated_clusters_take_what_the_model_says() {
    let ethernet = level(false, 30_000_000, 5_000_000, 8000);
    for nodes in [2, 3, 4, 5, 7, 8] {
        let ratio = ratio(&CLUSTER_MODELS[2], nodes, &levels(1, ethernet));
        assert!((ratio - 1.0).abs() < 0.05, "{nodes}: {ratio}");
    }
}
