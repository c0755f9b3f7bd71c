//! The offer: by which interfaces a rank can be reached, as it was named or as its host has them.

use super::card::{Card, MOST_LACKS, MOST_RAILS, Rail};
use super::interfaces::{self, Interface};
use super::settings::{Medium, Settings};
use crate::transport::net::ofi::{Endpoint, OfiError, Wishes};
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
        match &settings.rails[..] {
            [] => {
                let mut place = 0;
                offered.retain(|interface| {
                    place += 1;
                    place == 1 || TcpListener::bind((interface.ip, 0)).is_ok()
                });
                offered.truncate(MOST_RAILS);
            }
            names => match interfaces::named(names, &all) {
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

    /// Opens an endpoint of libfabric's at each of them, if that is to carry messages, where the provider knows interfaces by
    /// addresses. Those of which it knows nothing are offered no more, unless they were named; then what is no interface may also
    /// be a domain of the provider's, beside the way to rank 0.
    ///
    /// # Errors
    /// What libfabric says, or that the provider has nothing at what was named.
    pub(super) fn open_endpoints(
        &mut self,
        settings: &Settings,
    ) -> Result<Vec<Endpoint>, OfiError> {
        let Medium::Ofi(provider) = &settings.medium else {
            return Ok(Vec::new());
        };
        let wishes = |ip: IpAddr| Wishes {
            provider: provider.clone(),
            interface: Some(ip),
            domain: None,
        };
        if self.lacks.is_some() {
            return Ok(self.open_domains(settings, provider.as_deref()));
        }
        let is_alone = self.interfaces.len() == 1;
        let mut endpoints = Vec::with_capacity(self.interfaces.len());
        for interface in std::mem::take(&mut self.interfaces) {
            // The only way need not be known to the provider.
            let is_first = endpoints.is_empty() && (is_alone || !self.is_named);
            let opened = match is_first {
                true => Endpoint::open(&wishes(interface.ip)),
                false => Endpoint::open_there(&wishes(interface.ip)),
            };
            match opened {
                Ok(endpoint) => endpoints.push(endpoint),
                Err(OfiError::NoRail { .. }) if !self.is_named => continue,
                Err(error) => return Err(error),
            }
            self.interfaces.push(interface);
        }
        Ok(endpoints)
    }

    /// The same for domains that were named; nothing if one of them is none.
    fn open_domains(&mut self, settings: &Settings, provider: Option<&str>) -> Vec<Endpoint> {
        let open = |name: &String| {
            Endpoint::open_there(&Wishes {
                provider: provider.map(String::from),
                interface: None,
                domain: Some(name.clone()),
            })
        };
        let endpoints: Result<Vec<Endpoint>, OfiError> = settings.rails.iter().map(open).collect();
        let (Ok(endpoints), Some(way)) = (endpoints, self.interfaces.first()) else {
            return Vec::new();
        };
        let beside = |name: &String| Interface {
            name: name.clone(),
            ..way.clone()
        };
        self.interfaces = settings.rails.iter().map(beside).collect();
        self.lacks = None;
        endpoints
    }

    /// Listens at all of them.
    pub(super) fn listen(&self, ports: Option<RangeInclusive<u16>>) -> io::Result<Listener> {
        let ips: Vec<IpAddr> = self.interfaces.iter().map(|it| it.ip).collect();
        Listener::bind_within(&ips, ports)
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

    /// These with where the rank listens, which endpoints it has there, and which cpus it may use, for its card.
    pub(super) fn rails(
        &self,
        addresses: &[SocketAddr],
        endpoints: &[Endpoint],
        cpus: &[u64],
    ) -> Vec<Rail> {
        let endpoints = endpoints.iter().map(Endpoint::card);
        let endpoints = endpoints.chain(std::iter::repeat_with(Vec::new));
        let all = self.interfaces.iter().zip(addresses).zip(endpoints);
        let rail = |((interface, address), endpoint): ((&Interface, &SocketAddr), Vec<u8>)| Rail {
            address: *address,
            prefix: interface.prefix,
            is_far: interfaces::is_far(&interface.name, cpus),
            name: interface.name.chars().take(60).collect(),
            endpoint,
        };
        all.map(rail).collect()
    }
}
