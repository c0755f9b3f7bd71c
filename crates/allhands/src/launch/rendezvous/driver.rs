//! The driver: a wire-up over sockets of this host.

use super::card::Table;
use super::link::Refusal;
use super::wire::Wire;
use super::wireup::{Action, At, To, WireUp};
use crate::launch::LaunchError;
use crate::transport::net::tcp;
use crate::transport::net::tcp::protocol::handshake::Nonce;
use crate::transport::net::tcp::tls::{Fault, Tls};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long what was to be said last may take to be sent.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What drives a wire-up.
pub(super) struct Driver {
    wireup: WireUp,
    /// Where this rank is connected to.
    listener: TcpListener,
    /// Where rank 0 may listen; they are tried one after the other.
    point: Vec<SocketAddr>,
    /// What encrypts connections, if they are to be.
    tls: Option<Tls>,
    wires: BTreeMap<At, Wire>,
    tries: usize,
    /// By which address rank 0 was reached.
    reached: Option<IpAddr>,
    began: Instant,
}

impl Driver {
    pub(super) fn new(
        wireup: WireUp,
        (listener, tls): (TcpListener, Option<Tls>),
        point: Vec<SocketAddr>,
        began: Instant,
    ) -> Driver {
        Driver {
            wireup,
            listener,
            point,
            tls,
            wires: BTreeMap::new(),
            tries: 0,
            reached: None,
            began,
        }
    }

