//! Sockets: what the driver asks the kernel for.

use super::protocol::handshake::Nonce;
use super::protocol::peer::Loss;
use super::protocol::rank::Piece;
use super::tls::{Fault, Session};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType, sockopt,
};
use rustix::rand::{GetRandomFlags, getrandom};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The most pieces that are written at once: of a greeting, and of headers and payloads.
const MOST_PIECES: usize = 34;

/// As much is copied into one piece before it is written.
const COPIED_BYTES: usize = 512;

/// How long the other end's kernel may leave something unacknowledged.
const SILENT_FOR: Duration = Duration::from_secs(4);

/// One connection's socket.
#[derive(Debug)]
pub(super) struct Socket {
    descriptor: OwnedFd,
    /// Which of all sockets of this rank it is, as numbers of connections are used again.
    pub(super) serial: u32,
    /// Whether the kernel still makes the connection.
    pub(super) is_connecting: bool,
    /// Whether there may be something to read.
    pub(super) is_readable: bool,
    /// Whether the other end sends nothing more, so that it is read to its end.
    pub(super) is_ending: bool,
    /// For how many looks more a long message is held that comes here and that nobody has asked for.
    pub(super) holds: u8,
    /// What encrypts it, if something does.
    session: Option<Box<Session>>,
    /// Since when it has been seen to wait for an acknowledgement.
    waits_since: Option<Instant>,
    looked: Instant,
}

/// What the other end's kernel says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// As far as anybody can tell, it is there; whether it was heard since the last look.
    Yes(bool),
    /// It had no room when it was heard last, or has not answered something yet.
    Doubted,
    /// Nothing, for too long.
    No,
}

impl Socket {
    /// Begins to connect to an address.
    pub(super) fn connect(to: SocketAddr, serial: u32) -> Result<Socket, Errno> {
        let family = match to {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let descriptor = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        match rustix::net::connect(&descriptor, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error),
        }
        let mut socket = Socket::accepted(descriptor, serial)?;
        socket.is_connecting = true;
        Ok(socket)
    }

    /// A connection that was accepted.
    pub(super) fn accepted(descriptor: OwnedFd, serial: u32) -> Result<Socket, Errno> {
        sockopt::set_tcp_nodelay(&descriptor, true)?;
        // An idle connection to a host that is gone ends within three seconds.
        sockopt::set_socket_keepalive(&descriptor, true)?;
        sockopt::set_tcp_keepidle(&descriptor, Duration::from_secs(1))?;
        sockopt::set_tcp_keepintvl(&descriptor, Duration::from_secs(1))?;
        sockopt::set_tcp_keepcnt(&descriptor, 2)?;
        Ok(Socket {
            descriptor,
            serial,
            is_connecting: false,
            is_readable: false,
            is_ending: false,
            holds: 0,
            session: None,
            waits_since: None,
            looked: Instant::now(),
        })
    }

    /// The same, encrypted if there is a session for it.
    pub(super) fn with(mut self, session: Option<Session>) -> Socket {
        self.session = session.map(Box::new);
        self
    }

    /// How connecting has ended.
    pub(super) fn outcome(&self) -> Result<(), Errno> {
        sockopt::socket_error(&self.descriptor)?
    }

    /// Reads into memory, first of the user's or the machine's, and then of the driver's.
    pub(super) fn read(&mut self, first: &mut [u8], then: &mut [u8]) -> Result<usize, Fault> {
        if let Some(session) = &mut self.session {
            return session.read(&self.descriptor, first, then);
        }
        if first.is_empty() {
            let (bytes, _) = rustix::net::recv(&self.descriptor, then, RecvFlags::DONTWAIT)?;
            return Ok(bytes);
        }
        let mut slices = [IoSliceMut::new(first), IoSliceMut::new(then)];
        Ok(rustix::io::readv(&self.descriptor, &mut slices)?)
    }

    /// Whether there is more to be read of which the system does not tell.
    pub(super) fn has_more(&self) -> bool {
        self.session.as_ref().is_some_and(|it| it.has_more())
    }

    /// The system has told that there is more to be read, which it does once.
    pub(super) fn note_more(&mut self) {
        if let Some(session) = &mut self.session {
            session.note_more();
        }
    }

    /// Whether something can be written now, as both ends of an encrypted connection have just become sure of each other.
    pub(super) fn has_opened(&mut self) -> bool {
        self.session.as_mut().is_some_and(|it| it.has_opened())
    }

    /// Writes what was encrypted and waits. What goes wrong is found when more is written, or read.
    pub(super) fn flush(&mut self) {
        if let Some(session) = &mut self.session {
            let _ = session.flush(&self.descriptor);
        }
    }

    /// Says that nothing more comes, where that must be said.
    pub(super) fn close(&mut self) {
        if let Some(session) = &mut self.session {
            session.close();
        }
        self.flush();
    }

