//! The driver: one rank's machine with nonblocking sockets and epoll, as a network.

use super::clock::Clock;
use super::door::{Door, LISTENERS, listen};
use super::listener::Listener;
use super::protocol::Settings;
use super::protocol::handshake::{Job, Secret};
use super::protocol::peer::Loss;
use super::protocol::rank::{Action, Rank, Report};
use super::read::STAGED_BYTES;
use super::socket::{Answers, Socket, loss, nonce};
use super::tls::Tls;
use super::user_memory::UserMemory;
use crate::transport::net::{NetworkError, Places};
use crate::transport::shm::wait::doorbell::Doorbell;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where all ranks listen, by rank and by rail.
pub type Addresses = Arc<[Box<[SocketAddr]>]>;

pub(super) const MOST_EVENTS: usize = 64;
/// Every so many looks all connections are looked at, if there is one, and if there are several.
const LOOKS: u32 = 16;
const LOOKS_OF_SEVERAL: u32 = 3;
/// And no more often than this, if there is one and it does not wait for room, as nothing but strangers is found then.
const LOOKS_AFTER: Duration = Duration::from_micros(50);
/// How often is asked whether other hosts still answer.
const ASKED_EVERY: Duration = Duration::from_millis(250);
/// The serial that no socket gets to.
const DOORBELL: u32 = u32::MAX;

/// One rank's network over TCP.
#[derive(Debug)]
pub struct TcpNetwork {
    pub(super) machine: Rank<UserMemory>,
    pub(super) rank: u32,
    pub(super) tags: u32,
    /// What messages are signed with.
    pub(super) signature: u64,
    pub(super) addresses: Addresses,
    /// What people call the hosts of all ranks, and the own rails, where that is known.
    pub(super) places: Option<Places>,
    pub(super) rails: Box<[String]>,
    /// Whether a rank is of no use that cannot be reached over all of them.
    pub(super) needs_all_rails: bool,
    pub(super) doors: Vec<Door>,
    /// How often this rank could not accept.
    pub(super) unaccepted: u64,
    /// What encrypts connections, if they are to be.
    pub(super) tls: Option<Tls>,
    pub(super) epoll: OwnedFd,
    /// What wakes this rank though nothing came; without one it cannot sleep.
    pub(super) doorbell: Option<Doorbell>,
    /// By the number of the connection.
    pub(super) sockets: Vec<Option<Socket>>,
    /// Connections that may have something to read.
    pub(super) readable: Vec<u32>,
    pub(super) reading: Vec<u32>,
    pub(super) serial: u32,
    /// The connection that was read last, and how many looks there were.
    pub(super) hot: u32,
    looks: u32,
    /// When all connections were looked at last.
    waited: Instant,
    /// Whether the last look has found anything.
    pub(super) has_read: bool,
    pub(super) staging: Box<[u8]>,
    pub(super) clock: Clock,
    /// When it was asked last what the other ends have, and whether they answer.
    pub(super) measured: Instant,
    asked: Instant,
}

impl TcpNetwork {
    /// The network of rank `rank`, which listens there, in a job whose ranks all have these addresses, this secret and these
    /// settings. Connections are made when they are needed.
    ///
    /// # Errors
    /// If the system does not let it, the rank has no address, or connections are to be encrypted in a build that cannot.
    pub fn new(
        listener: Listener,
        rank: u32,
        addresses: Addresses,
        secret: Secret,
        settings: Settings,
    ) -> Result<TcpNetwork, NetworkError> {
        let ranks = addresses.len() as u32;
        let rails = listener.sockets.len();
        if rank >= ranks || addresses.iter().any(|of_rank| of_rank.len() != rails) || rails == 0 {
            let why =
                format!("rank {rank} of {ranks} has {rails} rails, and others have more or fewer");
            return Err(NetworkError::Other(why));
        }
        let tls = settings.tls.then(|| Tls::new(&secret)).transpose();
        let tls = tls.map_err(NetworkError::Other)?;
        let job = Job {
            secret,
            id: *b"allhands tcp job",
            rank,
            ranks,
            rails: rails as u32,
            settings: settings.digest(),
        };
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        for (rail, socket) in (0..).zip(&listener.sockets) {
            listen(&epoll, socket, rail).map_err(failed)?;
        }
        let rings = epoll::EventFlags::IN | epoll::EventFlags::ET;
        let doorbell = Doorbell::new()
            .and_then(|doorbell| {
                epoll::add(&epoll, &doorbell, data(DOORBELL, 0), rings).map(|()| doorbell)
            })
            .ok();
        let now = Instant::now();
        Ok(TcpNetwork {
            machine: Rank::new(job, settings, UserMemory),
            rank,
            tags: settings.tags,
            signature: 0,
            addresses,
            places: None,
            rails: Box::default(),
            needs_all_rails: false,
            doors: listener.sockets.into_iter().map(Door::new).collect(),
            unaccepted: 0,
            tls,
            epoll,
            doorbell,
            sockets: Vec::new(),
            readable: Vec::new(),
            reading: Vec::new(),
            serial: LISTENERS,
            hot: u32::MAX,
            looks: 0,
            waited: now,
            has_read: false,
            staging: vec![0; STAGED_BYTES].into(),
            clock: Clock::new(now),
            measured: now,
            asked: now,
        })
    }

