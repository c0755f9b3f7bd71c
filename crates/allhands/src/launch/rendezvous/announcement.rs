//! The announcement: what rank 0 has a process manager tell ranks on several hosts, so that they meet.
//!
//! A manager carries short texts and knows no addresses. So every rank says where it is, and rank 0 says where it listens, with a
//! secret that it has drawn; the rest is a rendezvous like any other.

use super::interfaces::{self, Interface};
use super::{Settings, driver, identity, prepared};
use crate::launch::{Environment, HOST, LaunchError, SECRET};
use crate::transport::net::tcp::Listener;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

/// The most addresses that a rank tells; managers know values of 255 bytes.
const MOST_ADDRESSES: usize = 4;

/// What stands for the secret where all ranks have it from their environment.
const OWN_SECRET: &str = "own";

/// Where a rank is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::launch) struct Location {
    /// Ranks that say the same can share memory.
    pub(in crate::launch) node: String,
    machine: u64,
    addresses: Vec<IpAddr>,
}

impl Location {
    /// Where this process is.
    pub(in crate::launch) fn own(environment: Environment<'_>) -> Result<Location, LaunchError> {
        let pretended = environment(HOST).filter(|host| !host.is_empty());
        let identity = identity::own(pretended.as_deref(), None, environment)?;
        let [one, other] = [b'a', b'b'].map(|first| hash(first, identity.node.as_bytes()));
        let addresses = interfaces::all().into_iter().map(|interface| interface.ip);
        let addresses = addresses.filter(|ip| !ip.is_loopback());
        Ok(Location {
            node: format!("{one:016x}{other:016x}"),
            machine: identity.machine,
            addresses: addresses.take(MOST_ADDRESSES).collect(),
        })
    }

    /// In one word.
    pub(in crate::launch) fn encode(&self) -> String {
        let addresses = self.addresses.iter().map(IpAddr::to_string);
        let addresses = addresses.collect::<Vec<String>>().join(",");
        format!("{}/{:016x}/{addresses}", self.node, self.machine)
    }

    pub(in crate::launch) fn decode(word: &str) -> Option<Location> {
        let mut parts = word.split('/');
        let (node, machine, addresses) = (parts.next()?, parts.next()?, parts.next()?);
        let addresses = addresses.split(',').filter(|ip| !ip.is_empty());
        Some(Location {
            node: node.into(),
            machine: u64::from_str_radix(machine, 16).ok()?,
            addresses: addresses.map(|ip| ip.parse().ok()).collect::<Option<_>>()?,
        })
    }
}

/// The 64-bit hash of Fowler, Noll and Vo.
fn hash(first: u8, bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    [first].iter().chain(bytes).fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Where rank 0 listens, and the secret.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::launch) struct Announcement {
    address: SocketAddr,
    secret: String,
}

impl Announcement {
    /// Rank 0's, for ranks that are there.
    pub(in crate::launch) fn issue(
        all: &[Location],
        environment: Environment<'_>,
    ) -> Result<(Announcement, TcpListener), LaunchError> {
        let rails = Settings::rails(environment);
        let own = interfaces::all();
        let ip = match &rails[..] {
            [] => own_address_for(all, &own),
            rails => interfaces::named(rails, &own).map_err(no_rail)?[0].ip,
        };
        let wrong = |error| LaunchError::system("cannot listen for other ranks", error);
        let listener = Listener::bind_one(ip, Settings::ports(environment)?).map_err(wrong)?;
        let listener = prepared(listener)?;
        let address = listener.local_addr().map_err(wrong)?;
        let secret = match environment(SECRET) {
            Some(_) => OWN_SECRET.into(),
            None => {
                let bytes = [driver::nonce()?, driver::nonce()?].concat();
                bytes.iter().map(|byte| format!("{byte:02x}")).collect()
            }
        };
        Ok((Announcement { address, secret }, listener))
    }

    /// In one word.
    pub(in crate::launch) fn encode(&self) -> String {
        format!("{}/{}", self.address, self.secret)
    }

