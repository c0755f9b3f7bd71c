//! Tests of microbenchmarks, on flat networks whose times are known.

use super::*;
use crate::call::Call;
use crate::schedule::{Layout, Plan};
use crate::simulate::{Flat, Linear, Processor, simulate};
use alloc::vec::Vec;

const LATENCY_PS: u64 = 1_000_000;
const OVERHEAD_PS: u64 = 3_000;
const GAP: Linear = Linear {
    fixed_ps: 20_000,
    per_byte_fs: 10_000,
};

/// How long a microbenchmark takes among six ranks with blocks of `bytes` bytes, in picoseconds.
fn time_ps(found: &Algorithm, parameters: &str, bytes: usize) -> u64 {
    let call = Call::new(found.collective, 6);
    let shape = found.shape(call, parameters).unwrap();
    let layout = Layout::regular(found.collective, bytes);
    let plan = |rank| Plan::lower(&found.schedule(&shape, rank), &call, &layout, 1);
    let plans: Vec<Plan> = (0..6).map(plan).collect::<Result<_, _>>().unwrap();
    let overhead = Linear {
        fixed_ps: OVERHEAD_PS,
        per_byte_fs: 0,
    };
    let work = |per_byte_fs| Linear {
        fixed_ps: 0,
        per_byte_fs,
    };
    let processor = Processor {
        send: overhead,
        receive: overhead,
        copy: work(100),
        reduce: work(200),
    };
    let outcome = simulate(&plans, &mut Flat::new(6, LATENCY_PS, GAP, processor));
    outcome.unwrap().completion_ps()
}

#[test]
fn each_takes_what_it_is_there_to_measure() {
    let way_ps = |bytes| 2 * OVERHEAD_PS + LATENCY_PS + GAP.of(bytes);
    for bytes in [10_u64, 1000] {
        let time = |found: &Algorithm, parameters| time_ps(found, parameters, bytes as usize);
        let trips = time(&round_trip::ALGORITHM, "many=3,peer=5");
        assert_eq!(trips, 6 * way_ps(bytes));
        let butterfly = time(&butterfly::ALGORITHM, "peer=3,many=3");
        assert_eq!(butterfly, way_ps(bytes));
        let further = |found: &Algorithm| time(found, "many=4") - time(found, "many=3");
        // Each was copied before.
        assert_eq!(further(&train::ALGORITHM), GAP.of(bytes) + bytes / 10);
        assert_eq!(further(&scatter::ALGORITHM), GAP.of(bytes));
        assert_eq!(further(&gather::ALGORITHM), GAP.of(bytes));
        assert_eq!(further(&steps::ALGORITHM), OVERHEAD_PS + GAP.of(bytes));
        // Its ports are busy for longer than its processor, and both ways at once.
        assert_eq!(further(&relay::ALGORITHM), GAP.of(bytes));
        assert_eq!(time(&copies::ALGORITHM, "many=2"), 2 * bytes / 10);
        assert_eq!(time(&reductions::ALGORITHM, "many=2"), 2 * bytes / 5);
        assert_eq!(
            time(&combinations::ALGORITHM, "many=3,peer=5"),
            6 * (way_ps(bytes) + bytes / 5)
        );
    }
    let trips = time_ps(&notices::ALGORITHM, "many=2", 8);
    assert_eq!(trips, 4 * (OVERHEAD_PS + LATENCY_PS + GAP.of(0)));
    // One has a copy and a flag besides, as the other; and a request goes before what is got.
    let put = time_ps(&puts::ALGORITHM, "many=1", 1000);
    assert!(put >= LATENCY_PS + 100 && time_ps(&gets::ALGORITHM, "", 1000) > put);
    assert_eq!(time_ps(&nothing::ALGORITHM, "", 8), 0);
}

#[test]
fn more_than_there_are_ranks_are_as_many_as_there_are() {
    let counts = |found: &&&Algorithm| [PEER, MANY].iter().all(|key| found.keys.contains(key));
    for found in ALL.iter().filter(counts) {
        time_ps(found, "peer=99,many=50", 8);
    }
}
