//! Listeners: where one rank can be reached, over each of its rails.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};

/// How many connections may wait until this rank looks, if the system allows so many: all other ranks may want one at once.
const MOST_WAITING: i32 = 4096;

/// The listening sockets of one rank, one for each rail.
#[derive(Debug)]
pub struct Listener {
    pub(super) sockets: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
}

impl Listener {
    /// Listens at these interfaces, one for each rail, at ports that the system chooses.
    ///
    /// # Errors
    /// If the system does not let it.
    pub fn bind(rails: &[IpAddr]) -> io::Result<Listener> {
        let sockets = rails.iter().map(|rail| {
            let socket = TcpListener::bind(SocketAddr::new(*rail, 0))?;
            rustix::net::listen(&socket, MOST_WAITING)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        });
        let sockets: Vec<TcpListener> = sockets.collect::<io::Result<_>>()?;
        let addresses = sockets.iter().map(TcpListener::local_addr);
        Ok(Listener {
            addresses: addresses.collect::<io::Result<_>>()?,
            sockets,
        })
    }

    /// Where it listens, by rail: what all other ranks must know.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}
