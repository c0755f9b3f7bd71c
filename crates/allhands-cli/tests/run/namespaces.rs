//! `allhands run --hosts` on hosts with networks of their own.

use crate::netns::{Hosts, OVER_LIBFABRIC, has_libfabric, ip};

#[test]
fn hosts_with_networks_of_their_own_are_one_world() {
    let Some(hosts) = Hosts::new(3, 1) else {
        return;
    };
    for (list, ranks, nodes) in [("a,b", 2_u64, "1,1"), ("a:2,b:2,c", 5, "2,2,1")] {
        let (code, out, said) = hosts.run("live", list, &[]);
        assert_eq!(code, Some(0), "{list}: {said}{out}");
        let line = format!("total {} on {nodes}", ranks * (ranks + 1) / 2);
        assert_eq!(out.matches(&line).count() as u64, ranks, "{list}: {out}");
    }
    let (code, _, said) = hosts.run("die", "a:2,b:2,c", &[]);
    assert_eq!(code, Some(137), "{said}");
    let rails = [
        "--env",
        "ALLHANDS_RAILS=eth0",
        "--env",
        "ALLHANDS_PORTS=22000-22099",
    ];
    let (code, out, said) = hosts.run("live", "a,b:2", &rails);
    assert_eq!(code, Some(0), "{said}{out}");
    if has_libfabric() {
        let (code, out, said) = hosts.run("live", "a:2,b:2,c", &OVER_LIBFABRIC);
        assert_eq!(code, Some(0), "{said}{out}");
    }
}

#[test]
fn a_named_rail_that_a_host_lacks_is_named_with_what_it_has() {
    let Some(hosts) = Hosts::new(2, 2) else {
        return;
    };
    let (code, out, said) = hosts.run("live", "a,b", &["--rails", "eth1,eth0"]);
    assert_eq!(code, Some(0), "{said}{out}");
    if let Err(why) = ip(&format!("-n {} link set eth1 down", hosts.space('b'))) {
        eprintln!("SKIPPED: no links here: {why}");
        return;
    }
    // Who is not named is not chosen, either.
    let (code, out, said) = hosts.run("live", "a,b", &[]);
    assert_eq!(code, Some(0), "{said}{out}");
    let (code, out, said) = hosts.run("live", "a,b", &["--rails", "eth0,eth1"]);
    assert_ne!(code, Some(0), "{out}");
    let has = hosts.address('b', 0);
    let says = format!("rank 1 on host b has no rail eth1; it has lo (127.0.0.1), eth0 ({has})");
    assert!(said.contains(&says), "{said}{out}");
}

#[test]
fn a_firewall_between_hosts_is_named() {
    let Some(hosts) = Hosts::new(3, 1) else {
        return;
    };
    // Host c knows no way to host b, and b none to c, but both to a.
    let block = |host: char, other: u8| {
        let net = hosts.net;
        ip(&format!(
            "-n {} route add prohibit 10.79.{net}.{other}/32",
            hosts.space(host)
        ))
    };
    if let Err(why) = block('b', 3).and_then(|()| block('c', 2)) {
        eprintln!("SKIPPED: no routes here: {why}");
        return;
    }
    // Rank 1 is to hand the table to rank 3.
    let (code, out, said) = hosts.run("live", "a,b,a,c", &[]);
    assert_ne!(code, Some(0), "{out}");
    let says = "rank 1 on host b cannot connect to rank 3 on host c at ";
    assert!(said.contains(says), "{said}{out}");
}