    pub(in crate::launch) fn decode(word: &str) -> Option<Announcement> {
        let (address, secret) = word.split_once('/')?;
        let (address, secret) = (address.parse().ok()?, secret.to_string());
        Some(Announcement { address, secret })
    }

    /// What follows from it, and from the environment, for one of the ranks.
    pub(in crate::launch) fn settings(
        &self,
        rank_and_ranks: (u32, u32),
        environment: Environment<'_>,
    ) -> Result<Settings, LaunchError> {
        let secret = match self.secret.as_str() {
            OWN_SECRET => environment(SECRET).unwrap_or_default(),
            drawn => drawn.to_string(),
        };
        let place = (self.address.ip().to_string(), self.address.port());
        Settings::of(rank_and_ranks, place, &secret, environment)
    }
}

fn no_rail(says: String) -> LaunchError {
    let says = format!(
        "rank 0 has {says}; right would be its interfaces, addresses or networks in ALLHANDS_RAILS"
    );
    LaunchError::WireUp { says }
}

/// The own address by which others are likely to reach rank 0.
fn own_address_for(all: &[Location], own: &[Interface]) -> IpAddr {
    let elsewhere = || all.iter().filter(|other| other.node != all[0].node);
    let addresses: Vec<&[IpAddr]> = elsewhere().map(|other| &other.addresses[..]).collect();
    let towards = || {
        let mut apart = elsewhere().filter(|other| other.machine != all[0].machine);
        let ip = *apart.next()?.addresses.first()?;
        interfaces::towards(SocketAddr::new(ip, 9))
    };
    let found = interfaces::shared(own, &addresses).or_else(towards);
    let found = found.or_else(|| interfaces::outward(own));
    found.unwrap_or(Ipv4Addr::LOCALHOST.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::PORTS;

    fn whereabouts(node: &str, addresses: &[&str]) -> Location {
        Location {
            node: node.into(),
            machine: u64::MAX - 1,
            addresses: addresses.iter().map(|ip| ip.parse().unwrap()).collect(),
        }
    }

    #[test]
    fn whereabouts_are_one_short_word() {
        for addresses in [&["10.0.0.1", "fd00::7"][..], &[]] {
            let there = whereabouts("n", addresses);
            assert_eq!(Location::decode(&there.encode()), Some(there));
        }
        let own = Location::own(&|_| None).unwrap();
        let word = own.encode();
        assert!(word.len() < 255 && !word.contains(char::is_whitespace));
        assert_eq!(Location::decode(&word).as_ref(), Some(&own));
        let pretended = |name: &str| (name == HOST).then(|| "far".to_string());
        let pretended = Location::own(&pretended).unwrap();
        assert_ne!(pretended.node, own.node);
        assert_eq!(pretended.machine, own.machine);
        for word in ["", "a", "a/b", "a/1/x", "a/g/"] {
            assert_eq!(Location::decode(word), None, "{word}");
        }
    }

    #[test]
    fn an_announcement_leads_to_where_rank_0_listens() {
        let all = [whereabouts("n", &[]), whereabouts("m", &[])];
        let ports = |name: &str| (name == PORTS).then(|| "21000-21999".to_string());
        let (announcement, listener) = Announcement::issue(&all, &ports).unwrap();
        let word = announcement.encode();
        assert!(word.len() < 255 && !word.contains(char::is_whitespace));
        let read = Announcement::decode(&word).unwrap();
        assert!(read == announcement);
        let settings = read.settings((1, 2), &ports).unwrap();
        let address = listener.local_addr().unwrap();
        assert!((21000..22000).contains(&address.port()));
        assert_eq!(settings.place(), address.to_string());
        assert!(Announcement::decode("10.0.0.1/x").is_none());
        // A secret of the environment is not told, and must be there for all.
        let own = |name: &str| (name == SECRET).then(|| "sixteen bytes ok".to_string());
        let (announcement, _listener) = Announcement::issue(&all, &own).unwrap();
        assert!(!announcement.encode().contains("sixteen"));
        assert!(announcement.settings((1, 2), &own).is_ok());
        let error = announcement.settings((1, 2), &|_| None).err();
        assert_eq!(error, Some(LaunchError::Secret { bytes: 0 }));
    }
}
