//! Reading: what comes over connections, and where it goes.

use super::driver::TcpNetwork;
use super::protocol::peer::Loss;
use super::protocol::rank::Target;
use super::tls::Fault;
use rustix::io::Errno;

/// How much is read beyond what has its place: the next header, and a short payload behind it.
const AHEAD_BYTES: usize = 4 << 10;
/// How much is read at once of what nobody wants.
pub(super) const STAGED_BYTES: usize = 64 << 10;
/// How often a connection is read in one look, so that no other waits for long.
const MOST_READS: usize = 16;
/// For how many looks a long message is held that nobody has asked for: whoever waits looks for several reasons before it has done what
/// it has just been told.
const HELD_LOOKS: u8 = 4;

impl TcpNetwork {
    /// Reads all connections that may have something.
    pub(super) fn read_all(&mut self) {
        let mut reading = std::mem::replace(&mut self.readable, std::mem::take(&mut self.reading));
        for at in reading.drain(..) {
            let before = self.machine.unasked(at);
            for _ in 0..self.reads(at, before.is_some()) {
                let is_more = self.read(at);
                // A connection that the machine has closed is not read any more.
                self.act_all();
                // Of a long message that nobody has asked for the rest is read later: whoever was told of it in this look may have
                // by then.
                let unasked = self.machine.unasked(at);
                if unasked.is_some() && unasked != before {
                    self.hold(at);
                    break;
                }
                if !is_more {
                    break;
                }
            }
            let socket = self.sockets.get(at as usize).and_then(Option::as_ref);
            if socket.is_some_and(|socket| socket.is_readable) && !self.readable.contains(&at) {
                self.readable.push(at);
            }
        }
        self.reading = reading;
    }

    /// How often a connection is read in this look: not at all while what comes there is held.
    fn reads(&mut self, at: u32, is_unasked: bool) -> usize {
        match self.sockets.get_mut(at as usize) {
            Some(Some(socket)) if is_unasked && socket.holds > 0 => {
                socket.holds -= 1;
                0
            }
            _ => MOST_READS,
        }
    }

    /// Holds what comes over a connection for some looks, or until it is asked for.
    fn hold(&mut self, at: u32) {
        if let Some(Some(socket)) = self.sockets.get_mut(at as usize) {
            socket.holds = HELD_LOOKS;
        }
    }

    /// Reads once: what has its place goes there; whether there may be more.
    fn read(&mut self, at: u32) -> bool {
        let Some(Some(socket)) = self.sockets.get_mut(at as usize) else {
            return false;
        };
        if !socket.is_readable {
            return false;
        }
        let ahead = &mut self.staging[..AHEAD_BYTES];
        let (read, placed, asked) = match self.machine.target(at) {
            Target::Protocol => (socket.read(&mut [], ahead), 0, AHEAD_BYTES),
            Target::Nowhere(bytes) => {
                let most = bytes.clamp(AHEAD_BYTES, STAGED_BYTES);
                (socket.read(&mut [], &mut self.staging[..most]), 0, most)
            }
            Target::Own(own) => {
                let bytes = own.len();
                (socket.read(own, ahead), bytes, bytes + AHEAD_BYTES)
            }
            Target::Users(span) => {
                let address = std::ptr::with_exposed_provenance_mut(span.address);
                // SAFETY: memory of a receive that has neither ended nor was cancelled, or of a window that is not withdrawn, which is
                // writable and used by nobody else, as `Network::receive` and `Network::expose` ask; its address was exposed
                // there. The slice is gone before the machine is called again.
                let users = unsafe { std::slice::from_raw_parts_mut(address, span.bytes) };
                (
                    socket.read(users, ahead),
                    span.bytes,
                    span.bytes + AHEAD_BYTES,
                )
            }
        };
        if socket.has_opened() {
            self.machine.writable(at);
        }
        match read {
            Ok(0) => self.lose(at, Loss::Closed),
            Ok(bytes) => {
                // Less than was asked for is all that there was, unless the end is behind it.
                socket.is_readable = bytes == asked || socket.is_ending || socket.has_more();
                let is_more = socket.is_readable;
                self.hot = at;
                self.has_read = true;
                let landed = bytes.min(placed);
                if landed > 0 {
                    self.machine.landed(at, landed);
                }
                if bytes > landed {
                    self.machine.arrived(at, &self.staging[..bytes - landed]);
                }
                return is_more;
            }
            Err(Fault::System(Errno::AGAIN)) => socket.is_readable = false,
            Err(Fault::System(Errno::INTR)) => return true,
            Err(fault) => self.lose(at, fault.loss()),
        }
        false
    }
}
