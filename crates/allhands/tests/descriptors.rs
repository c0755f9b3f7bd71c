//! Descriptors: a rank that has none left for a connection says so, and takes the connection when it has one.
#![cfg(all(target_os = "linux", not(loom)))]

use allhands::net::tcp::{Loopback, Settings, TcpNetwork};
use allhands::net::{Ended, Network};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Looks for so long.
fn look(network: &mut TcpNetwork, lasts: Duration) {
    let until = Instant::now() + lasts;
    while Instant::now() < until {
        network.progress().unwrap();
    }
}

#[test]
fn a_rank_without_descriptors_accepts_later() {
    let loopback = Loopback::new(2, 1, Settings::default()).unwrap();
    let [mut zero, mut one] = [0, 1].map(|rank| loopback.tcp_network(rank).unwrap());
    let (sent, mut into) = ([7_u8; 100], [0_u8; 100]);
    // SAFETY: both outlive their messages, which end below.
    let (away, received) = unsafe {
        let away = zero.send(1, 0, sent.as_ptr(), sent.len()).unwrap();
        let received = one.receive(0, 0, into.as_mut_ptr(), into.len()).unwrap();
        (away, received)
    };
    look(&mut zero, Duration::from_millis(10));
    let before = getrlimit(Resource::Nofile);
    let free = File::open("/dev/null").unwrap().as_raw_fd();
    let few = Rlimit {
        current: Some(free as u64),
        ..before
    };
    setrlimit(Resource::Nofile, few).unwrap();
    look(&mut one, Duration::from_millis(350));
    setrlimit(Resource::Nofile, before).unwrap();
    // It has tried again now and then, not in every look.
    let unaccepted = one.report().unaccepted;
    assert!((1..=5).contains(&unaccepted), "{unaccepted}");
    let until = Instant::now() + Duration::from_secs(5);
    while one.test(received).unwrap() != Some(Ended::Whole(100)) {
        assert!(Instant::now() < until, "the message does not come");
        one.progress().unwrap();
        zero.progress().unwrap();
    }
    assert_eq!(zero.test(away).unwrap(), Some(Ended::Whole(100)));
    assert_eq!((into, one.report().unaccepted), (sent, unaccepted));
}
