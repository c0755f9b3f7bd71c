//! Worlds that libfabric joins, over the providers that every machine has.

use crate::world::{World, fail};
use allhands::launch::{NETWORK, OFI_PROVIDER, RAILS};
use allhands::net::ofi::{Endpoint, OfiError, Wishes};

/// Both go by sockets and by memory that processes share.
const PROVIDERS: [&str; 2] = ["tcp", "shm"];

/// Whether libfabric is there; where nothing may be skipped it is an error if it is not.
fn is_there() -> bool {
    match Endpoint::open(&Wishes::default()) {
        Err(error @ OfiError::Missing { .. }) => {
            assert!(std::env::var("CI").is_err(), "{error}");
            eprintln!("skipped: {error}");
            false
        }
        _ => true,
    }
}

fn start(world: &mut World, part: &str, hosts: &[&str], provider: &str) {
    start_on(world, part, hosts, provider, "");
}

/// The same on these rails.
fn start_on(world: &mut World, part: &str, hosts: &[&str], provider: &str, rails: &str) {
    for (rank, host) in (0..).zip(hosts) {
        let changes = [(NETWORK, "ofi"), (OFI_PROVIDER, provider), (RAILS, rails)];
        world.start(part, host, (rank, hosts.len() as u32), &changes);
    }
}

#[test]
fn several_hosts_have_right_answers() {
    if !is_there() {
        return;
    }
    for provider in PROVIDERS {
        for hosts in [&["a", "b"][..], &["a", "a", "b", "b", "c"]] {
            let mut world = World::new();
            start(&mut world, "collectives", hosts, provider);
            world.end_well(&format!("{provider} on {hosts:?}"));
        }
    }
}

/// Interfaces, and domains of the provider's that are none.
#[test]
fn several_rails_are_those_that_were_named() {
    if !is_there() {
        return;
    }
    for rails in ["127.0.0.1,127.0.0.1", "lo,127.0.0.0/8,lo"] {
        for part in ["collectives", "splits"] {
            let mut world = World::new();
            start_on(&mut world, part, &["a", "b", "b", "c"], "tcp", rails);
            world.end_well(&format!("{part} on {rails}"));
        }
    }
    let mut world = World::new();
    start_on(&mut world, "collectives", &["a", "b", "a"], "shm", "shm");
    world.end_well("a domain");
}

#[test]
fn rails_that_the_provider_does_not_know_or_others_do_not_have_are_named() {
    if !is_there() {
        return;
    }
    let mut world = World::new();
    start_on(&mut world, "wait", &["a", "b"], "shm", "lo,lo");
    let said = fail("no interfaces", world);
    let words = "rank 0: libfabric's provider shm has nothing at 127.0.0.1; it has shm";
    assert!(said[0].contains(words), "{}", said[0]);
    let mut world = World::new();
    start_on(&mut world, "wait", &["a", "b"], "shm", "shm,shm");
    for said in fail("several rails of memory", world) {
        assert!(said.contains("the provider shm has none"), "{said}");
    }
    let mut world = World::new();
    for (rank, rails) in (0..).zip(["lo,lo", "lo"]) {
        let changes = [(NETWORK, "ofi"), (OFI_PROVIDER, "tcp"), (RAILS, rails)];
        world.start("wait", ["a", "b"][rank as usize], (rank, 2), &changes);
    }
    for said in fail("rails", world) {
        let words = "rank 1 on host b has 1 rails, and rank 0 on host a has 2";
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_rank_that_is_killed_is_named_on_two_rails() {
    if !is_there() {
        return;
    }
    let mut world = World::new();
    start_on(&mut world, "die 2", &["a", "b", "b", "c"], "tcp", "lo,lo");
    for (rank, end) in world.end().iter().enumerate() {
        let expected = if rank == 2 { 128 + libc::SIGKILL } else { 3 };
        assert_eq!(end.code, expected, "rank {rank}: {}", end.said);
    }
}

/// Not by memory: that provider stands still when long messages of one communicator wait for ranks that wait in another.
#[test]
fn communicators_of_several_hosts_go_through_the_same_endpoints() {
    if !is_there() {
        return;
    }
    for hosts in [&["a", "b"][..], &["a", "a", "b", "b", "c"]] {
        let mut world = World::new();
        start(&mut world, "splits", hosts, "tcp");
        world.end_well(&format!("{hosts:?}"));
    }
}

#[test]
fn a_rank_that_is_killed_is_named_by_all() {
    if !is_there() {
        return;
    }
    for provider in PROVIDERS {
        let mut world = World::new();
        let hosts = ["a", "b", "b", "c"];
        start(&mut world, "die 2", &hosts, provider);
        for (rank, end) in world.end().iter().enumerate() {
            let expected = if rank == 2 { 128 + libc::SIGKILL } else { 3 };
            assert_eq!(end.code, expected, "{provider}, rank {rank}: {}", end.said);
        }
    }
}

#[test]
fn ranks_whose_networks_do_not_fit_are_named() {
    if !is_there() {
        return;
    }
    let said = |providers: [&str; 2]| {
        let mut world = World::new();
        for (rank, provider) in (0..).zip(providers) {
            let network = if provider.is_empty() { "tcp" } else { "ofi" };
            let changes = [(NETWORK, network), (OFI_PROVIDER, provider)];
            world.start("wait", ["a", "b"][rank as usize], (rank, 2), &changes);
        }
        fail("networks", world)
    };
    for said in said(["tcp", "shm"]) {
        let words = "; right would be the same provider on all hosts";
        assert!(
            said.contains("has the provider shm") && said.contains(words),
            "{said}"
        );
    }
    for said in said(["tcp", ""]) {
        let one = "rank 0 on host a uses libfabric, and rank 1 on host b does not";
        let words = ["rank 1 has no endpoint of libfabric's", one];
        assert!(words.iter().any(|words| said.contains(words)), "{said}");
    }
    let [said, _] = &said(["nosuch", "nosuch"])[..] else {
        panic!("there are two");
    };
    assert!(
        said.contains("rank 0: libfabric has no provider 'nosuch'"),
        "{said}"
    );
}
