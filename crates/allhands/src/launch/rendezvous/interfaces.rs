//! Interfaces: by which addresses of its own a rank can be reached.

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// An address of this host, and its interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) ip: IpAddr,
    /// How many bits all addresses of its network have in common.
    pub(super) prefix: u8,
    /// Whether it leads to other hosts, as far as it says so itself: no loopback, no tunnel, and something is at its other end.
    pub(super) is_outward: bool,
}

/// The addresses of all interfaces that are up.
pub(super) fn all() -> Vec<Interface> {
    let mut first = std::ptr::null_mut();
    // SAFETY: writes the address of a list, or fails.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: an entry of the list, which lives until it is freed below, or null at its end.
    while let Some(entry) = unsafe { next.as_ref() } {
        let is_up = entry.ifa_flags & libc::IFF_UP as libc::c_uint != 0;
        // SAFETY: the address of an interface, if it has one, is of the family that it says.
        let ip = unsafe { address(entry.ifa_addr) };
        if let Some(ip) = ip.filter(|_| is_up) {
            // SAFETY: the name of an entry is a string that lives as long as the list.
            let name = unsafe { CStr::from_ptr(entry.ifa_name) };
            let name = name.to_string_lossy().into_owned();
            let is = |flag: libc::c_int| entry.ifa_flags & flag as libc::c_uint != 0;
            // SAFETY: of the family of the address, or null.
            let mask = unsafe { ip_of_any(entry.ifa_netmask) };
            let is_tunnel = is(libc::IFF_POINTOPOINT);
            found.push(Interface {
                name,
                ip,
                prefix: mask.map_or(0, ones),
                is_outward: is(libc::IFF_RUNNING) && !is(libc::IFF_LOOPBACK) && !is_tunnel,
            });
        }
        next = entry.ifa_next;
    }
    // SAFETY: the list that getifaddrs made, of which nothing is kept.
    unsafe { libc::freeifaddrs(first) };
    found
}

/// An address that means something on another host.
///
/// # Safety
/// Null, or an address of the family that it says.
unsafe fn address(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: promised by the caller.
    let ip = unsafe { ip_of_any(address) };
    ip.filter(|ip| !matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local()))
}

