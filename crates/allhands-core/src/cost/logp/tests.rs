//! LogP's walk beside the simulator, which is another program, and beside closed forms.

use super::*;
use crate::algorithm::{self, Algorithm, Layer};
use crate::call::{Call, Collective};
use crate::cost::{Sizes, walk};
use crate::machine::Nodes;
use crate::pattern::math::ceil_log2;
use crate::schedule::{Layout, Plan, Shape};
use crate::simulate::{
    Cluster, ClusterTimes, Curve, Curves, Flat, Linear, Processor, WindowCurves, simulate,
};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use std::println;

const LOGGP: LogGp = LogGp {
    latency_us: 5.0,
    send_us: 0.7,
    receive_us: 0.4,
    gap_us: 0.9,
    gap_us_per_byte: 0.002,
    gamma_us_per_byte: 0.001,
    copy_us_per_byte: 0.0005,
    deposits: false,
};

fn linear(fixed_us: f64, us_per_byte: f64) -> Linear {
    Linear {
        fixed_ps: (fixed_us * 1e6).round() as u64,
        per_byte_fs: (us_per_byte * 1e9).round() as u64,
    }
}

fn flat(ranks: u32) -> Flat {
    let m = LOGGP;
    let processor = Processor {
        send: linear(m.send_us, 0.0),
        receive: linear(m.receive_us, 0.0),
        copy: linear(0.0, m.copy_us_per_byte),
        reduce: linear(0.0, m.gamma_us_per_byte),
    };
    let latency_ps = linear(m.latency_us, 0.0).fixed_ps;
    Flat::new(
        ranks,
        latency_ps,
        linear(m.gap_us, m.gap_us_per_byte),
        processor,
    )
}

/// What a call takes walked, and simulated, in microseconds.
fn both_us(
    algorithm: &Algorithm,
    shape: &Shape,
    elements: usize,
    model: &impl Model,
    simulated: impl Fn(&[Plan]) -> u64,
) -> (f64, f64) {
    let layout = Layout::regular(algorithm.collective, elements);
    let world = algorithm.world(shape);
    let sizes = Sizes::Laid {
        layout: &layout,
        element_bytes: 1,
    };
    let walked = walk(&shape.call, &world, sizes, model, 1);
    let walked = walked.unwrap_or_else(|e| panic!("{algorithm:?}: {e}"));
    let plan = |own| Plan::lower(own, &shape.call, &layout, 1);
    let plans: Result<Vec<Plan>, _> = world.iter().map(plan).collect();
    let simulated_ps = simulated(&plans.unwrap());
    (walked.last().time_us, simulated_ps as f64 / 1e6)
}

/// Times that were not the same, of how many, and how far apart they were at most.
#[derive(Default)]
struct Comparison {
    all: usize,
    different: usize,
    most: f64,
}

impl Comparison {
    fn add(&mut self, what: String, (walked_us, simulated_us): (f64, f64)) {
        let apart = (walked_us - simulated_us).abs() / simulated_us;
        self.all += 1;
        // The simulator counts whole picoseconds.
        if apart > 1e-4 {
            self.different += 1;
            println!("{what}: walked {walked_us}, simulated {simulated_us}");
        }
        self.most = self.most.max(apart);
    }
}

/// The walk takes messages that are ready at once in another order than the simulator: that is all that may differ.
#[test]
fn on_a_flat_network_the_walk_is_the_simulation() {
    let mut compared = Comparison::default();
    for algorithm in algorithm::all().filter(|a| a.layer == Layer::PointToPoint) {
        for ranks in [2, 3, 5, 8, 13] {
            for elements in [1, 40, 3000] {
                let call = Call::new(algorithm.collective, ranks);
                let shape = algorithm.shape(call, "").unwrap();
                if algorithm.admits(&shape).is_err() {
                    continue;
                }
                let both = both_us(algorithm, &shape, elements, &LOGGP, |plans| {
                    simulate(plans, &mut flat(ranks)).unwrap().completion_ps()
                });
                let (collective, name) = (algorithm.collective, algorithm.name);
                compared.add(format!("{collective} {name} p={ranks} n={elements}"), both);
            }
        }
    }
    let Comparison {
        all,
        different,
        most,
    } = compared;
    assert!(
        all > 1000 && 50 * different < all,
        "{different} of {all} differ"
    );
    assert!(most < 0.2, "by {most}");
}

