//! Idle ranks: one that waits for other nodes uses no processor, and is woken by its network and by its own node.
#![cfg(all(target_os = "linux", not(loom)))]

use allhands::net::tcp::{Loopback, Settings};
use allhands::operator::Sum;
use allhands::transport::net::Places;
use allhands::{Communicator, threads};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The processor time of the calling thread.
fn used() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Has rank `late` come to a call a second late; what the others used of the processor meanwhile, and the least time that passes
/// from its coming until one of them is done.
fn wait_for(node_of: &[u32], late: u32) -> (Vec<Duration>, Duration) {
    let network = Loopback::new(node_of.len() as u32, 1, Settings::default()).unwrap();
    let came = Mutex::new(Instant::now());
    let body = |comm: Communicator| {
        // Connections are made, and plans.
        comm.allreduce_in_place(&mut [1u64], Sum).unwrap();
        comm.barrier().unwrap();
        if comm.rank() as u32 == late {
            std::thread::sleep(Duration::from_secs(1));
            *came.lock().unwrap() = Instant::now();
        }
        let before = used();
        let mut value = [1u64];
        comm.allreduce_in_place(&mut value, Sum).unwrap();
        let (took, end) = (used() - before, Instant::now());
        assert_eq!(value, [comm.size() as u64]);
        comm.barrier().unwrap();
        let came = *came.lock().unwrap();
        (comm.rank() as u32 != late).then(|| (took, end - came))
    };
    let places = Places::new(node_of).unwrap();
    let all = threads::run_on_nodes(&places, &network, body).unwrap();
    let others: Vec<(Duration, Duration)> = all.into_iter().flatten().collect();
    let woken = others.iter().map(|(_, woken)| *woken).min().unwrap();
    (others.into_iter().map(|(took, _)| took).collect(), woken)
}

#[test]
fn a_rank_that_waits_for_its_network_or_its_node_sleeps_and_is_woken() {
    // By the network alone, by the own node alone, and by both.
    for (node_of, late) in [
        (&[0, 1][..], 1),
        (&[0, 0, 1][..], 1),
        (&[0, 0, 1, 1][..], 3),
    ] {
        let tries = (0..3).map(|_| wait_for(node_of, late));
        // Others want the processors, too.
        let (took, woken) = tries
            .min_by_key(|(took, woken)| (took.iter().max().copied(), *woken))
            .unwrap();
        for took in &took {
            assert!(*took < Duration::from_millis(60), "{node_of:?}: {took:?}");
        }
        // Who was not woken would sleep for up to 32 ms, half of that on average.
        assert!(woken < Duration::from_millis(8), "{node_of:?}: {woken:?}");
    }
}
