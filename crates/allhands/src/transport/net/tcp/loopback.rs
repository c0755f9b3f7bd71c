//! The loopback: TCP among threads of one process, with which everything that uses a network is tried on real sockets.

use super::driver::{Addresses, TcpNetwork};
use super::listener::Listener;
use super::protocol::Settings;
use super::protocol::handshake::Secret;
use crate::transport::net::{Network, NetworkError, Networks};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};

/// What makes the networks of ranks that are threads of this process, each once: rail `r` is the address `127.0.0.(r + 1)`.
#[derive(Debug)]
pub struct Loopback {
    listeners: Mutex<Vec<Option<Listener>>>,
    addresses: Addresses,
    secret: Secret,
    settings: Settings,
}

impl Loopback {
    /// A network among `ranks` ranks with so many rails.
    ///
    /// # Errors
    /// If the system does not let it listen, or gives no randomness for the secret.
    pub fn new(ranks: u32, rails: u8, settings: Settings) -> io::Result<Loopback> {
        let rail = |number| IpAddr::V4(Ipv4Addr::new(127, 0, 0, number));
        let rails: Vec<IpAddr> = (1..=rails).map(rail).collect();
        let listeners = (0..ranks).map(|_| Listener::bind(&rails));
        let listeners: Vec<Listener> = listeners.collect::<io::Result<_>>()?;
        let addresses = listeners.iter().map(|listener| listener.addresses().into());
        let mut secret = [0; 32];
        rustix::rand::getrandom(&mut secret[..], rustix::rand::GetRandomFlags::empty())?;
        Ok(Loopback {
            addresses: addresses.collect(),
            listeners: Mutex::new(listeners.into_iter().map(Some).collect()),
            secret: Secret::new(&secret).map_err(io::Error::other)?,
            settings,
        })
    }

    /// The same with so many tags.
    #[must_use]
    pub fn with_tags(mut self, tags: u32) -> Loopback {
        self.settings.tags = tags;
        self
    }

    /// Where rank `rank` listens, by rail; nowhere if there is no such rank.
    #[must_use]
    pub fn addresses(&self, rank: u32) -> &[SocketAddr] {
        let addresses = self.addresses.get(rank as usize);
        addresses.map_or(&[], |addresses| addresses)
    }

    /// The network of rank `rank`, as it is.
    ///
    /// # Errors
    /// If there is no such rank, or it was made already.
    pub fn tcp_network(&self, rank: u32) -> Result<TcpNetwork, NetworkError> {
        let mut listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let listener = listeners.get_mut(rank as usize).and_then(Option::take);
        let none = || {
            NetworkError::Other(format!(
                "rank {rank} has its network, or there is no such rank"
            ))
        };
        TcpNetwork::new(
            listener.ok_or_else(none)?,
            rank,
            self.addresses.clone(),
            self.secret.clone(),
            self.settings,
        )
    }
}

impl Networks for Loopback {
    fn network(&self, rank: u32) -> Result<Box<dyn Network>, NetworkError> {
        Ok(Box::new(self.tcp_network(rank)?))
    }
}
