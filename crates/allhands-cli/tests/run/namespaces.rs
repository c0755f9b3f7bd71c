//! `allhands run --hosts` on hosts with networks of their own: namespaces of the kernel, joined by a bridge.
//!
//! Where the kernel, or the user, does not allow that, the tests say so and do nothing.

use crate::hosts::ranks_of_rust;
use allhands::net::ofi::{Endpoint, OfiError, Wishes};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Hosts a, b, … with the addresses 10.79.NET.1, 2, …
struct Hosts {
    name: String,
    net: u8,
    count: u8,
}

fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip")
        .args(words.split(' '))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("ip: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "ip {words}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

impl Hosts {
    /// So many hosts; none, if that cannot be, which is said.
    fn new(count: u8) -> Option<Hosts> {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        let net = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ah{}n{net}", std::process::id());
        let hosts = Hosts { name, net, count };
        match hosts.make() {
            Ok(()) => Some(hosts),
            Err(why) => {
                eprintln!("SKIPPED: no namespaces here: {why}");
                None
            }
        }
    }

    fn letter(host: u8) -> char {
        char::from(b'a' + host)
    }

    /// The network namespace of a host, or of the switch.
    fn space(&self, host: char) -> String {
        format!("{}-{host}", self.name)
    }

    fn make(&self) -> Result<(), String> {
        let switch = self.space('s');
        ip(&format!("netns add {switch}"))?;
        ip(&format!("-n {switch} link add br0 type bridge"))?;
        ip(&format!("-n {switch} link set br0 up"))?;
        for host in 0..self.count {
            let (letter, net, number) = (Hosts::letter(host), self.net, host + 1);
            let space = self.space(letter);
            ip(&format!("netns add {space}"))?;
            ip(&format!("-n {space} link set lo up"))?;
            ip(&format!(
                "-n {switch} link add p{letter} type veth peer name eth0 netns {space}"
            ))?;
            ip(&format!("-n {switch} link set p{letter} master br0 up"))?;
            ip(&format!(
                "-n {space} addr add 10.79.{net}.{number}/24 dev eth0"
            ))?;
            ip(&format!("-n {space} link set eth0 up"))?;
        }
        Ok(())
    }

    /// What starts on them: `ip` instead of ssh, and rank 0 on the first.
    fn arguments(&self, hosts: &str) -> Vec<String> {
        let launcher = format!("ip netns exec {}-{{host}}", self.name);
        let first = format!("10.79.{}.1", self.net);
        let words = [
            "--hosts",
            hosts,
            "--launcher",
            &launcher,
            "--rendezvous",
            &first,
        ];
        words.map(String::from).to_vec()
    }

    fn run(&self, part: &str, hosts: &str, more: &[&str]) -> (Option<i32>, String, String) {
        let arguments = self.arguments(hosts);
        let arguments = arguments
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied());
        ranks_of_rust(part, &arguments.collect::<Vec<_>>())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in (0..self.count).map(Hosts::letter).chain(['s']) {
            let _ = ip(&format!("netns delete {}", self.space(host)));
        }
    }
}

#[test]
fn hosts_with_networks_of_their_own_are_one_world() {
    let Some(hosts) = Hosts::new(3) else { return };
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

/// Libfabric's TCP, whatever else there is.
const OVER_LIBFABRIC: [&str; 4] = ["--network", "ofi", "--env", "ALLHANDS_OFI_PROVIDER=tcp"];

/// Whether libfabric is there; where nothing may be skipped it is an error if it is not.
fn has_libfabric() -> bool {
    match Endpoint::open(&Wishes::default()) {
        Err(error @ OfiError::Missing { .. }) => {
            assert!(std::env::var("CI").is_err(), "{error}");
            eprintln!("SKIPPED: {error}");
            false
        }
        _ => true,
    }
}

#[test]
fn a_host_that_is_cut_off_is_named_on_the_others_soon() {
    is_cut_off(&[]);
    if has_libfabric() {
        is_cut_off(&OVER_LIBFABRIC);
    }
}

fn is_cut_off(arguments: &[&str]) {
    let Some(hosts) = Hosts::new(2) else { return };
    let cut = format!("ip -n {} link set pb down", hosts.space('s'));
    let variable = format!("ALLHANDS_TEST_CUT={cut}");
    let before = Instant::now();
    let arguments = [arguments, &["--env", &variable]].concat();
    let (code, out, said) = hosts.run("cut", "a,b", &arguments);
    assert_eq!(code, Some(0), "{said}{out}");
    for (rank, other) in [(0, 1), (1, 0)] {
        let found = out
            .lines()
            .find(|line| line.starts_with(&format!("rank {rank} heard")));
        let found = found.unwrap_or_else(|| panic!("rank {rank} says nothing: {out}{said}"));
        assert!(found.contains(&format!("rank {other} ")), "{found}");
    }
    assert!(before.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_firewall_between_hosts_is_named() {
    let Some(hosts) = Hosts::new(3) else { return };
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