    /// What has happened so far.
    #[must_use]
    pub fn report(&self) -> Report {
        Report {
            unaccepted: self.unaccepted,
            ..self.machine.report()
        }
    }

    pub(super) fn check(&self, other: u32, tag: u32) -> Result<(), NetworkError> {
        let (rank, ranks, tags) = (self.rank, self.addresses.len(), self.tags);
        if other as usize >= ranks || other == rank {
            let why = format!("rank {rank} of {ranks} has no messages with rank {other}");
            return Err(NetworkError::Other(why));
        }
        match tag < tags {
            true => Ok(()),
            false => Err(NetworkError::Other(format!(
                "there is no tag {tag} of {tags}"
            ))),
        }
    }

    /// Takes everything further, after waiting for something for so long; how many things have happened.
    pub(super) fn look(&mut self, patience: Duration) -> Result<usize, NetworkError> {
        let now = self.begin_look(patience);
        self.measure();
        self.act_and_write();
        if patience == Duration::ZERO && self.look_at_hot(now) {
            return Ok(0);
        }
        self.waited = now;
        self.open_doors(now)?;
        let events = self.wait(patience)?;
        self.read_all();
        if now - self.asked >= ASKED_EVERY {
            self.asked = now;
            self.ask_all(now);
        }
        self.act_and_write();
        Ok(events)
    }

    /// Reads the connection over which something came last, as that costs one call to the system instead of two; whether that is
    /// enough for this look. Now and then all are looked at.
    fn look_at_hot(&mut self, now: Instant) -> bool {
        self.looks += 1;
        let is_due = match self.sockets.len() {
            0 | 1 if self.machine.is_blocked(self.hot) => self.looks >= LOOKS,
            0 | 1 => self.looks >= LOOKS && now - self.waited >= LOOKS_AFTER,
            _ => self.looks >= LOOKS_OF_SEVERAL,
        };
        let is_due = is_due || now - self.asked >= ASKED_EVERY;
        let Some(Some(socket)) = self.sockets.get_mut(self.hot as usize) else {
            self.looks = 0;
            return false;
        };
        let hot = self.hot;
        if is_due || socket.is_connecting || self.readable.iter().any(|at| *at != hot) {
            self.looks = 0;
            return false;
        }
        socket.is_readable = true;
        if self.readable.is_empty() {
            self.readable.push(hot);
        }
        self.read_all();
        self.act_and_write();
        true
    }

    /// Takes what epoll has to say, of so many things.
    fn wait(&mut self, patience: Duration) -> Result<usize, NetworkError> {
        let nothing = epoll::Event {
            flags: epoll::EventFlags::empty(),
            data: epoll::EventData::new_u64(0),
        };
        let mut events = [nothing; MOST_EVENTS];
        let time = Timespec {
            tv_sec: patience.as_secs() as i64,
            tv_nsec: patience.subsec_nanos().into(),
        };
        let count = match epoll::wait(&self.epoll, &mut events, Some(&time)) {
            Ok(count) => count,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(failed(error)),
        };
        for event in &events[..count] {
            let (flags, data) = (event.flags, event.data.u64());
            match ((data >> 32) as u32, data as u32) {
                (LISTENERS, rail) => self.accept(rail)?,
                (DOORBELL, _) => self.doorbell.iter().for_each(Doorbell::hush),
                (serial, connection) => self.event(serial, connection, flags),
            }
            self.act_all();
        }
        Ok(count)
    }

    /// Something is the matter with a socket.
    fn event(&mut self, serial: u32, at: u32, flags: epoll::EventFlags) {
        use epoll::EventFlags as Flags;
        let socket = self.sockets.get_mut(at as usize).and_then(Option::as_mut);
        let Some(socket) = socket.filter(|socket| socket.serial == serial) else {
            return;
        };
        if socket.is_connecting && flags.intersects(Flags::OUT | Flags::ERR | Flags::HUP) {
            socket.is_connecting = false;
            match socket.outcome() {
                Ok(()) => match nonce() {
                    Ok(nonce) => self.machine.connected(at, &nonce),
                    Err(error) => return self.lose(at, loss(error)),
                },
                Err(error) => return self.lose(at, loss(error)),
            }
        }
        if flags.contains(Flags::OUT) {
            socket.flush();
            self.machine.writable(at);
        }
        let ends = Flags::RDHUP | Flags::HUP | Flags::ERR;
        if let Some(socket) = &mut self.sockets[at as usize]
            && flags.intersects(Flags::IN | ends)
        {
            socket.is_ending |= flags.intersects(ends);
            socket.note_more();
            if !socket.is_readable {
                socket.is_readable = true;
                self.readable.push(at);
            }
        }
    }

