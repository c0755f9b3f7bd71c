//! Listeners: where one rank can be reached, over each of its rails.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;

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
        Listener::bind_within(rails, None)
    }

    /// The same at ports of this range.
    ///
    /// # Errors
    /// As [`Listener::bind`], or if all these ports are taken.
    pub fn bind_within(
        rails: &[IpAddr],
        ports: Option<RangeInclusive<u16>>,
    ) -> io::Result<Listener> {
        let sockets = rails.iter().map(|rail| {
            let socket = Listener::bind_one(*rail, ports.clone())?;
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

    /// A socket that listens at a port of this range, or at any.
    pub(crate) fn bind_one(
        ip: IpAddr,
        ports: Option<RangeInclusive<u16>>,
    ) -> io::Result<TcpListener> {
        let Some(ports) = ports else {
            return TcpListener::bind(SocketAddr::new(ip, 0));
        };
        let (first, count) = (*ports.start(), u32::from(*ports.end() - *ports.start()) + 1);
        // Processes begin at different ports, so that few are tried twice.
        let begin = std::process::id() % count;
        let mut last = io::ErrorKind::AddrInUse.into();
        for step in 0..count {
            let port = first + ((begin + step) % count) as u16;
            match TcpListener::bind(SocketAddr::new(ip, port)) {
                Ok(socket) => return Ok(socket),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Listens on at these of its addresses alone, in this order.
    #[must_use]
    pub(crate) fn keep(self, addresses: &[SocketAddr]) -> Listener {
        let mut all: Vec<_> = self.addresses.into_iter().zip(self.sockets).collect();
        let kept = addresses.iter().filter_map(|address| {
            let at = all.iter().position(|(other, _)| other == address)?;
            Some(all.swap_remove(at))
        });
        let (addresses, sockets) = kept.unzip();
        Listener { sockets, addresses }
    }

    /// Where it listens, by rail: what all other ranks must know.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}
