//! The loopback: libfabric among threads of one process, with which everything that uses a network is tried on real providers.

use super::capabilities::Wishes;
use super::driver::OfiNetwork;
use super::endpoint::Endpoint;
use super::error::OfiError;
use super::wire_up::Cards;
use crate::transport::net::tcp;
use crate::transport::net::{Network, NetworkError, Networks};
use std::sync::{Mutex, PoisonError};

/// What makes the networks of ranks that are threads of this process, each once.
#[derive(Debug)]
pub struct OfiLoopback {
    endpoints: Mutex<Vec<Option<Vec<Endpoint>>>>,
    cards: Vec<Cards>,
    words: tcp::Loopback,
    tags: u32,
}

impl OfiLoopback {
    /// A network among `ranks` ranks with so many rails, all of them the same way.
    ///
    /// # Errors
    /// As [`Endpoint::open`], or if the system does not let words go over TCP.
    pub fn new(ranks: u32, rails: u8, wishes: &Wishes) -> Result<OfiLoopback, OfiError> {
        let of_rank = |_| (0..rails).map(|_| Endpoint::open(wishes)).collect();
        let endpoints = (0..ranks).map(of_rank);
        OfiLoopback::of_endpoints(endpoints.collect::<Result<_, OfiError>>()?)
    }

    /// A network among endpoints that somebody has opened, by rank and rail.
    pub(super) fn of_endpoints(endpoints: Vec<Vec<Endpoint>>) -> Result<OfiLoopback, OfiError> {
        let rails = endpoints.iter().map(Vec::len).max().unwrap_or(1) as u8;
        let words = tcp::Loopback::new(endpoints.len() as u32, rails, tcp::Settings::default());
        let words = words.map_err(|error| OfiError::Call {
            what: "do without TCP beside it",
            why: error.to_string(),
        })?;
        let card = |endpoint: &Endpoint| endpoint.card().into();
        let cards = endpoints
            .iter()
            .map(|of_rank| of_rank.iter().map(card).collect());
        Ok(OfiLoopback {
            cards: cards.collect(),
            endpoints: Mutex::new(endpoints.into_iter().map(Some).collect()),
            words,
            tags: u32::MAX,
        })
    }

    /// The same with so many tags.
    #[must_use]
    pub fn with_tags(self, tags: u32) -> OfiLoopback {
        OfiLoopback { tags, ..self }
    }

    /// The network of rank `rank`, as it is.
    ///
    /// # Errors
    /// If there is no such rank, it was made already, or endpoints do not fit one another.
    pub fn ofi_network(&self, rank: u32) -> Result<OfiNetwork, NetworkError> {
        let words = self.words.tcp_network(rank)?;
        let mut endpoints = self
            .endpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let of_rank = endpoints.get_mut(rank as usize).and_then(Option::take);
        let none = || NetworkError::Other(format!("rank {rank} has its network"));
        let network = OfiNetwork::new(of_rank.ok_or_else(none)?, rank, &self.cards, words)?;
        Ok(network.with_tags(self.tags))
    }
}

impl Networks for OfiLoopback {
    fn network(&self, rank: u32) -> Result<Box<dyn Network>, NetworkError> {
        Ok(Box::new(self.ofi_network(rank)?))
    }
}
