//! Interfaces: by which addresses of its own a rank can be reached.

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// An address of this host, the name of its interface, and how many bits of it all addresses of its network have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interface {
    name: String,
    pub(super) ip: IpAddr,
    bits: u32,
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
        if let Some(ip) = unsafe { ip(entry.ifa_addr) }.filter(|_| is_up) {
            // SAFETY: the name of an entry is a string that lives as long as the list.
            let name = unsafe { CStr::from_ptr(entry.ifa_name) };
            let name = name.to_string_lossy().into_owned();
            // SAFETY: the mask of an interface, if it has one, is of the family that it says.
            let mask = unsafe { ip_of_any(entry.ifa_netmask) };
            let bits = mask.map_or(128, |mask| match mask {
                IpAddr::V4(mask) => mask.to_bits().leading_ones(),
                IpAddr::V6(mask) => mask.to_bits().leading_ones(),
            });
            found.push(Interface { name, ip, bits });
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
unsafe fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
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
        let is_there = |ip: &IpAddr| !is_own(ip) && is_in(*ip, interface.ip, interface.bits);
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

/// The own address on each rail: an interface by name, an address, or a network as in `10.0.0.0/24`.
///
/// # Errors
/// The rail that this host does not have, and what it has.
pub(super) fn rails(rails: &[String], all: &[Interface]) -> Result<Vec<IpAddr>, String> {
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
        let found = all.iter().filter(is_it).map(|interface| interface.ip);
        found.min_by_key(IpAddr::is_ipv6).ok_or_else(|| {
            let has = all.iter().map(|i| format!("{} ({})", i.name, i.ip));
            let has = has.collect::<Vec<String>>().join(", ");
            format!("this host has no rail {rail}; it has {has}")
        })
    };
    rails.iter().map(find).collect()
}

/// What people call the interfaces of these addresses; the addresses, where that is not known.
pub(super) fn names(rails: &[IpAddr], all: &[Interface]) -> Vec<String> {
    let name = |ip: &IpAddr| {
        let interface = all.iter().find(|interface| interface.ip == *ip);
        interface.map_or_else(|| ip.to_string(), |interface| interface.name.clone())
    };
    rails.iter().map(name).collect()
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
            bits: 16,
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
        ];
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

    #[test]
    fn rails_are_names_addresses_or_networks() {
        let all = [
            of("lo", "127.0.0.1"),
            of("eth0", "fd00::7"),
            of("eth0", "10.0.3.7"),
            of("eth1", "10.1.3.7"),
        ];
        let ips = |list: &[&str]| {
            let list: Vec<String> = list.iter().map(|rail| (*rail).into()).collect();
            rails(&list, &all).map(|ips| ips.iter().map(IpAddr::to_string).collect::<Vec<_>>())
        };
        assert_eq!(ips(&["eth1", "eth0"]).unwrap(), ["10.1.3.7", "10.0.3.7"]);
        assert_eq!(
            ips(&["10.1.0.0/16", "fd00::7"]).unwrap(),
            ["10.1.3.7", "fd00::7"]
        );
        let says = "this host has no rail 10.2.0.0/16; it has lo (127.0.0.1), eth0 (fd00::7)";
        assert!(ips(&["10.2.0.0/16"]).unwrap_err().starts_with(says));
        assert_eq!(outward(&all).unwrap().to_string(), "10.0.3.7");
    }

    #[test]
    fn this_host_has_a_loopback() {
        let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
        if all().iter().any(|interface| interface.ip == loopback) {
            assert_eq!(towards(SocketAddr::from((loopback, 9))), Some(loopback));
        }
    }
}