    /// Goes on until it has ended; `prepare` is called once, when all cards are there, and may refuse.
    ///
    /// # Errors
    /// Why nobody has a place.
    pub(super) fn run(
        &mut self,
        prepare: impl FnOnce(&Table) -> Result<(), LaunchError>,
    ) -> Result<(), LaunchError> {
        let mut prepare = Some(prepare);
        let mut until = None;
        loop {
            self.wireup.at(self.began.elapsed());
            if let Some(table) = self.wireup.table()
                && let Some(prepare) = prepare.take()
            {
                match prepare(table) {
                    Ok(()) => self.wireup.ready(),
                    Err(error) => self.wireup.fail(error.to_string()),
                }
            }
            self.act();
            if self.wireup.outcome().is_some() {
                let until = *until.get_or_insert_with(|| Instant::now() + LAST_WORDS);
                self.wires.retain(|_, wire| wire.is_busy());
                if self.wires.is_empty() || Instant::now() >= until {
                    break;
                }
            }
            self.wait()?;
        }
        self.wires.clear();
        match self.wireup.outcome() {
            Some(Err(trouble)) => Err(LaunchError::WireUp {
                says: trouble.0.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// All cards, and by which address rank 0 was reached; nobody listens here any more.
    pub(super) fn end(self) -> (Table, Option<IpAddr>) {
        let table = self.wireup.table().cloned();
        (table.unwrap_or_default(), self.reached)
    }

    fn act(&mut self) {
        while let Some(action) = self.wireup.action() {
            match action {
                Action::Connect { at, to } => {
                    let to = match to {
                        To::Rank(address) => address,
                        To::Point => self.point[self.tries % self.point.len()],
                    };
                    self.tries += 1;
                    match connect(to) {
                        Ok(stream) => {
                            let session = self.tls.as_ref().map(Tls::connecting);
                            self.wires.insert(at, Wire::new(stream, session, true));
                        }
                        Err(error) => self.wireup.lost(at, &said(error.into())),
                    }
                }
                Action::Send { at, bytes } => {
                    if let Some(wire) = self.wires.get_mut(&at) {
                        wire.out.extend(bytes);
                        self.write(at);
                    }
                }
                Action::Close { at } => {
                    if let Some(wire) = self.wires.get_mut(&at) {
                        wire.is_closing = true;
                        if !wire.is_busy() {
                            self.wires.remove(&at);
                        }
                    }
                }
                Action::Say(line) => {
                    // There is nobody to tell that nobody listens.
                    let _ = writeln!(std::io::stderr().lock(), "allhands: {line}");
                }
            }
        }
    }

    /// Waits for something to happen, and tells the wire-up.
    fn wait(&mut self) -> Result<(), LaunchError> {
        let now = self.began.elapsed();
        let deadline = self.wireup.deadline();
        let most = Duration::from_millis(if self.wireup.outcome().is_some() {
            20
        } else {
            1000
        });
        let patience = deadline.map_or(most, |at| at.saturating_sub(now).min(most));
        // A millisecond late is better than just too early, again and again.
        let patience = patience + Duration::from_micros(500);
        let timeout = Timespec {
            tv_sec: patience.as_secs() as i64,
            tv_nsec: patience.subsec_nanos().into(),
        };
        let numbers: Vec<At> = self.wires.keys().copied().collect();
        let mut fds = Vec::with_capacity(numbers.len() + 1);
        for wire in self.wires.values() {
            let write = if wire.is_connecting || wire.is_busy() {
                PollFlags::OUT
            } else {
                PollFlags::empty()
            };
            fds.push(PollFd::new(&wire.stream, PollFlags::IN | write));
        }
        fds.push(PollFd::new(&self.listener, PollFlags::IN));
        match rustix::event::poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(LaunchError::system("cannot wait for other ranks", error)),
        }
        let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        self.wireup.at(self.began.elapsed());
        for (at, flags) in numbers.iter().zip(&events) {
            if !flags.is_empty() {
                self.event(*at, *flags)?;
            }
        }
        if events.last().is_some_and(|flags| !flags.is_empty()) {
            self.accept()?;
        }
        Ok(())
    }

    fn event(&mut self, at: At, flags: PollFlags) -> Result<(), LaunchError> {
        let Some(wire) = self.wires.get_mut(&at) else {
            return Ok(());
        };
        if wire.is_connecting {
            match wire.stream.take_error() {
                Ok(None) if flags.contains(PollFlags::OUT) => {
                    wire.is_connecting = false;
                    let _ = expect_answers(&wire.stream);
                    self.reached = self
                        .reached
                        .or(wire.stream.peer_addr().ok().map(|a| a.ip()));
                    let nonce = nonce()?;
                    self.wireup.connected(at, &nonce);
                    self.act();
                }
                Ok(None) => {}
                Ok(Some(error)) | Err(error) => self.lose(at, error),
            }
            return Ok(());
        }
        if flags.contains(PollFlags::OUT) {
            self.write(at);
        }
        if flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            self.read(at);
        }
        Ok(())
    }

    fn read(&mut self, at: At) {
        let mut buffer = [0; 64 << 10];
        while let Some(wire) = self.wires.get_mut(&at).filter(|wire| !wire.is_closing) {
            let read = wire.read(&mut buffer);
            if wire.has_opened() {
                self.write(at);
            }
            match read {
                Ok(0) => return self.lose(at, std::io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => {
                    self.wireup.arrived(at, &buffer[..bytes]);
                    self.act();
                }
                Err(Fault::System(Errno::AGAIN)) => return,
                Err(Fault::System(Errno::INTR)) => {}
                Err(Fault::System(error)) => return self.lose(at, error.into()),
                Err(Fault::Refused(error)) => {
                    self.wires.remove(&at);
                    self.wireup.refused(at, &Refusal::Handshake(error));
                    return self.act();
                }
                Err(Fault::Changed) => {
                    let error = "what came was changed on its way";
                    return self.lose(at, std::io::Error::other(error));
                }
            }
        }
    }

    fn write(&mut self, at: At) {
        let Some(wire) = self.wires.get_mut(&at).filter(|wire| !wire.is_connecting) else {
            return;
        };
        if !wire.write() {
            return;
        }
        if wire.is_closing {
            let _ = wire.stream.shutdown(Shutdown::Write);
            self.wires.remove(&at);
        }
    }

    fn lose(&mut self, at: At, error: std::io::Error) {
        self.wires.remove(&at);
        self.wireup.lost(at, &said(error));
        self.act();
    }

    fn accept(&mut self) -> Result<(), LaunchError> {
        while let Ok((stream, _)) = self.listener.accept() {
            // One that is lost already is found to be when it is read.
            let _ = stream.set_nonblocking(true);
            let _ = keep_alive(&stream).and_then(|()| expect_answers(&stream));
            let at = self.wireup.accepted(&nonce()?);
            let session = self.tls.as_ref().map(Tls::accepting);
            self.wires.insert(at, Wire::new(stream, session, false));
        }
        Ok(())
    }
}

/// Begins to connect.
fn connect(to: SocketAddr) -> Result<TcpStream, Errno> {
    let family = match to {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket: OwnedFd = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error),
    }
    keep_alive(&socket)?;
    Ok(socket.into())
}

/// A host that is gone is found out within four seconds, be it while something is on its way there.
fn keep_alive(socket: &impl AsFd) -> Result<(), Errno> {
    sockopt::set_tcp_nodelay(socket, true)?;
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, Duration::from_secs(1))?;
    sockopt::set_tcp_keepintvl(socket, Duration::from_secs(1))?;
    sockopt::set_tcp_keepcnt(socket, 3)
}

/// The same for a connection that is there: one that is being made has more time.
fn expect_answers(socket: &impl AsFd) -> Result<(), Errno> {
    sockopt::set_tcp_user_timeout(socket, 4000)
}

/// A number that was never used before.
pub(super) fn nonce() -> Result<Nonce, LaunchError> {
    tcp::nonce().map_err(|error| LaunchError::system("cannot draw a random number", error))
}

/// An error of a socket in few words.
fn said(error: std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "the connection was closed".into(),
        std::io::ErrorKind::ConnectionRefused => "nobody listens there".into(),
        std::io::ErrorKind::ConnectionReset => "the connection was reset".into(),
        _ => error.to_string(),
    }
}
