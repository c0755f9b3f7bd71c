//! The torus's cost per event and per hop of a packet: alltoall, scattered, every message cut into packets, on small machines, and
//! an allreduce of a packet a message on the largest one.
//!
//! Run: `cargo bench -p allhands-core --bench torus`. The plans are built beforehand and are no part of the time.

use allhands_core::algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::machine::Torus;
use allhands_core::schedule::{Layout, Plan};
use allhands_core::simulate::{Beginning, Linear, TorusNetwork, TorusSettings, simulate_observed};
mod soon;

use soon::Soon;
use std::time::Instant;

/// Collectives, algorithms, shapes, and the bytes for each pair, or of the vector.
const CASES: [(Collective, &str, &str, usize); 7] = [
    (Collective::Alltoall, "scattered", "4x4x4:torus", 64),
    (Collective::Alltoall, "scattered", "4x4x4:torus", 1024),
    (Collective::Alltoall, "scattered", "8x8x8:torus", 64),
    (Collective::Alltoall, "scattered", "8x8x8:torus", 1024),
    (Collective::Alltoall, "scattered", "16x8x8:torus", 240),
    (
        Collective::Allreduce,
        "recursive-doubling",
        "16x16x16:torus",
        8,
    ),
    (
        Collective::Allreduce,
        "recursive-doubling",
        "64x32x32:torus",
        8,
    ),
];

fn plans((collective, name): (Collective, &str), ranks: u32, bytes: usize) -> Vec<Plan> {
    let algorithm = algorithm::find(collective, name).expect("it is there");
    let call = Call::new(collective, ranks);
    let shape = algorithm.shape(call, "").expect("the default is right");
    let layout = Layout::regular(collective, bytes / 8);
    let plans: Result<_, _> = algorithm
        .plans(&shape, &layout, 8)
        .without_extents()
        .collect();
    plans.expect("they can be lowered")
}

/// About BlueGene/L's (B 2.1).
fn settings(torus: Torus) -> TorusSettings {
    let linear = |fixed_ps, per_byte_fs| Linear {
        fixed_ps,
        per_byte_fs,
    };
    let beginning = Beginning {
        fixed_ps: 500_000,
        ..Beginning::default()
    };
    TorusSettings {
        torus,
        ranks_per_node: 1,
        chunk_ps: 194_805,
        hop_ps: 85_000,
        packet_bytes: 256,
        header_bytes: 16,
        buffer_bytes: 1024,
        injection_queues: 6,
        injection_bytes: 1024,
        reception_bytes: 1024,
        adaptive: true,
        packets_a_turn: 2,
        inject: linear(0, 560_000),
        take: linear(0, 1_140_000),
        send: beginning,
        receive: beginning,
        match_ps: 0,
        agreement: [beginning; 2],
        copy: linear(0, 332_000),
        reduce: linear(0, 332_000),
        start_ps: 0,
        tree: None,
        interrupt_ps: None,
    }
}

fn main() {
    println!(
        "{:<20}{:<16}{:>6}{:>12}{:>12}{:>10}{:>10}{:>18}{:>16}",
        "algorithm",
        "torus",
        "bytes",
        "events",
        "hops",
        "seconds",
        "ns each",
        "million events/s",
        "million hops/s"
    );
    // Only the cases whose torus is named, if one is.
    let only = std::env::args()
        .nth(1)
        .filter(|text| !text.starts_with('-'));
    for (collective, name, shape, bytes) in CASES {
        if only.as_ref().is_some_and(|only| !shape.starts_with(only)) {
            continue;
        }
        let torus: Torus = shape.parse().expect("it is a torus");
        let plans = plans((collective, name), torus.ranks(), bytes);
        let ranks = plans.len() as u32;
        let (mut events, mut hops, mut least_s) = (0, 0, f64::INFINITY);
        for _ in 0..3 {
            let start = Instant::now();
            let mut network =
                TorusNetwork::new(settings(torus), ranks).expect("there is such a torus");
            let outcome = simulate_observed(&plans, &mut network, &mut Soon).expect("it ends");
            least_s = least_s.min(start.elapsed().as_secs_f64());
            (events, hops) = (outcome.events, network.hops());
        }
        println!(
            "{name:<20}{shape:<16}{bytes:>6}{events:>12}{hops:>12}{least_s:>10.3}{:>10.1}{:>18.1}{:>16.1}",
            least_s * 1e9 / events as f64,
            events as f64 / least_s / 1e6,
            hops as f64 / least_s / 1e6
        );
    }
}
