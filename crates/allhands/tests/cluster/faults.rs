//! What is started wrongly, or ends before its time, is named to all that are left.

use crate::world::{GOOD_SECRET, World, fail};
use allhands::launch::{PATIENCE, RAILS, RANK, RANKS, RENDEZVOUS, SECRET};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Starts good ranks on hosts a, b, b, …, but for those that are left out.
fn start_but(world: &mut World, left_out: &[u32], ranks: u32, patience: &str) {
    for rank in (0..ranks).filter(|rank| !left_out.contains(rank)) {
        let host = if rank == 0 { "a" } else { "b" };
        world.start("wait", host, (rank, ranks), &[(PATIENCE, patience)]);
    }
}

fn all_say(said: &[String], says: &str) {
    for (process, said) in said.iter().enumerate() {
        assert!(said.contains(says), "process {process}: {said}");
    }
}

#[test]
fn whoever_does_not_come_is_named() {
    let mut world = World::new();
    start_but(&mut world, &[1, 3], 5, "2");
    let said = fail("missing", world);
    all_say(
        &said,
        "rank 0 has waited 2 s for ranks 1 and 3 of 5, in vain",
    );
}

#[test]
fn a_rank_0_that_does_not_come_is_looked_for_where_it_should_be() {
    let mut world = World::new();
    start_but(&mut world, &[0], 2, "1");
    let says = format!(
        "rank 1 on host b has not reached rank 0 at {} for 1 s (nobody listens there)",
        world.place()
    );
    all_say(&fail("no rank 0", world), &says);
    let mut world = World::new();
    world.start(
        "wait",
        "a",
        (1, 2),
        &[(PATIENCE, "0.3"), (RENDEZVOUS, "no-such-host.invalid:4000")],
    );
    all_say(
        &fail("no host", world),
        "rank 1 knows no host no-such-host.invalid",
    );
}

#[test]
fn a_wrong_secret_is_named_and_harms_nobody_else() {
    let mut world = World::new();
    start_but(&mut world, &[1], 3, "3");
    world.start(
        "wait",
        "b",
        (1, 3),
        &[(SECRET, "another secret of some length")],
    );
    let said = fail("secret", world);
    assert!(
        said[2].contains("different secrets; right would be the same ALLHANDS_SECRET"),
        "{}",
        said[2]
    );
    all_say(
        &said[..2],
        "for rank 1 of 3, in vain; 1 connections were refused",
    );
    let mut world = World::new();
    world.start("wait", "a", (0, 2), &[(SECRET, "too short")]);
    world.start("wait", "a", (1, 2), &[(SECRET, "")]);
    let said = fail("short", world);
    assert!(
        said[0].contains("ALLHANDS_SECRET has 9 bytes, where at least 16 bytes would be right"),
        "{}",
        said[0]
    );
    assert!(
        said[1].contains("ALLHANDS_SECRET is not set"),
        "{}",
        said[1]
    );
}

#[test]
fn two_ranks_of_one_number_are_named() {
    let mut world = World::new();
    start_but(&mut world, &[3], 4, "60");
    world.start("wait", "c", (2, 4), &[]);
    let pids = (world.pid(2), world.pid(3));
    let said = fail("twice", world);
    all_say(&said, "two processes were started as rank 2: ");
    for (pid, host) in [(pids.0, "b"), (pids.1, "c")] {
        all_say(&said, &format!("{pid} on host {host}"));
    }
}

#[test]
fn two_ranks_0_on_one_host_are_named() {
    let mut world = World::new();
    world.start("wait", "a", (0, 2), &[(PATIENCE, "3")]);
    let until = Instant::now() + Duration::from_secs(20);
    // It is there, as a stranger that says nothing sees.
    while TcpStream::connect(world.place()).is_err() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(5));
    }
    world.start("wait", "a", (0, 2), &[]);
    let said = fail("two ranks 0", world);
    assert!(
        said[1].contains("rank 0 cannot listen at 127.0.0.1:") && said[1].contains("one rank 0"),
        "{}",
        said[1]
    );
}

#[test]
fn sizes_that_differ_are_named() {
    let mut world = World::new();
    start_but(&mut world, &[2], 3, "60");
    world.start("wait", "b", (2, 4), &[]);
    let said = fail("sizes", world);
    all_say(
        &said,
        "rank 2 on host b was started as one of 4 ranks, and rank 0 on host a as one of 3",
    );
    let mut world = World::new();
    start_but(&mut world, &[1], 2, "60");
    world.start("wait", "b", (1, 2), &[(RAILS, "127.0.0.1,127.0.0.1")]);
    all_say(
        &fail("rails", world),
        "rank 1 on host b has 2 rails, and rank 0 on host a has 1",
    );
    let mut world = World::new();
    start_but(&mut world, &[1], 3, "60");
    world.start("wait", "b", (1, 3), &[(RAILS, "lo,no-such-rail")]);
    let says = "rank 1 on host b has no rail no-such-rail; it has lo (127.0.0.1)";
    all_say(&fail("no such rail", world), says);
}

#[test]
fn variables_that_make_no_sense_are_named() {
    for (name, value, says) in [
        (
            RENDEZVOUS,
            "nowhere",
            "ALLHANDS_RENDEZVOUS is 'nowhere', where HOST:PORT",
        ),
        (
            RANK,
            "9",
            "ALLHANDS_RANK is '9', where a number from 0 to 1",
        ),
        (RANKS, "some", "ALLHANDS_RANKS is 'some', where a number"),
        (
            RAILS,
            "no-such-rail",
            "rank 0 on host a has no rail no-such-rail; it has lo",
        ),
    ] {
        let mut world = World::new();
        world.start("wait", "a", (0, 2), &[(name, value)]);
        all_say(&fail(name, world), says);
    }
}

