//! Endpoints of libfabric among threads, and the worlds that they are tried in.

pub use crate::on_nodes::{in_every_order, on_all, places, worlds_of_several_nodes as worlds};
use allhands::net::ofi::{OfiError, OfiLoopback, Wishes};
use allhands::net::tcp::{Loopback, Settings};
use allhands::net::{Network, NetworkError, Networks};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Once;

/// Libfabric, or TCP where it cannot be had.
pub enum Tried {
    Ofi(OfiLoopback),
    Instead(Loopback),
}

impl Tried {
    pub fn with_tags(self, tags: u32) -> Tried {
        match self {
            Tried::Ofi(loopback) => Tried::Ofi(loopback.with_tags(tags)),
            Tried::Instead(loopback) => Tried::Instead(loopback.with_tags(tags)),
        }
    }
}

impl Networks for Tried {
    fn network(&self, rank: u32) -> Result<Box<dyn Network>, NetworkError> {
        match self {
            Tried::Ofi(loopback) => loopback.network(rank),
            Tried::Instead(loopback) => loopback.network(rank),
        }
    }
}

/// A provider at this machine's loopback.
pub fn wishes(provider: &str) -> Wishes {
    Wishes {
        provider: Some(provider.into()),
        interface: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        domain: None,
    }
}

/// The endpoints of so many ranks, one for each rail; nothing where libfabric is not installed, which is an error where nothing may be
/// skipped.
pub fn loopback(ranks: usize, rails: u8, provider: &str) -> Option<OfiLoopback> {
    static SAID: Once = Once::new();
    match OfiLoopback::new(ranks as u32, rails, &wishes(provider)) {
        Ok(loopback) => Some(loopback),
        Err(error @ OfiError::Missing { .. }) => {
            assert!(std::env::var("CI").is_err(), "{error}");
            SAID.call_once(|| eprintln!("skipped, with TCP tried instead: {error}"));
            None
        }
        Err(error) => panic!("{provider}: {error}"),
    }
}

/// Whether ranks can put into windows of other nodes.
pub const HAS_WINDOWS: bool = true;

/// Whether a network can be asked for disorder: a provider brings its own.
pub const IS_DISORDERLY: bool = false;

/// Over TCP all of them are tried, by the same code above the network.
pub fn few_are_enough() -> bool {
    true
}

/// Whether a message that is longer than its receive breaks the connection between two ranks: that is what the provider `tcp` of
/// libfabric 1.17 does.
pub const BREAKS_AT_LONG_MESSAGES: bool = true;

/// As a test has no opinion about it: an odd number of ranks has two rails.
pub fn network(node_of: &[u32]) -> Tried {
    let rails = 1 + (node_of.len() % 2) as u8;
    match loopback(node_of.len(), rails, "tcp") {
        Some(loopback) => Tried::Ofi(loopback),
        None => {
            let loopback = Loopback::new(node_of.len() as u32, 1, Settings::default());
            Tried::Instead(loopback.expect("the loopback is there"))
        }
    }
}

/// As any other: see [`IS_DISORDERLY`].
pub fn disorder(ranks: usize, _: u64) -> Tried {
    network(&vec![0; ranks])
}
