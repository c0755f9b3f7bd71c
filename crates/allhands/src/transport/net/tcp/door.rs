//! Doors: how a rank takes the connections that others make, also when it has no descriptor left for them.

use super::driver::{MOST_EVENTS, TcpNetwork, data, failed};
use super::socket::{Socket, nonce};
use super::tls::Tls;
use crate::transport::net::NetworkError;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::io::Write;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The serial of listeners; sockets begin behind it.
pub(super) const LISTENERS: u32 = 0;

/// How long a door stays closed at which a connection could not be accepted. Epoll would tell of it in every look.
const CLOSED_FOR: Duration = Duration::from_millis(100);

/// Where connections over one rail come in.
#[derive(Debug)]
pub(super) struct Door {
    listener: TcpListener,
    /// Until when nothing is accepted, if that has failed.
    closed_until: Option<Instant>,
    /// Whether that it fails was said since it worked last.
    is_told: bool,
}

impl Door {
    pub(super) fn new(listener: TcpListener) -> Door {
        Door {
            listener,
            closed_until: None,
            is_told: false,
        }
    }
}

/// Has epoll tell of connections over a rail.
pub(super) fn listen(epoll: &OwnedFd, listener: &TcpListener, rail: u32) -> Result<(), Errno> {
    epoll::add(
        epoll,
        listener,
        data(LISTENERS, rail),
        epoll::EventFlags::IN,
    )
}

impl TcpNetwork {
    /// Opens doors that were closed for long enough.
    pub(super) fn open_doors(&mut self, now: Instant) -> Result<(), NetworkError> {
        for (rail, door) in (0..).zip(&mut self.doors) {
            if door.closed_until.is_some_and(|until| until <= now) {
                door.closed_until = None;
                listen(&self.epoll, &door.listener, rail).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Takes what others have connected.
    pub(super) fn accept(&mut self, rail: u32) -> Result<(), NetworkError> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        for _ in 0..MOST_EVENTS {
            let door = &mut self.doors[rail as usize];
            let accepted = match rustix::net::accept_with(&door.listener, flags) {
                Ok(accepted) => accepted,
                Err(Errno::AGAIN) => return Ok(()),
                // Who has waited has gone.
                Err(
                    Errno::INTR
                    | Errno::CONNABORTED
                    | Errno::PROTO
                    | Errno::NETDOWN
                    | Errno::NETUNREACH
                    | Errno::HOSTDOWN
                    | Errno::HOSTUNREACH,
                ) => continue,
                Err(error) => return self.close_door(rail, error),
            };
            door.is_told = false;
            self.serial += 1;
            let serial = self.serial;
            let (socket, nonce) = (Socket::accepted(accepted, serial), nonce().map_err(failed)?);
            let Ok(socket) = socket else { continue };
            let socket = socket.with(self.tls.as_ref().map(Tls::accepting));
            let at = self.machine.accepted(&nonce);
            // The number may be that of one that is to be closed.
            self.act_all();
            self.adopt(at, socket);
        }
        Ok(())
    }

    /// Lets others wait for a while, as nothing can be accepted now.
    fn close_door(&mut self, rail: u32, error: Errno) -> Result<(), NetworkError> {
        self.unaccepted += 1;
        let (rank, door) = (self.rank, &mut self.doors[rail as usize]);
        epoll::delete(&self.epoll, &door.listener).map_err(failed)?;
        door.closed_until = Some(Instant::now() + CLOSED_FOR);
        if !std::mem::replace(&mut door.is_told, true) {
            let line = format!(
                "allhands: rank {rank} cannot accept connections over rail {rail} ({error}); it tries again, and others wait meanwhile\n"
            );
            // There is nobody to tell that nobody listens.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
        Ok(())
    }
}