/// # Safety
/// Null, or an address of the family that it says.
unsafe fn ip_of_any(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: promised by the caller.
    match i32::from(unsafe { address.as_ref() }?.sa_family) {
        libc::AF_INET => {
            // SAFETY: an address of this family has this layout.
            let address = unsafe { &*address.cast::<libc::sockaddr_in>() };
            let octets = address.sin_addr.s_addr.to_ne_bytes();
            Some(Ipv4Addr::from(octets).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let address = unsafe { &*address.cast::<libc::sockaddr_in6>() };
            Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// How many bits of a mask are set.
fn ones(mask: IpAddr) -> u8 {
    let ones = match mask {
        IpAddr::V4(mask) => mask.to_bits().count_ones(),
        IpAddr::V6(mask) => mask.to_bits().count_ones(),
    };
    ones as u8
}

/// The own address on the way to another; nothing is sent.
pub(super) fn towards(to: SocketAddr) -> Option<IpAddr> {
    let any: IpAddr = match to {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// An address by which other hosts may reach this one.
pub(super) fn outward(all: &[Interface]) -> Option<IpAddr> {
    let outward = all.iter().map(|interface| interface.ip);
    let outward = outward.filter(|ip| !ip.is_loopback());
    outward.min_by_key(IpAddr::is_ipv6)
}

/// The own address in whose network most of these other hosts have one; none, if no other has one in any.
pub(super) fn shared(own: &[Interface], others: &[&[IpAddr]]) -> Option<IpAddr> {
    // Many a host has networks within itself, with the same addresses as on others.
    let is_own = |ip: &IpAddr| own.iter().any(|interface| interface.ip == *ip);
    let count = |interface: &Interface| {
        let is_there =
            |ip: &IpAddr| !is_own(ip) && is_in(*ip, interface.ip, u32::from(interface.prefix));
        let there = others.iter().filter(|ips| ips.iter().any(is_there));
        there.count()
    };
    let outward = own.iter().filter(|interface| !interface.ip.is_loopback());
    let counted = outward.map(|interface| (count(interface), interface.ip));
    let found = counted.filter(|(count, _)| *count > 0);
    // The first of equals.
    let found = found.min_by_key(|(count, ip)| (usize::MAX - count, ip.is_ipv6()));
    found.map(|(_, ip)| ip)
}

/// The own interface on each rail: one by name, an address, or a network as in `10.0.0.0/24`.
///
/// # Errors
/// The rail that this host does not have, and what it has.
pub(super) fn named(rails: &[String], all: &[Interface]) -> Result<Vec<Interface>, String> {
    let find = |rail: &String| {
        let is_it = |interface: &&Interface| {
            let network = rail.split_once('/');
            let network =
                network.and_then(|(ip, bits)| Some((ip.parse().ok()?, bits.parse().ok()?)));
            match network {
                Some((ip, bits)) => is_in(interface.ip, ip, bits),
                None => interface.name == *rail || rail.parse() == Ok(interface.ip),
            }
        };
        let found = all.iter().filter(is_it);
        let found = found.min_by_key(|interface| interface.ip.is_ipv6());
        found.cloned().ok_or_else(|| {
            let has = all.iter().map(|i| format!("{} ({})", i.name, i.ip));
            let has = has.collect::<Vec<String>>().join(", ");
            format!("no rail {rail}; it has {has}")
        })
    };
    rails.iter().map(find).collect()
}

/// What a rank offers that leads to rank 0 by its address `own`: that first, and then what else leads to other hosts, unless
/// the first is a tunnel or stays inside this host.
pub(super) fn offered(own: IpAddr, all: &[Interface]) -> Vec<Interface> {
    let first = all.iter().find(|interface| interface.ip == own);
    let first = first.cloned().unwrap_or_else(|| Interface {
        name: own.to_string(),
        ip: own,
        prefix: 0,
        is_outward: own.is_unspecified(),
    });
    let is_alone = !first.is_outward;
    let mut offered = vec![first];
    let is_of_link = |ip: IpAddr| matches!(ip, IpAddr::V4(ip) if ip.is_link_local());
    let others = all.iter().filter(|interface| interface.ip != own);
    let others = others.filter(|it| !is_alone && it.is_outward && !is_of_link(it.ip));
    offered.extend(others.cloned());
    offered
}

/// Whether an interface is at another part of the machine than all of these cpus, a bit each, as far as the system says.
pub(super) fn is_far(name: &str, cpus: &[u64]) -> bool {
    let said = std::fs::read_to_string(format!("/sys/class/net/{name}/device/numa_node"));
    let node: Option<u32> = said.ok().and_then(|text| text.trim().parse().ok());
    node.is_some_and(|node| {
        let has = |cpu: usize| cpus[cpu / 64] >> (cpu % 64) & 1 == 1;
        let own = (0..64 * cpus.len()).filter(|cpu| has(*cpu));
        let place = |cpu| format!("/sys/devices/system/node/node{node}/cpu{cpu}");
        !own.map(place)
            .any(|place| std::fs::exists(place).unwrap_or(false))
    })
}

/// Whether an address is in the network of another.
fn is_in(ip: IpAddr, network: IpAddr, bits: u32) -> bool {
    let (a, b, all) = match (ip, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits()), u128::from(b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
        _ => return false,
    };
    bits <= all && (a ^ b).checked_shr(all - bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, ip: &str) -> Interface {
        Interface {
            name: name.into(),
            ip: ip.parse().unwrap(),
            prefix: 24,
            is_outward: name.starts_with("eth"),
        }
    }

    #[test]
    fn the_network_that_most_others_are_in_is_found() {
        let own = [
            of("lo", "127.0.0.1"),
            of("docker0", "172.17.0.1"),
            of("eth0", "fd00::7"),
            of("eth1", "10.1.3.7"),
            of("eth2", "10.2.3.7"),
        ]
        .map(|own| Interface { prefix: 16, ..own });
        let shared = |others: &[&[&str]]| {
            let parse = |list: &&[&str]| -> Vec<IpAddr> {
                list.iter().map(|ip| ip.parse().unwrap()).collect()
            };
            let others: Vec<Vec<IpAddr>> = others.iter().map(parse).collect();
            let others: Vec<&[IpAddr]> = others.iter().map(|list| &list[..]).collect();
            shared(&own, &others).map(|ip| ip.to_string())
        };
        let far = &["172.17.0.1", "10.2.9.9"][..];
        assert_eq!(shared(&[far]).as_deref(), Some("10.2.3.7"));
        let near = &["10.1.0.1", "10.2.0.1", "fd00::8"][..];
        assert_eq!(shared(&[near]).as_deref(), Some("10.1.3.7"));
        assert_eq!(shared(&[near, far]).as_deref(), Some("10.2.3.7"));
        assert_eq!(shared(&[&["fd00::9"]]).as_deref(), Some("fd00::7"));
        assert_eq!(shared(&[&["172.17.0.1", "127.0.0.1", "192.168.0.1"]]), None);
        assert_eq!(shared(&[]), None);
    }

    fn some() -> [Interface; 6] {
        [
            of("lo", "127.0.0.1"),
            of("eth0", "fd00::7"),
            of("eth0", "10.0.3.7"),
            of("eth1", "10.1.3.7"),
            of("eth2", "169.254.3.7"),
            of("wg0", "10.9.3.7"),
        ]
    }

    #[test]
    fn what_leads_to_other_hosts_is_offered() {
        let names = |own: &str| -> Vec<String> {
            let offered = offered(own.parse().unwrap(), &some());
            offered
                .iter()
                .map(|it| format!("{} {}", it.name, it.ip))
                .collect()
        };
        let (zero, one) = ("eth0 10.0.3.7", "eth1 10.1.3.7");
        assert_eq!(names("10.1.3.7"), [one, "eth0 fd00::7", zero]);
        assert_eq!(
            names("0.0.0.0"),
            ["0.0.0.0 0.0.0.0", "eth0 fd00::7", zero, one]
        );
        // Neither a loopback nor a tunnel has anything beside it, nor has an address that is not known here.
        for own in ["lo 127.0.0.1", "wg0 10.9.3.7", "192.0.2.1 192.0.2.1"] {
            let (_, ip) = own.split_once(' ').unwrap();
            assert_eq!(names(ip), [own]);
        }
    }

    #[test]
    fn rails_are_names_addresses_or_networks() {
        let all = some();
        let ips = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(|rail| (*rail).into()).collect();
            let ip = |interface: &Interface| interface.ip.to_string();
            named(&list, &all).map(|found| found.iter().map(ip).collect::<Vec<_>>())
        };
        assert_eq!(ips(&["eth1", "eth0"]).unwrap(), ["10.1.3.7", "10.0.3.7"]);
        assert_eq!(
            ips(&["10.1.0.0/16", "fd00::7"]).unwrap(),
            ["10.1.3.7", "fd00::7"]
        );
        let says = "no rail 10.2.0.0/16; it has lo (127.0.0.1), eth0 (fd00::7)";
        assert!(ips(&["10.2.0.0/16"]).unwrap_err().starts_with(says));
        assert_eq!(outward(&all).unwrap().to_string(), "10.0.3.7");
    }

    #[test]
    fn this_host_has_a_loopback() {
        let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
        if let Some(own) = all().iter().find(|interface| interface.ip == loopback) {
            assert_eq!((own.prefix, own.is_outward), (8, false));
            assert!(!is_far(&own.name, &[1]));
            assert_eq!(towards(SocketAddr::from((loopback, 9))), Some(loopback));
        }
    }
}
