//! The torus's cost per event and per hop of a packet: all-to-all, scattered, every message cut into packets.
//!
//! Run: `cargo bench -p allhands-core --bench torus`. The plans are built beforehand and are no part of the time.

use allhands_core::algorithm;
use allhands_core::call::{Call, Collective};
use allhands_core::schedule::{Layout, Plan};
use allhands_core::simulate::{Beginning, Linear, Torus, TorusSettings, simulate};
use std::time::Instant;

/// Shapes, and the bytes for each pair.
const CASES: [([u32; 3], usize); 5] = [
    ([4, 4, 4], 64),
    ([4, 4, 4], 1024),
    ([8, 8, 8], 64),
    ([8, 8, 8], 1024),
    ([16, 8, 8], 240),
];

fn plans(ranks: u32, bytes: usize) -> Vec<Plan> {
    let algorithm = algorithm::find(Collective::Alltoall, "scattered").expect("it is there");
    let call = Call::new(Collective::Alltoall, ranks);
    let shape = algorithm.shape(call, "").expect("the default is right");
    let layout = Layout::regular(Collective::Alltoall, bytes / 8);
    let lower = |rank| Plan::lower(&algorithm.schedule(&shape, rank), &call, &layout, 8);
    let plans: Result<_, _> = (0..ranks).map(lower).collect();
    plans.expect("they can be lowered")
}

/// About BlueGene/L's (B 2.1).
fn settings(sizes: [u32; 3]) -> TorusSettings {
    let linear = |fixed_ps, per_byte_fs| Linear {
        fixed_ps,
        per_byte_fs,
    };
    let beginning = Beginning {
        fixed_ps: 500_000,
        ..Beginning::default()
    };
    TorusSettings {
        sizes,
        wraps: [true; 3],
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
        copy: linear(0, 332_000),
        reduce: linear(0, 332_000),
        start_ps: 0,
    }
}

fn main() {
    println!(
        "{:<12}{:>8}{:>12}{:>12}{:>10}{:>16}{:>16}",
        "torus", "bytes", "events", "hops", "seconds", "million events/s", "million hops/s"
    );
    for (sizes, bytes) in CASES {
        let plans = plans(sizes.iter().product(), bytes);
        let ranks = plans.len() as u32;
        let (mut events, mut hops, mut least_s) = (0, 0, f64::INFINITY);
        for _ in 0..3 {
            let start = Instant::now();
            let mut torus = Torus::new(settings(sizes), ranks).expect("there is such a torus");
            let outcome = simulate(&plans, &mut torus).expect("it ends");
            least_s = least_s.min(start.elapsed().as_secs_f64());
            (events, hops) = (outcome.events, torus.hops());
        }
        let [x, y, z] = sizes;
        println!(
            "{:<12}{bytes:>8}{events:>12}{hops:>12}{least_s:>10.3}{:>16.1}{:>16.1}",
            format!("{x}x{y}x{z}"),
            events as f64 / least_s / 1e6,
            hops as f64 / least_s / 1e6
        );
    }
}
