//! Worlds whose ranks are processes on several hosts, joined by the kernel's TCP or by libfabric, without an MPI.
#![cfg(all(target_os = "linux", not(loom)))]

mod faults;
mod ofi;
mod parts;
#[cfg(feature = "tls")]
mod tls;
mod world;

use allhands::launch::{CONNECT, PORTS, RAILS, RANK, RANKS, SIZE};
use world::{PART, World, run};

/// A rank: this program again, run for this one test.
#[test]
fn as_a_rank() {
    if let Ok(part) = std::env::var(PART) {
        parts::play(&part);
    }
}

#[test]
fn two_and_three_hosts_have_right_answers() {
    for hosts in [
        &["a", "b"][..],
        &["a", "a", "b"],
        &["a", "b", "b", "b"],
        &["a", "a", "b", "b", "c"],
        &["a", "b", "a", "c", "b", "a"],
    ] {
        run("collectives", hosts);
    }
}

#[test]
fn a_world_knows_what_its_messages_take() {
    for hosts in [&["a", "b"][..], &["a", "b", "a", "c", "b"]] {
        run("measured", hosts);
    }
}

#[test]
fn ranks_connect_all_at_once_where_one_wishes_it() {
    const RANKS: u32 = 9;
    let mut world = World::new();
    for rank in 0..RANKS {
        let changes: &[_] = match rank {
            4 => &[(CONNECT, "eager")],
            _ => &[],
        };
        let host = ["a", "b", "c"][rank as usize / 3];
        world.start("connected", host, (rank, RANKS), changes);
    }
    world.end_well("eager");
}

#[test]
fn messages_go_from_host_to_host() {
    for hosts in [
        &["a", "b"][..],
        &["a", "b", "b"],
        &["a", "b", "a", "c", "b"],
    ] {
        run("messages", hosts);
    }
}

#[test]
fn communicators_of_several_hosts_go_through_the_same_connections() {
    for hosts in [
        &["a", "b"][..],
        &["a", "a", "b", "b"],
        &["a", "b", "a", "c", "b"],
    ] {
        run("splits", hosts);
    }
}

#[test]
fn one_host_has_no_sockets() {
    run("collectives on one host", &["a", "a", "a"]);
    run("collectives on one host", &["a"]);
}

#[test]
fn without_a_name_the_host_is_this_one() {
    let mut world = World::new();
    for rank in 0..3 {
        world.start(
            "collectives on one host",
            "",
            (rank, 3),
            &[(allhands::launch::HOST, "")],
        );
    }
    world.end_well("");
}

#[test]
fn other_launchers_variables_are_understood() {
    for (rank_name, ranks_name) in [
        ("RANK", "WORLD_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
        ("JOB_COMPLETION_INDEX", SIZE),
    ] {
        let mut world = World::new();
        for rank in 0..3_u32 {
            let number = rank.to_string();
            let changes = [
                (RANK, ""),
                (RANKS, ""),
                (rank_name, &number),
                (ranks_name, "3"),
            ];
            world.start(
                "collectives",
                ["a", "b", "b"][rank as usize],
                (rank, 3),
                &changes,
            );
        }
        world.end_well(rank_name);
    }
}

#[test]
fn rails_and_ports_are_those_that_were_asked_for() {
    let mut world = World::new();
    for rank in 0..3_u32 {
        let changes = [(RAILS, "127.0.0.0/8, lo"), (PORTS, "21000-21999")];
        world.start(
            "ports 21000-21999",
            ["a", "b", "c"][rank as usize],
            (rank, 3),
            &changes,
        );
    }
    world.end_well("");
}

#[test]
fn ranks_may_come_late_and_in_any_order() {
    let mut world = World::new();
    for rank in [2_u32, 1, 0] {
        world.start(
            "collectives",
            ["a", "b", "b"][rank as usize],
            (rank, 3),
            &[],
        );
        std::thread::sleep(std::time::Duration::from_millis(700));
    }
    world.end_well("");
}

#[test]
fn a_rank_that_computes_after_the_world_is_there_keeps_nobody_from_it() {
    for busy in 0..5 {
        run(&format!("computes {busy}"), &["a", "b", "c", "d", "b"]);
    }
}

#[test]
fn two_worlds_of_one_secret_do_not_meet() {
    let (mut one, mut other) = (World::new(), World::new());
    one.start_all("collectives", &["a", "b", "b"]);
    other.start_all("collectives", &["a", "a", "b"]);
    one.end_well("one");
    other.end_well("other");
}
