//! The cluster: what a rank knows when all have met.

use super::card::{Card, Table};
use crate::launch::{LaunchError, Launcher, Place, Segment};
use crate::transport::net::ofi::{self, Endpoint};
use crate::transport::net::tcp::{Addresses, Listener, Secret};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

/// The ranks of a world that may be on several hosts, as one of them sees them.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) rank: u32,
    /// By rank: its node.
    pub(crate) node_of: Vec<u32>,
    /// By rank: what people call its host.
    pub(crate) hosts: Vec<String>,
    /// The own interfaces, by rail.
    pub(crate) rails: Vec<String>,
    /// The place among the ranks that share memory; none: there is no other, and nobody watches.
    pub(crate) place: Option<Place>,
    /// Where all ranks listen.
    pub(crate) addresses: Addresses,
    pub(crate) secret: Secret,
    /// Whether what goes over TCP is encrypted.
    pub(crate) tls: bool,
    /// Whether anywhere more ranks than cores are on a machine.
    pub(crate) oversubscribed: bool,
    /// Whether all connections are to be made before the world is there.
    pub(crate) is_eager: bool,
    listener: Mutex<Option<Listener>>,
    /// What all ranks tell of their endpoints of libfabric's, and the own ones, by rail, where there are such.
    pub(crate) cards: Box<[ofi::Cards]>,
    endpoints: Mutex<Option<Vec<Endpoint>>>,
}

/// What this process has besides the table.
pub(super) struct Own {
    pub(super) rank: u32,
    /// The segment that it has open: its launcher's, or one that it has made.
    pub(super) segment: Option<Segment>,
    pub(super) launcher: Launcher,
    pub(super) listener: Listener,
    /// One for each of the addresses at which it listens, or none.
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) secret: Secret,
    pub(super) tls: bool,
    /// By which address rank 0 was reached.
    pub(super) reached: Option<IpAddr>,
}

/// The ranks that share a rank's memory, in their order.
pub(super) fn sharing(table: &Table, rank: u32) -> impl Iterator<Item = &Card> {
    let node = &table.cards[rank as usize].node;
    table.cards.iter().filter(move |card| card.node == *node)
}

impl Cluster {
    /// After a wire-up: opens the segment of the node's first rank.
    pub(super) fn new(table: &Table, own: Own) -> Result<Cluster, LaunchError> {
        let mut numbers = BTreeMap::new();
        let mut number = |card: &Card| {
            let next = numbers.len() as u32;
            *numbers.entry(card.node.clone()).or_insert(next)
        };
        let node_of: Vec<u32> = table.cards.iter().map(&mut number).collect();
        let machines: BTreeSet<u64> = table.cards.iter().map(|card| card.machine).collect();
        let mut machines = machines.into_iter();
        let oversubscribed = machines.any(|machine| is_oversubscribed(table, machine));
        let sharing: Vec<&Card> = sharing(table, own.rank).collect();
        let place = match (own.segment, sharing.len()) {
            (None, 1) => None,
            (segment, _) => Some(place(table, &own, &sharing, segment)?),
        };
        let is_apart = node_of.iter().any(|node| *node != node_of[0]);
        let listens = listens(table, own.rank);
        let endpoints = kept(own.endpoints, own.listener.addresses(), &listens);
        Ok(Cluster {
            rank: own.rank,
            node_of,
            hosts: table.cards.iter().map(|card| card.host.clone()).collect(),
            rails: table.cards[own.rank as usize]
                .rails
                .iter()
                .map(|rail| rail.name.clone())
                .collect(),
            place,
            addresses: addresses(table, own.reached),
            secret: own.secret.of_world(&table.nonce),
            tls: own.tls,
            oversubscribed,
            is_eager: table.cards.iter().any(|card| card.is_eager),
            // Where all share memory, nobody needs to listen.
            listener: Mutex::new(is_apart.then(|| own.listener.keep(&listens))),
            cards: cards(table),
            endpoints: Mutex::new((is_apart && !endpoints.is_empty()).then_some(endpoints)),
        })
    }

    /// Whether ranks are on several nodes.
    pub(crate) fn is_apart(&self) -> bool {
        self.node_of.iter().any(|node| *node != self.node_of[0])
    }

    /// The ranks of this node, in their order.
    pub(crate) fn node_mates(&self) -> Vec<u32> {
        let own = self.node_of[self.rank as usize];
        let ranks = (0..).zip(&self.node_of);
        ranks
            .filter_map(|(rank, node)| (*node == own).then_some(rank))
            .collect()
    }

    /// Where this rank listens; who asks first has it.
    pub(crate) fn take_listener(&self) -> Option<Listener> {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        listener.take()
    }

    /// The own endpoints of libfabric's, by rail; who asks first has them.
    pub(crate) fn take_endpoints(&self) -> Option<Vec<Endpoint>> {
        let mut endpoints = self
            .endpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        endpoints.take()
    }
}

/// The endpoints of those rails that were chosen, in their order, of one at each of these addresses.
fn kept(all: Vec<Endpoint>, offered: &[SocketAddr], chosen: &[SocketAddr]) -> Vec<Endpoint> {
    let place = |address: &SocketAddr| chosen.iter().position(|other| other == address);
    let all = offered.iter().map(place).zip(all);
    let mut kept: Vec<(usize, Endpoint)> = all.filter_map(|(at, it)| Some((at?, it))).collect();
    kept.sort_by_key(|(place, _)| *place);
    kept.into_iter().map(|(_, endpoint)| endpoint).collect()
}