    /// Makes a socket that of a connection.
    pub(super) fn adopt(&mut self, at: u32, socket: Socket) {
        use epoll::EventFlags as Flags;
        let events = Flags::IN | Flags::OUT | Flags::RDHUP | Flags::ET;
        let added = epoll::add(&self.epoll, &socket, data(socket.serial, at), events);
        let needed = at as usize + 1;
        if self.sockets.len() < needed {
            self.sockets.resize_with(needed, || None);
        }
        self.sockets[at as usize] = Some(socket);
        if let Err(error) = added {
            self.lose(at, loss(error));
        }
    }

    /// Closes the socket of a connection that is lost, and says so.
    pub(super) fn lose(&mut self, at: u32, loss: Loss) {
        self.sockets[at as usize] = None;
        self.machine.lost(at, loss);
    }

    /// Does what the machine asks for, and writes what it has to write.
    pub(super) fn act_and_write(&mut self) {
        loop {
            self.act_all();
            let Some(at) = self.machine.transmit() else {
                break;
            };
            self.write(at);
        }
    }

    /// Does what the machine asks for, before a number that it has used again is taken for what it was.
    pub(super) fn act_all(&mut self) {
        while let Some(action) = self.machine.action() {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Connect {
                connection,
                peer,
                rail,
            } => {
                self.serial += 1;
                let to = self.addresses[peer as usize][rail as usize];
                match Socket::connect(to, self.serial) {
                    Ok(socket) => {
                        let session = self.tls.as_ref().map(Tls::connecting);
                        self.adopt(connection, socket.with(session));
                    }
                    Err(error) => self.machine.lost(connection, loss(error)),
                }
            }
            Action::Close { connection } => {
                if let Some(socket) = self.sockets.get_mut(connection as usize) {
                    *socket = None;
                }
            }
            Action::Warn { peer, rail, loss } => {
                let line = self.warning((peer, rail), loss);
                // There is nobody to tell that nobody listens.
                let _ = std::io::stderr().lock().write_all(line.as_bytes());
            }
        }
    }

    fn write(&mut self, at: u32) {
        let Some(Some(socket)) = self.sockets.get_mut(at as usize) else {
            return;
        };
        let machine = &self.machine;
        // SAFETY: the machine shows memory of sends and puts that have neither ended nor were cancelled, which stays as it is, as
        // `Network::send` asks.
        let written = unsafe { socket.write(|show| machine.pieces(at, show)) };
        match written {
            Ok((written, all)) => {
                if written < all {
                    self.machine.blocked(at);
                }
                self.machine.written(at, written);
            }
            Err(Errno::AGAIN) => self.machine.blocked(at),
            Err(Errno::INTR) => self.machine.written(at, 0),
            Err(_) => self.end_soon(at),
        }
    }

    /// The other end takes nothing more. What it has said before that is read to its end, which says why.
    fn end_soon(&mut self, at: u32) {
        self.machine.blocked(at);
        if let Some(socket) = &mut self.sockets[at as usize] {
            socket.is_ending = true;
            if !socket.is_readable {
                socket.is_readable = true;
                self.readable.push(at);
            }
        }
    }

    /// Looks whether other hosts still answer.
    fn ask_all(&mut self, now: Instant) {
        for at in 0..self.sockets.len() {
            let Some(socket) = &mut self.sockets[at] else {
                continue;
            };
            if socket.is_connecting {
                continue;
            }
            match socket.answers(now) {
                Answers::No => self.lose(at as u32, Loss::Silent),
                Answers::Doubted => self.machine.doubted(at as u32, true),
                Answers::Yes(is_heard) => {
                    if is_heard {
                        self.machine.answered(at as u32);
                    }
                    self.machine.doubted(at as u32, false);
                }
            }
        }
    }
}

/// What epoll says of a socket.
pub(super) fn data(serial: u32, number: u32) -> epoll::EventData {
    epoll::EventData::new_u64(u64::from(serial) << 32 | u64::from(number))
}

pub(super) fn failed(error: Errno) -> NetworkError {
    NetworkError::Other(format!("the sockets of this rank fail: {error}"))
}