/// Curves of a level in microseconds at 0 and at 10,000 bytes: os, or, L, g.
type Lines = [[f64; 2]; 4];

const FAR_BYTES: u64 = 10_000;
const INSIDE: Lines = [[0.2, 0.4], [0.1, 0.3], [1.0, 4.0], [0.5, 3.0]];
const BETWEEN: Lines = [[0.7, 1.5], [0.4, 0.9], [6.0, 30.0], [0.9, 20.0]];
/// Of a window: to put, and to get.
const WINDOW: [[f64; 2]; 2] = [[0.05, 2.0], [0.06, 2.5]];
const NOTIFY_US: f64 = 0.03;
const NOTICE_US: f64 = 0.2;
const REDUCE: [f64; 2] = [0.01, 4.0];

fn measured([none, far]: [f64; 2]) -> Measured {
    Measured::new(vec![(0, none), (FAR_BYTES, far)])
}

fn level([send, receive, latency, gap]: Lines, has_window: bool) -> Level {
    let [put, get] = WINDOW.map(measured);
    Level {
        send: measured(send),
        receive: measured(receive),
        latency: measured(latency),
        gap: measured(gap),
        window: has_window.then_some(Window {
            put,
            get,
            notify_us: NOTIFY_US,
            notice_us: NOTICE_US,
        }),
    }
}

fn levels(node_of: &[u32]) -> Levels {
    Levels {
        node_of: node_of.to_vec(),
        inside: level(INSIDE, true),
        between: level(BETWEEN, false),
        copy: Measured::default(),
        reduce: measured(REDUCE),
    }
}

/// The same levels as the simulator has them.
fn cluster(node_of: &[u32]) -> Cluster<Curves> {
    let ps = |us: f64| (us * 1e6).round() as u64;
    let curve =
        |[none, far]: [f64; 2]| Curve::new(vec![(0, ps(none)), (FAR_BYTES, ps(far))]).unwrap();
    let curves = |[send, receive, latency, gap]: Lines, has_window: bool| Curves {
        send: curve(send),
        receive: curve(receive),
        latency: curve(latency),
        gap: curve(gap),
        shared: Curve::new(vec![(0, 0)]).unwrap(),
        wake_ps: 0,
        interleaves: false,
        exchange: None,
        combine: None,
        gap_again: None,
        alone: None,
        window: has_window.then_some(WindowCurves {
            put: curve(WINDOW[0]),
            get: curve(WINDOW[1]),
            notify_ps: ps(NOTIFY_US),
            notice_ps: ps(NOTICE_US),
        }),
    };
    let [none, far] = REDUCE;
    let times = ClusterTimes {
        inside: curves(INSIDE, true),
        between: curves(BETWEEN, false),
        copy: Linear::default(),
        reduce: linear(none, (far - none) / FAR_BYTES as f64),
        shared_ps: 0,
    };
    Cluster::new(node_of, times)
}

/// On nodes of several ranks a node's port is given in another order too: to who is ready first, not to who asked first.
#[test]
fn on_nodes_the_walk_is_near_the_simulation() {
    let mut compared = Comparison::default();
    for (nodes, ranks_each) in [(4, 1), (1, 4), (2, 3), (3, 2), (4, 4)] {
        let ranks = nodes * ranks_each;
        let node_of: Vec<u32> = (0..ranks).map(|rank| rank / ranks_each).collect();
        for algorithm in algorithm::all().filter(|a| a.layer == Layer::PointToPoint) {
            for elements in [1, 3000] {
                let call = Call::new(algorithm.collective, ranks);
                let shape = algorithm.shape(call, "").unwrap();
                let shape = shape.on(Nodes::even(nodes, ranks_each));
                if algorithm.admits(&shape).is_err() {
                    continue;
                }
                let model = levels(&node_of);
                let both = both_us(algorithm, &shape, elements, &model, |plans| {
                    simulate(plans, &mut cluster(&node_of))
                        .unwrap()
                        .completion_ps()
                });
                let (collective, name) = (algorithm.collective, algorithm.name);
                let what = format!("{collective} {name} {nodes}x{ranks_each} n={elements}");
                compared.add(what, both);
            }
        }
    }
    let Comparison {
        all,
        different,
        most,
    } = compared;
    assert!(
        all > 500 && 5 * different < all,
        "{different} of {all} differ"
    );
    assert!(most < 0.3, "by {most}");
}

