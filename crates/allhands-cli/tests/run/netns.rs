//! Hosts with networks of their own: namespaces of the kernel, joined by bridges.
//!
//! Where the kernel, or the user, does not allow that, the tests say so and do nothing.

use crate::hosts::ranks_of_rust;
use allhands::net::ofi::{Endpoint, OfiError, Wishes};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

/// Hosts a, b, … with the addresses 10.79.NET.1, 2, … on rail 0, 10.80.NET.1, … on rail 1 and so on.
pub struct Hosts {
    name: String,
    pub net: u8,
    count: u8,
    rails: u8,
}

pub fn ip(words: &str) -> Result<(), String> {
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
    /// So many hosts on so many rails; none, if that cannot be, which is said.
    pub fn new(count: u8, rails: u8) -> Option<Hosts> {
        static NEXT: AtomicU8 = AtomicU8::new(0);
        let net = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ah{}n{net}", std::process::id());
        let hosts = Hosts {
            name,
            net,
            count,
            rails,
        };
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
    pub fn space(&self, host: char) -> String {
        format!("{}-{host}", self.name)
    }

    /// The address of a host on a rail.
    pub fn address(&self, host: char, rail: u8) -> String {
        let number = host as u8 - b'a' + 1;
        format!("10.{}.{}.{number}", 79 + rail, self.net)
    }

    fn make(&self) -> Result<(), String> {
        let switch = self.space('s');
        ip(&format!("netns add {switch}"))?;
        for rail in 0..self.rails {
            ip(&format!("-n {switch} link add br{rail} type bridge"))?;
            ip(&format!("-n {switch} link set br{rail} up"))?;
        }
        for letter in (0..self.count).map(Hosts::letter) {
            let space = self.space(letter);
            ip(&format!("netns add {space}"))?;
            ip(&format!("-n {space} link set lo up"))?;
            for rail in 0..self.rails {
                let port = format!("p{letter}{rail}");
                ip(&format!(
                    "-n {switch} link add {port} type veth peer name eth{rail} netns {space}"
                ))?;
                ip(&format!("-n {switch} link set {port} master br{rail} up"))?;
                let address = self.address(letter, rail);
                ip(&format!("-n {space} addr add {address}/24 dev eth{rail}"))?;
                ip(&format!("-n {space} link set eth{rail} up"))?;
            }
        }
        Ok(())
    }

    /// Gives both ways between a host and a rail's switch a rate, and queues that hold as much as that carries in a time.
    pub fn slow_down(&self, host: char, rail: u8, rate: &str, queue: &str) -> Result<(), String> {
        let port = (self.space('s'), format!("p{host}{rail}"));
        let device = (self.space(host), format!("eth{rail}"));
        for (space, device) in [port, device] {
            let words = format!(
                "netns exec {space} tc qdisc add dev {device} root tbf rate {rate} burst 4000 latency {queue}"
            );
            ip(&words)?;
        }
        Ok(())
    }

    /// What starts on them: `ip` instead of ssh, and rank 0 on the first.
    pub fn arguments(&self, hosts: &str) -> Vec<String> {
        let launcher = format!("ip netns exec {}-{{host}}", self.name);
        let first = self.address('a', 0);
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

    pub fn run(&self, part: &str, hosts: &str, more: &[&str]) -> (Option<i32>, String, String) {
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

/// Libfabric's TCP, whatever else there is.
pub const OVER_LIBFABRIC: [&str; 4] = ["--network", "ofi", "--env", "ALLHANDS_OFI_PROVIDER=tcp"];

/// Whether libfabric is there; where nothing may be skipped it is an error if it is not.
pub fn has_libfabric() -> bool {
    match Endpoint::open(&Wishes::default()) {
        Err(error @ OfiError::Missing { .. }) => {
            assert!(std::env::var("CI").is_err(), "{error}");
            eprintln!("SKIPPED: {error}");
            false
        }
        _ => true,
    }
}