    /// Writes what a machine shows, if the kernel takes it: how many bytes, and of how many.
    ///
    /// # Safety
    /// The memory of the user's that is shown is readable, and nobody writes it meanwhile.
    pub(super) unsafe fn write<'a>(
        &mut self,
        pieces: impl FnOnce(&mut dyn FnMut(Piece<'a>)),
    ) -> Result<(usize, usize), Errno> {
        let mut slices = [IoSlice::new(&[]); MOST_PIECES];
        let (mut count, mut bytes) = (0, 0);
        pieces(&mut |piece| {
            let slice = match piece {
                Piece::Own(own) => own,
                // Which may be nowhere.
                Piece::Users(span) if span.bytes == 0 => return,
                Piece::Users(span) => {
                    let address = std::ptr::with_exposed_provenance(span.address);
                    // SAFETY: memory of a message under way, of this length, whose address was exposed when it began; it is
                    // readable, as the caller promises, and the slice is used in this function alone.
                    unsafe { std::slice::from_raw_parts(address, span.bytes) }
                }
            };
            if count < MOST_PIECES && !slice.is_empty() {
                slices[count] = IoSlice::new(slice);
                (count, bytes) = (count + 1, bytes + slice.len());
            }
        });
        if let Some(session) = &mut self.session {
            return match session.write(&self.descriptor, &slices[..count]) {
                // Where all is with the kernel it takes more, though not all was encrypted at once: it would not tell of room again.
                Ok(written) if session.unwritten_bytes() == 0 => Ok((written, written)),
                Ok(written) => Ok((written, bytes)),
                Err(Fault::System(error)) => Err(error),
                // Whoever reads hears why.
                Err(Fault::Refused(_) | Fault::Changed) => Err(Errno::CONNABORTED),
            };
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        if bytes <= COPIED_BYTES {
            // One piece costs the kernel less than several, by more than it costs to copy them.
            let mut copy = [0; COPIED_BYTES];
            let mut end = 0;
            for slice in &slices[..count] {
                copy[end..end + slice.len()].copy_from_slice(slice);
                end += slice.len();
            }
            let written = rustix::net::send(&self.descriptor, &copy[..end], flags)?;
            return Ok((written, bytes));
        }
        let mut no_control = SendAncillaryBuffer::default();
        let written =
            rustix::net::sendmsg(&self.descriptor, &slices[..count], &mut no_control, flags)?;
        Ok((written, bytes))
    }

    /// How many bytes were encrypted, and are not with the kernel.
    pub(super) fn unwritten(&self) -> u64 {
        let session = self.session.as_ref();
        session.map_or(0, |it| it.unwritten_bytes() as u64)
    }

    /// How many bytes that were written the other end's kernel has not acknowledged; none where the own one does not say. Those that
    /// are encrypted are a little more than what they say.
    pub(super) fn unacknowledged(&self) -> u64 {
        let mut queued: libc::c_int = 0;
        // SAFETY: a request that writes a number, to a number.
        let code =
            unsafe { libc::ioctl(self.descriptor.as_raw_fd(), libc::TIOCOUTQ, &raw mut queued) };
        self.unwritten() + if code == 0 { queued.max(0) as u64 } else { 0 }
    }

    /// Whether everything that was written is with the other end's kernel.
    pub(super) fn is_sent(&self) -> bool {
        self.unacknowledged() == 0
    }

    /// What the other end's kernel says. That of a host that is gone has not acknowledged anything for long, though it should have;
    /// that of a rank that only does not read does.
    pub(super) fn answers(&mut self, now: Instant) -> Answers {
        let Some(info) = self.info() else {
            return Answers::Yes(false);
        };
        // Where the other end's memory is full, the kernel asks again, ever more seldom, and is answered.
        let is_waiting = info.tcpi_unacked > 0 || info.tcpi_probes > 0;
        let since_look = now.saturating_duration_since(self.looked);
        let last = info.tcpi_last_ack_recv.min(info.tcpi_last_data_recv);
        let has_heard = Duration::from_millis(last.into()) < since_look;
        self.looked = now;
        if is_waiting && !has_heard {
            let since = *self.waits_since.get_or_insert(now);
            if now.saturating_duration_since(since) >= SILENT_FOR {
                return Answers::No;
            }
            return Answers::Doubted;
        } else {
            self.waits_since = None;
        }
        // What is neither sent nor acknowledged has no room.
        match info.tcpi_unacked == 0 && !self.is_sent() {
            true => Answers::Doubted,
            false => Answers::Yes(has_heard),
        }
    }

    fn info(&self) -> Option<libc::tcp_info> {
        let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
        let mut bytes = size_of::<libc::tcp_info>() as libc::socklen_t;
        // SAFETY: a level and an option that write at most `bytes` bytes, of which there is memory.
        let code = unsafe {
            libc::getsockopt(
                self.descriptor.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                info.as_mut_ptr().cast(),
                &raw mut bytes,
            )
        };
        // SAFETY: numbers, all of which may be zero, as they were, or are what the kernel has written.
        (code == 0).then(|| unsafe { info.assume_init() })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// What an error of the system says of a connection.
pub(super) fn loss(error: Errno) -> Loss {
    match error {
        Errno::CONNREFUSED => Loss::Refused,
        Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Loss::Closed,
        Errno::TIMEDOUT => Loss::Silent,
        Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN | Errno::NETDOWN => {
            Loss::Unreachable(error.raw_os_error())
        }
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM => {
            Loss::Shortage(error.raw_os_error())
        }
        other => Loss::System(other.raw_os_error()),
    }
}

/// A number that was never used before, as the system draws it.
pub(crate) fn nonce() -> Result<Nonce, Errno> {
    let mut nonce = Nonce::default();
    match getrandom(&mut nonce[..], GetRandomFlags::empty())? {
        bytes if bytes == nonce.len() => Ok(nonce),
        _ => Err(Errno::AGAIN),
    }
}