#[test]
fn a_rank_that_dies_before_all_are_there_is_named() {
    let mut world = World::new();
    start_but(&mut world, &[3], 4, "60");
    // Time to come; if it does not suffice, its death is found as that of one that never came.
    std::thread::sleep(Duration::from_secs(1));
    // SAFETY: a signal to a child that was not waited for.
    unsafe { libc::kill(world.pid(2) as i32, libc::SIGKILL) };
    let ends = world.end();
    assert_eq!(ends[2].code, 128 + libc::SIGKILL);
    for end in &ends[..2] {
        assert!(
            end.said
                .contains("rank 2 on host b is gone before all were there"),
            "{}",
            end.said
        );
    }
}

#[test]
fn a_rank_that_is_killed_is_named_on_all_hosts_soon() {
    kill("die");
}

#[test]
fn a_rank_that_is_killed_is_named_by_those_who_wait_for_its_messages() {
    kill("die-waited-for");
}

/// One rank is killed, and all others end as they do who hear of it.
fn kill(part: &str) {
    for (hosts, victim) in [
        (&["a", "b"][..], 1),
        (&["a", "b"], 0),
        (&["a", "a", "b", "b"], 0),
        (&["a", "b", "b", "c"], 2),
    ] {
        let mut world = World::new();
        world.start_all(&format!("{part} {victim}"), hosts);
        for (rank, end) in world.end().iter().enumerate() {
            let expected = if rank == victim {
                128 + libc::SIGKILL
            } else {
                3
            };
            assert_eq!(end.code, expected, "rank {rank} of {hosts:?}: {}", end.said);
        }
    }
}

#[test]
fn strangers_harm_nobody() {
    let mut world = World::new();
    start_but(&mut world, &[1], 2, "60");
    let mut strangers = Vec::new();
    let until = Instant::now() + Duration::from_secs(20);
    while strangers.len() < 40 {
        assert!(Instant::now() < until, "rank 0 does not listen");
        if let Ok(mut stream) = TcpStream::connect(world.place()) {
            let garbage = [
                b"GET / HTTP/1.1\r\n\r\n".to_vec(),
                vec![0x55; 9000],
                Vec::new(),
            ];
            let _ = stream.write_all(&garbage[strangers.len() % 3]);
            strangers.push(stream);
        }
    }
    drop(world);
    // The same with one who comes in the end.
    let mut world = World::new();
    world.start("collectives", "a", (0, 2), &[]);
    let mut strangers = Vec::new();
    while strangers.len() < 40 {
        if let Ok(mut stream) = TcpStream::connect(world.place()) {
            let _ = stream.write_all(&vec![strangers.len() as u8; strangers.len() * 100]);
            strangers.push(stream);
        }
    }
    world.start("collectives", "b", (1, 2), &[]);
    world.end_well("among strangers");
}

#[test]
fn somebody_else_at_the_port_is_told_from_rank_0() {
    let server = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
    let place = server.local_addr().expect("it has an address").to_string();
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("somebody comes");
        let _ = stream.write_all(b"220 welcome\r\n");
        std::thread::sleep(Duration::from_millis(500));
    });
    let mut world = World::new();
    world.start(
        "wait",
        "b",
        (1, 2),
        &[(RENDEZVOUS, &place), (SECRET, GOOD_SECRET)],
    );
    let said = fail("else", world);
    all_say(&said, "finds somebody else at");
    answers.join().expect("it ends");
}

#[test]
fn who_is_dead_when_the_others_measure_is_named() {
    is_named_with(World::new);
}

#[test]
fn who_is_dead_when_the_others_hear_of_a_table_is_named() {
    is_named_with(World::with_table);
}

fn is_named_with(world: fn() -> World) {
    for hosts in [
        &["a", "b", "c", "d"][..],
        &["a", "a", "b", "b"],
        &["a", "a", "a"],
    ] {
        for victim in 0..hosts.len() {
            let mut world = world();
            world.start_all(&format!("die-before {victim}"), hosts);
            for (at, end) in world.end().iter().enumerate() {
                let code = if at == victim { 128 + 9 } else { 3 };
                assert_eq!(
                    end.code, code,
                    "{hosts:?} without {victim}, process {at}: {}",
                    end.said
                );
            }
        }
    }
}

#[test]
fn a_rank_that_is_killed_at_any_time_is_named_soon() {
    let hosts = ["a", "a", "b", "b", "b"];
    for moment in 0..24_u32 {
        let victim = (moment * 7 % 5) as usize;
        let mut world = World::new();
        let patience = [(PATIENCE, "2")];
        for (rank, host) in (0..).zip(hosts) {
            world.start("barriers", host, (rank, 5), &patience);
        }
        std::thread::sleep(Duration::from_millis(u64::from(moment) * 10));
        // SAFETY: a signal to a child that was not waited for.
        unsafe { libc::kill(world.pid(victim) as i32, libc::SIGKILL) };
        let killed = Instant::now();
        let ends = world.end();
        let took = killed.elapsed();
        // One that has not come yet is waited for as long as any that comes late.
        assert!(took < Duration::from_secs(2 + 5), "it takes {took:?}");
        let names = [format!("rank {victim} "), format!("rank {victim},")];
        for (at, end) in ends.iter().enumerate().filter(|(at, _)| *at != victim) {
            let is_named = names.iter().any(|name| end.said.contains(name));
            assert!(
                end.code == 3 && is_named,
                "{victim} is killed after {moment}0 ms, and process {at} ends with {}: {}",
                end.code,
                end.said
            );
        }
    }
}
