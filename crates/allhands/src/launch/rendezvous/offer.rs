//! The offer: by which interfaces a rank can be reached, as it was named or as its host has them.

use super::card::{Card, MOST_LACKS, MOST_RAILS, Rail};
use super::interfaces::{self, Interface};
use super::settings::{Medium, Settings};
use crate::transport::net::tcp::Listener;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;

/// What a rank offers.
pub(super) struct Offer {
    interfaces: Vec<Interface>,
    /// Whether they were named.
    pub(super) is_named: bool,
    /// What was named that this host does not have, and what it has.
    lacks: Option<String>,
}

impl Offer {
    /// What the rank offers that leads to rank 0 by the address `own`.
    pub(super) fn new(settings: &Settings, own: IpAddr) -> Offer {
        let all = interfaces::all();
        let mut offered = interfaces::offered(own, &all);
        let mut lacks = None;
        match (&settings.rails[..], &settings.medium) {
            ([], Medium::Tcp) => {
                let mut place = 0;
                offered.retain(|interface| {
                    place += 1;
                    place == 1 || TcpListener::bind((interface.ip, 0)).is_ok()
                });
                offered.truncate(MOST_RAILS);
            }
            // Messages go another way.
            ([], Medium::Ofi(_)) => offered.truncate(1),
            (names, _) => match interfaces::named(names, &all) {
                Ok(named) => offered = named,
                Err(says) => {
                    offered.truncate(1);
                    lacks = Some(says);
                }
            },
        }
        Offer {
            interfaces: offered,
            is_named: !settings.rails.is_empty(),
            lacks,
        }
    }

    pub(super) fn ips(&self) -> Vec<IpAddr> {
        self.interfaces
            .iter()
            .map(|interface| interface.ip)
            .collect()
    }

    /// Listens at all of them.
    pub(super) fn listen(&self, ports: Option<RangeInclusive<u16>>) -> io::Result<Listener> {
        Listener::bind_within(&self.ips(), ports)
    }

    /// What is wrong with what was named, as all ranks say it of the rank with this card; nothing if all is well.
    pub(super) fn lacks(&self, card: &Card) -> String {
        let Some(lacks) = &self.lacks else {
            return String::new();
        };
        let right = "right would be interfaces, addresses or networks of every host in ALLHANDS_RAILS or --rails";
        let says = format!("{} has {lacks}", card.name());
        let most = MOST_LACKS - right.len() - 2;
        let end = (0..=most.min(says.len()))
            .rev()
            .find(|end| says.is_char_boundary(*end));
        format!("{}; {right}", &says[..end.unwrap_or(0)])
    }

    /// These with where the rank listens and which cpus it may use, for its card.
    pub(super) fn rails(&self, addresses: &[SocketAddr], cpus: &[u64]) -> Vec<Rail> {
        let all = self.interfaces.iter().zip(addresses);
        let rail = |(interface, address): (&Interface, &SocketAddr)| Rail {
            address: *address,
            prefix: interface.prefix,
            is_far: interfaces::is_far(&interface.name, cpus),
            name: interface.name.chars().take(60).collect(),
        };
        all.map(rail).collect()
    }
}
