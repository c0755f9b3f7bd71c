//! Worlds of several hosts between which everything is encrypted, and those of which not all ranks encrypt.

use crate::world::{World, fail};
use allhands::launch::{CONNECT, NETWORK, PATIENCE, SECRET, TLS};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

const ON: (&str, &str) = (TLS, "1");

fn start(world: &mut World, part: &str, hosts: &[&str], more: &[(&str, &str)]) {
    for (rank, host) in (0..).zip(hosts) {
        let changes = [&[ON], more].concat();
        world.start(part, host, (rank, hosts.len() as u32), &changes);
    }
}

fn run(part: &str, hosts: &[&str], more: &[(&str, &str)]) {
    let mut world = World::new();
    start(&mut world, part, hosts, more);
    world.end_well(&format!("{part} on {hosts:?}"));
}

#[test]
fn two_and_three_hosts_have_right_answers() {
    for hosts in [&["a", "b"][..], &["a", "a", "b", "b", "c"]] {
        run("collectives", hosts, &[]);
        run("messages", hosts, &[]);
        run("splits", hosts, &[]);
    }
    run("measured", &["a", "b", "c"], &[]);
    run("collectives on one host", &["a", "a"], &[]);
    run(
        "connected",
        &["a", "a", "b", "b", "c", "c"],
        &[(CONNECT, "eager")],
    );
}

#[test]
fn a_rank_that_is_killed_is_named_on_all_hosts_soon() {
    for (part, hosts, victim) in [
        ("die", &["a", "b"][..], 1),
        ("die", &["a", "b", "b", "c"], 2),
        ("die-waited-for", &["a", "b"], 0),
        ("die-waited-for", &["a", "a", "b", "b"], 2),
        ("die-before", &["a", "b", "c"], 1),
    ] {
        let mut world = World::new();
        start(&mut world, &format!("{part} {victim}"), hosts, &[]);
        for (rank, end) in world.end().iter().enumerate() {
            let expected = if rank == victim {
                128 + libc::SIGKILL
            } else {
                3
            };
            assert_eq!(
                end.code, expected,
                "{part}, rank {rank} of {hosts:?}: {}",
                end.said
            );
        }
    }
}

#[test]
fn a_wrong_secret_is_named_and_harms_nobody_else() {
    let mut world = World::new();
    for (rank, host) in [(0, "a"), (2, "b")] {
        world.start("wait", host, (rank, 3), &[ON, (PATIENCE, "3")]);
    }
    let other = (SECRET, "another secret of some length");
    world.start("wait", "b", (1, 3), &[ON, other]);
    let said = fail("secret", world);
    let says = "different secrets; right would be the same ALLHANDS_SECRET";
    assert!(said[2].contains(says), "{}", said[2]);
    for said in &said[..2] {
        let says = "for rank 1 of 3, in vain; 1 connections were refused";
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn ranks_of_which_not_all_encrypt_are_named() {
    let off = (TLS, "0");
    for (of_most, of_one, says) in [
        (ON, off, "rank 1 on host b does not encrypt, and rank 0 at "),
        (
            off,
            ON,
            "rank 1 on host b encrypts (ALLHANDS_TLS=1), and rank 0 at ",
        ),
    ] {
        let mut world = World::new();
        for (rank, host) in [(0, "a"), (2, "b")] {
            world.start("wait", host, (rank, 3), &[of_most, (PATIENCE, "3")]);
        }
        world.start("wait", "b", (1, 3), &[of_one, (PATIENCE, "60")]);
        let begun = Instant::now();
        let said = fail("encryption", world);
        let took = begun.elapsed();
        // Nobody waits as long as the one would whom nobody answers.
        assert!(took < Duration::from_secs(40), "it takes {took:?}");
        let right = "; right would be ALLHANDS_TLS=1 for all ranks, or for none";
        assert!(
            said[2].contains(says) && said[2].contains(right),
            "{}",
            said[2]
        );
        for said in &said[..2] {
            let says = "1 of them encrypted and rank 0 does not, or the other way round: right would be the same ALLHANDS_TLS";
            assert!(
                said.contains("for rank 1 of 3, in vain") && said.contains(says),
                "{said}"
            );
        }
    }
}

#[test]
fn strangers_harm_nobody() {
    let mut world = World::new();
    world.start("collectives", "a", (0, 2), &[ON]);
    let mut strangers = Vec::new();
    let until = Instant::now() + Duration::from_secs(20);
    while strangers.len() < 40 {
        assert!(Instant::now() < until, "rank 0 does not listen");
        if let Ok(mut stream) = TcpStream::connect(world.place()) {
            let garbage = [
                b"GET / HTTP/1.1\r\n\r\n".to_vec(),
                b"Ah\x01\x81".to_vec(),
                vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3],
                Vec::new(),
            ];
            let _ = stream.write_all(&garbage[strangers.len() % 4]);
            strangers.push(stream);
        }
    }
    world.start("collectives", "b", (1, 2), &[ON]);
    world.end_well("among strangers");
}

#[test]
fn what_libfabric_would_not_encrypt_is_refused() {
    let mut world = World::new();
    start(&mut world, "wait", &["a", "b"], &[(NETWORK, "ofi")]);
    for said in fail("ofi", world) {
        let says =
            "libfabric's messages would not be encrypted; right would be ALLHANDS_NETWORK=tcp";
        assert!(said.contains(says), "{said}");
    }
}
