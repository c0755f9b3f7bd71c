//! The simulator's cost per event on a flat network, from ten thousand events to ten million.
//!
//! Run: `cargo bench -p allhands-core --bench events`. The plans are built beforehand and are no part of the time, which is the
//! processor's where the system says it, and otherwise the clock's.

use allhands_core::algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::schedule::{Layout, Plan};
use allhands_core::simulate::{Flat, Linear, Processor, simulate_observed};
mod soon;

use soon::Soon;
use std::time::Instant;

const CASES: [(Collective, &str, u32); 7] = [
    (Collective::Alltoall, "pairwise", 50),
    (Collective::Alltoall, "pairwise", 160),
    (Collective::Alltoall, "pairwise", 500),
    (Collective::Alltoall, "pairwise", 1600),
    (Collective::Allreduce, "recursive-doubling", 1 << 8),
    (Collective::Allreduce, "recursive-doubling", 1 << 12),
    (Collective::Allreduce, "recursive-doubling", 1 << 16),
];

/// So many events are timed at least, if need be in several simulations.
const LEAST_EVENTS: u64 = 4_000_000;

fn plans(collective: Collective, name: &str, ranks: u32) -> Vec<Plan> {
    let algorithm = algorithm::find(collective, name).expect("it is there");
    let call = Call::new(collective, ranks);
    let shape = algorithm.shape(call, "").expect("the default is right");
    let layout = Layout::regular(collective, 1);
    let plans: Result<_, _> = algorithm.plans(&shape, &layout, 8).collect();
    plans.expect("they can be lowered")
}

/// Seconds that the processor gave this program, as far as the system says; otherwise of the clock.
fn seconds(start: Instant) -> f64 {
    let said = std::fs::read_to_string("/proc/self/schedstat").ok();
    let of_processor = said.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    of_processor.map_or(start.elapsed().as_secs_f64(), |ns| ns * 1e-9)
}

/// Events, and the nanoseconds of one in the best of several runs: what else the machine does only adds to it.
fn measured(plans: &[Plan]) -> (u64, f64) {
    let gap = Linear {
        fixed_ps: 50_000,
        per_byte_fs: 8_000,
    };
    let overhead = Linear {
        fixed_ps: 300_000,
        per_byte_fs: 0,
    };
    let processor = Processor {
        send: overhead,
        receive: overhead,
        ..Processor::default()
    };
    let run = || {
        let mut network = Flat::new(plans.len() as u32, 1_000_000, gap, processor);
        let outcome = simulate_observed(plans, &mut network, &mut Soon).expect("it ends");
        outcome.events
    };
    let events = run();
    // The system counts the processor's time in ticks of some milliseconds.
    let times = LEAST_EVENTS.div_ceil(events);
    let start = Instant::now();
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        let before = seconds(start);
        let happened: u64 = (0..times).map(|_| run()).sum();
        best = best.min((seconds(start) - before) * 1e9 / happened as f64);
    }
    (events, best)
}

fn main() {
    println!(
        "{:<12}{:<22}{:>8}{:>12}{:>10}{:>14}",
        "collective", "algorithm", "ranks", "events", "ns each", "million a s"
    );
    let mut costs = Vec::new();
    for (collective, name, ranks) in CASES {
        let (events, ns) = measured(&plans(collective, name, ranks));
        println!(
            "{:<12}{name:<22}{ranks:>8}{events:>12}{ns:>10.1}{:>14.1}",
            collective.name(),
            1e3 / ns
        );
        costs.push(ns);
    }
    let (least, most) = (
        costs.iter().copied().fold(f64::INFINITY, f64::min),
        costs.iter().copied().fold(0.0, f64::max),
    );
    println!(
        "\nthe dearest event costs {:.2} times the cheapest",
        most / least
    );
}