/// Where a rank listens, by rail.
fn listens(table: &Table, rank: u32) -> Vec<SocketAddr> {
    let rails = table.cards[rank as usize].rails.iter();
    rails.map(|rail| rail.address).collect()
}

/// What all ranks tell of their endpoints of libfabric's; nothing of a rank that has none.
fn cards(table: &Table) -> Box<[ofi::Cards]> {
    let of_rank = |card: &Card| {
        let endpoints = card.rails.iter().map(|rail| &rail.endpoint);
        let there = endpoints.filter(|card| !card.is_empty());
        there.map(|card| card.clone().into()).collect()
    };
    table.cards.iter().map(of_rank).collect()
}

/// Whether all ranks have what carries messages as this one has.
pub(super) fn fit(table: &Table, rank: u32) -> Result<(), String> {
    let cards = cards(table);
    if !cards[rank as usize].is_empty() {
        return ofi::fit(&cards, rank).map_err(|error| error.to_string());
    }
    let other = cards.iter().position(|of_rank| !of_rank.is_empty());
    other.map_or(Ok(()), |other| {
        let (other, own) = (table.cards[other].name(), table.cards[rank as usize].name());
        Err(format!(
            "{other} uses libfabric, and {own} does not; right would be the same ALLHANDS_NETWORK everywhere"
        ))
    })
}

/// The place of this rank among those of its node.
fn place(
    table: &Table,
    own: &Own,
    sharing: &[&Card],
    segment: Option<Segment>,
) -> Result<Place, LaunchError> {
    let (first, local) = (sharing[0], sharing.iter().position(|c| c.rank == own.rank));
    let inode = segment.map(Segment::inode).transpose()?;
    let segment = match segment {
        Some(segment) if inode == Some(first.segment.inode) => segment,
        _ => {
            let place = first.segment;
            Segment::of_process(first.pid, place.descriptor as i32, place.inode)?
        }
    };
    let mut cpus = cpus(sharing.iter().copied());
    if is_oversubscribed(table, first.machine) {
        // Others take turns on them, too.
        cpus = cpus.min(sharing.len() - 1);
    }
    Ok(Place {
        rank: local.unwrap_or(0) as u32,
        ranks: sharing.len() as u32,
        segment,
        launcher: own.launcher,
        nodes: None,
        cpus,
    })
}

/// How many cpus these ranks may use together.
fn cpus<'a>(cards: impl Iterator<Item = &'a Card> + Clone) -> usize {
    let words = cards.clone().map(|card| card.cpus.len()).max().unwrap_or(0);
    let word = |at| {
        let cpus = cards.clone().filter_map(move |card| card.cpus.get(at));
        cpus.fold(0_u64, |all, cpus| all | cpus).count_ones() as usize
    };
    let all = (0..words).map(word).sum::<usize>().max(1);
    let most = cards.map(|card| card.cpus_most).max().unwrap_or(0);
    if most == 0 {
        all
    } else {
        all.min(most as usize)
    }
}

fn is_oversubscribed(table: &Table, machine: u64) -> bool {
    let there = table
        .cards
        .iter()
        .filter(move |card| card.machine == machine);
    there.clone().count() > cpus(there)
}

/// Where all ranks listen. Rank 0 may not know by which of its addresses others reach it: they do.
fn addresses(table: &Table, reached: Option<IpAddr>) -> Addresses {
    let of_rank = |card: &Card| {
        let known = |address: &SocketAddr| match (address.ip().is_unspecified(), reached) {
            (true, Some(ip)) => SocketAddr::new(ip, address.port()),
            _ => *address,
        };
        card.rails.iter().map(|rail| known(&rail.address)).collect()
    };
    table.cards.iter().map(of_rank).collect()
}

#[cfg(test)]
mod tests {
    use super::super::card::some_card;
    use super::*;

    #[test]
    fn cpus_are_counted_once() {
        let mut table = Table {
            nonce: [0; 16],
            cards: (0..3).map(|rank| some_card(rank, 3, 0)).collect(),
        };
        assert_eq!(cpus(table.cards.iter()), 8);
        table.cards[1].cpus = vec![0, 1];
        assert_eq!(cpus(table.cards.iter()), 9);
        table.cards[2].cpus_most = 2;
        assert_eq!(cpus(table.cards.iter()), 2);
        assert!(is_oversubscribed(&table, 0));
        table.cards[1].machine = 7;
        assert!(!is_oversubscribed(&table, 0) && !is_oversubscribed(&table, 7));
    }

    #[test]
    fn ranks_that_use_other_media_are_named() {
        let mut table = Table {
            nonce: [0; 16],
            cards: (0..2).map(|rank| some_card(rank, 2, rank)).collect(),
        };
        assert_eq!(
            fit(&table, 0).unwrap_err(),
            "rank 1 on host h1 uses libfabric, and rank 0 on host h0 does not; right would be the same ALLHANDS_NETWORK everywhere"
        );
        table.cards[1]
            .rails
            .iter_mut()
            .for_each(|rail| rail.endpoint.clear());
        assert_eq!(fit(&table, 0), Ok(()));
    }

    #[test]
    fn where_rank_0_is_reached_others_know() {
        let mut table = Table {
            nonce: [0; 16],
            cards: (0..2).map(|rank| some_card(rank, 2, rank)).collect(),
        };
        table.cards[0].rails[0].address = SocketAddr::from(([0, 0, 0, 0], 5));
        let reached = Some(IpAddr::from([10, 9, 8, 7]));
        let addresses = addresses(&table, reached);
        assert_eq!(addresses[0][0], SocketAddr::from(([10, 9, 8, 7], 5)));
        assert_eq!(*addresses[1], *listens(&table, 1));
    }
}