/// What a call takes in closed form, where a message of so many bytes takes `message_us`, and combining them `reduce_us`.
fn closed_us(
    (collective, name): (Collective, &str),
    ranks: u32,
    bytes: f64,
    (message_us, reduce_us): (&dyn Fn(f64) -> f64, &dyn Fn(f64) -> f64),
) -> Option<f64> {
    let rounds = f64::from(ceil_log2(ranks));
    let block_bytes = bytes / f64::from(ranks);
    Some(match (collective, name) {
        (Collective::Barrier, "dissemination") => rounds * message_us(0.0),
        (Collective::Allgather, "ring") => f64::from(ranks - 1) * message_us(block_bytes),
        (Collective::Allgather, "bruck") => (0..ceil_log2(ranks))
            .map(|step| message_us(f64::from((1 << step).min(ranks - (1 << step))) * block_bytes))
            .sum(),
        _ if !ranks.is_power_of_two() => return None,
        (Collective::Broadcast, "binomial") => rounds * message_us(bytes),
        (Collective::Allreduce, "recursive-doubling") => {
            rounds * (message_us(bytes) + reduce_us(bytes))
        }
        _ => return None,
    })
}

#[test]
fn walks_are_what_closed_forms_say() {
    let loggp = LogGp {
        copy_us_per_byte: 0.0,
        ..LOGGP
    };
    let loggp_us = |bytes: f64| {
        let [ends_us, gap_us] = [
            loggp.send_us + loggp.receive_us,
            loggp.gap_us + bytes * loggp.gap_us_per_byte,
        ];
        ends_us + loggp.latency_us + gap_us
    };
    let plogp_us = |bytes: f64| {
        let [send, receive, latency, _] = BETWEEN.map(measured);
        [send, receive, latency]
            .map(|of| of.at_us(bytes))
            .iter()
            .sum()
    };
    let mut compared = 0;
    for (collective, name) in [
        (Collective::Barrier, "dissemination"),
        (Collective::Allgather, "ring"),
        (Collective::Allgather, "bruck"),
        (Collective::Broadcast, "binomial"),
        (Collective::Allreduce, "recursive-doubling"),
    ] {
        let algorithm = algorithm::find(collective, name).unwrap();
        for ranks in 2..=40 {
            let call = Call::new(collective, ranks);
            let shape = algorithm.shape(call, "").unwrap();
            let world = algorithm.world(&shape);
            let node_of: Vec<u32> = (0..ranks).collect();
            for bytes in [1.0, 512.0, 100_000.0] {
                let sizes = Sizes::Ideal { bytes };
                let is = |walked_us: f64, closed_us: Option<f64>| {
                    let Some(closed_us) = closed_us else { return 0 };
                    let apart = (walked_us - closed_us).abs();
                    assert!(
                        apart < 1e-9 * closed_us,
                        "{name} p={ranks} n={bytes}: {walked_us} {closed_us}"
                    );
                    1
                };
                let reduce_us = |bytes: f64| bytes * loggp.gamma_us_per_byte;
                let closed = closed_us((collective, name), ranks, bytes, (&loggp_us, &reduce_us));
                let walked = walk(&call, &world, sizes, &loggp, 1)
                    .unwrap()
                    .last()
                    .time_us;
                compared += is(walked, closed);
                let reduce_us = |bytes: f64| measured(REDUCE).at_us(bytes);
                let closed = closed_us((collective, name), ranks, bytes, (&plogp_us, &reduce_us));
                let walked = walk(&call, &world, sizes, &levels(&node_of), 1);
                compared += is(walked.unwrap().last().time_us, closed);
            }
        }
    }
    assert!(compared > 700, "{compared}");
}
