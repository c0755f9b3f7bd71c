//! The session: one encrypted connection, between a socket and who reads and writes what is said.

use super::Fault;
use super::buffer::{Incoming, Outgoing};
use super::greeting::{Greeting, Step};
use super::record::{HEADER_BYTES, MORE_BYTES, MOST_BYTES, Opened, Records};
use crate::transport::net::tcp::protocol::handshake::{HandshakeError, is_plain};
use rustix::io::Errno;
use rustls::{ClientConfig, ServerConfig};
use std::fmt;
use std::io::IoSlice;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;

/// What is said to one who does not encrypt: TLS's alert that this version is not spoken, which an end that does not encrypt
/// knows for what it is.
const NOT_PLAIN: [u8; 7] = [0x15, 3, 3, 0, 2, 2, 70];

/// How far it is.
enum Stage {
    /// Nothing was said: who makes a connection begins when there is something to say, so one over which nothing is stays as it is.
    Connecting(Arc<ClientConfig>),
    Accepting(Arc<ServerConfig>),
    Greeting(Box<Greeting>),
    Open(Box<Records>),
    Over(Fault),
}

/// One encrypted connection.
pub(crate) struct Session {
    stage: Stage,
    incoming: Incoming,
    outgoing: Outgoing,
    /// What came right behind the greeting, and how much of it was read.
    early: (Vec<u8>, usize),
    /// What of the last record that was opened was not read.
    opened: Range<usize>,
    has_opened: bool,
    is_closed: bool,
}

impl Session {
    pub(super) fn connecting(config: Arc<ClientConfig>) -> Session {
        Session::new(Stage::Connecting(config))
    }

    pub(super) fn accepting(config: Arc<ServerConfig>) -> Session {
        Session::new(Stage::Accepting(config))
    }

    fn new(stage: Stage) -> Session {
        Session {
            stage,
            incoming: Incoming::default(),
            outgoing: Outgoing::default(),
            early: (Vec::new(), 0),
            opened: 0..0,
            has_opened: false,
            is_closed: false,
        }
    }

    /// Reads what was said, to one place and then to another, as `readv` does: none where nothing more comes.
    ///
    /// # Errors
    /// `AGAIN` where there is nothing now, and whatever else ends the connection.
    pub(crate) fn read(
        &mut self,
        socket: &impl AsFd,
        first: &mut [u8],
        then: &mut [u8],
    ) -> Result<usize, Fault> {
        let mut bytes = 0;
        loop {
            bytes += self.deliver(first, then, bytes);
            if bytes == first.len() + then.len() {
                return Ok(bytes);
            }
            match self.open_next() {
                Ok(true) => continue,
                Ok(false) if bytes > 0 => return Ok(bytes),
                Ok(false) if self.is_closed => return Ok(0),
                Ok(false) => {}
                // What came before is read first.
                Err(_) if bytes > 0 => return Ok(bytes),
                Err(fault) => return Err(fault),
            }
            if self.incoming.fill(socket)? == 0 {
                return Ok(0);
            }
            self.greet(socket)?;
        }
    }

    /// Puts what is open where it is wanted, of which so much is there; how much.
    fn deliver(&mut self, first: &mut [u8], then: &mut [u8], before: usize) -> usize {
        let (early, read) = &mut self.early;
        let said = match early.len() - *read {
            0 => self.incoming.opened(self.opened.clone()),
            _ => &early[*read..],
        };
        let place = before.min(first.len());
        let first = &mut first[place..];
        let then = &mut then[before - place..];
        let now = said.len().min(first.len());
        first[..now].copy_from_slice(&said[..now]);
        let later = (said.len() - now).min(then.len());
        then[..later].copy_from_slice(&said[now..now + later]);
        match early.len() - *read {
            0 => self.opened.start += now + later,
            _ => *read += now + later,
        }
        now + later
    }

    /// Opens the next record, if the last one is read and one is whole; whether there may be something to read then.
    fn open_next(&mut self) -> Result<bool, Fault> {
        let records = match &mut self.stage {
            Stage::Open(records) => records,
            Stage::Over(fault) => return Err(*fault),
            Stage::Connecting(_) | Stage::Accepting(_) | Stage::Greeting(_) => return Ok(false),
        };
        if self.is_closed {
            return Ok(false);
        }
        let opened = Records::length(self.incoming.bytes()).and_then(|length| {
            let length = length.filter(|length| *length <= self.incoming.bytes().len());
            let Some(length) = length else {
                return Ok(false);
            };
            let begin = self.incoming.begin();
            match records.open(&mut self.incoming.bytes_mut()[..length])? {
                Opened::Data(said) => self.opened = begin + said.start..begin + said.end,
                Opened::Nothing => {}
                Opened::Close => self.is_closed = true,
            }
            self.incoming.discard(length);
            Ok(true)
        });
        opened.inspect_err(|fault| self.stage = Stage::Over(*fault))
    }

    /// Takes the greeting further by what came, if it is not over.
    fn greet(&mut self, socket: &impl AsFd) -> Result<(), Fault> {
        if matches!(self.stage, Stage::Open(_) | Stage::Over(_)) {
            return Ok(());
        }
        let greeted = self.take_greeting();
        // Who is refused is told so, if it still listens.
        let flushed = self.outgoing.flush(socket);
        if let Err(fault) = greeted {
            self.stage = Stage::Over(fault);
            return Err(fault);
        }
        flushed?;
        Ok(())
    }

    fn take_greeting(&mut self) -> Result<(), Fault> {
        let is_new = matches!(self.stage, Stage::Accepting(_));
        if is_plain(self.incoming.bytes()) && (is_new || matches!(self.stage, Stage::Greeting(_))) {
            if is_new {
                self.outgoing.room()[..NOT_PLAIN.len()].copy_from_slice(&NOT_PLAIN);
                self.outgoing.add(NOT_PLAIN.len());
            }
            return Err(Fault::Refused(HandshakeError::Plain));
        }
        self.begin()?;
        let Stage::Greeting(greeting) = &mut self.stage else {
            return Ok(());
        };
        let (incoming, outgoing) = (&mut self.incoming, &mut self.outgoing);
        match greeting.advance(incoming, outgoing, &mut self.early.0)? {
            Step::More => Ok(()),
            Step::Done => self.open(),
        }
    }

    /// Begins with the greeting.
    fn begin(&mut self) -> Result<(), Fault> {
        let greeting = match &self.stage {
            Stage::Connecting(config) => Greeting::connecting(Arc::clone(config))?,
            Stage::Accepting(config) => Greeting::accepting(Arc::clone(config))?,
            Stage::Greeting(_) | Stage::Open(_) | Stage::Over(_) => return Ok(()),
        };
        self.stage = Stage::Greeting(Box::new(greeting));
        Ok(())
    }

    /// Both ends are sure of each other.
    fn open(&mut self) -> Result<(), Fault> {
        let before = Stage::Over(Fault::Refused(HandshakeError::Garbage));
        if let Stage::Greeting(greeting) = std::mem::replace(&mut self.stage, before) {
            self.stage = Stage::Open(Box::new(greeting.records()?));
            self.has_opened = true;
        }
        Ok(())
    }

    /// Seals what these pieces say, as much as there is room for, and writes it, as far as the system takes it: how many bytes of them.
    /// What was sealed and not written goes with [`flush`](Session::flush), or with the next.
    ///
    /// # Errors
    /// `AGAIN` where nothing is taken now, and whatever else ends the connection.
    pub(crate) fn write(
        &mut self,
        socket: &impl AsFd,
        pieces: &[IoSlice<'_>],
    ) -> Result<usize, Fault> {
        if matches!(self.stage, Stage::Connecting(_)) {
            self.greet(socket)?;
        }
        match &self.stage {
            Stage::Open(_) if self.outgoing.flush(socket)? => {}
            Stage::Over(fault) => return Err(*fault),
            _ => return Err(Errno::AGAIN.into()),
        }
        let bytes = self.seal(pieces)?;
        self.outgoing.flush(socket)?;
        Ok(bytes)
    }

    /// Seals what there is room for; how many bytes.
    fn seal(&mut self, pieces: &[IoSlice<'_>]) -> Result<usize, Fault> {
        let Stage::Open(records) = &mut self.stage else {
            return Ok(0);
        };
        let mut left = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        let (mut pieces, mut piece) = (pieces.iter(), &[][..]);
        let mut all = 0;
        while left > 0 {
            let renewal = records.first_bytes();
            let room = self.outgoing.room();
            if room.len() <= renewal + MORE_BYTES {
                break;
            }
            if renewal > 0 {
                let bytes = records.renew(room)?;
                self.outgoing.add(bytes);
            }
            let room = self.outgoing.room();
            let bytes = left.min(MOST_BYTES).min(room.len() - MORE_BYTES);
            let mut to = &mut room[HEADER_BYTES..HEADER_BYTES + bytes];
            while !to.is_empty() {
                if piece.is_empty() {
                    piece = pieces.next().map_or(&[], |next| next);
                    continue;
                }
                let (now, later) = piece.split_at(piece.len().min(to.len()));
                let (here, there) = to.split_at_mut(now.len());
                here.copy_from_slice(now);
                (to, piece) = (there, later);
            }
            let record = records.seal(room, bytes)?;
            self.outgoing.add(record);
            (left, all) = (left - bytes, all + bytes);
        }
        Ok(all)
    }

    /// Writes what was sealed and waits; whether nothing does any more.
    pub(crate) fn flush(&mut self, socket: &impl AsFd) -> Result<bool, Fault> {
        Ok(self.outgoing.flush(socket)?)
    }

    /// Seals that nothing more comes from this end; it goes with [`flush`](Session::flush).
    pub(crate) fn close(&mut self) {
        if let Stage::Open(records) = &mut self.stage {
            let room = self.outgoing.room();
            // Where there is none the end comes without this word, which is not needed: what is said over it has an end of its own.
            if room.len() > 2 + MORE_BYTES
                && let Ok(bytes) = records.seal_close(room)
            {
                self.outgoing.add(bytes);
            }
        }
    }

    /// How many bytes were sealed, and are not with the system.
    pub(crate) fn unwritten_bytes(&self) -> usize {
        self.outgoing.len()
    }

    /// Whether there is more to be read, though the system may not tell: what was opened, records that are whole, or what was not
    /// read of the socket.
    pub(crate) fn has_more(&self) -> bool {
        let (early, read) = &self.early;
        let bytes = self.incoming.bytes();
        let is_whole = || {
            Records::length(bytes).is_ok_and(|length| length.is_some_and(|it| it <= bytes.len()))
        };
        early.len() > *read
            || !self.opened.is_empty()
            || self.incoming.is_more
            || self.is_closed
            || matches!(self.stage, Stage::Over(_))
            || matches!(self.stage, Stage::Open(_)) && is_whole()
    }

    /// The system has told that there is more in the socket: what is read next may be what was opened, or came, before that.
    pub(crate) fn note_more(&mut self) {
        self.incoming.is_more = true;
    }

    /// Whether both ends are sure of each other.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open(_))
    }

    /// Whether both ends have become sure of each other since that was asked last, so that something can be written.
    pub(crate) fn has_opened(&mut self) -> bool {
        std::mem::take(&mut self.has_opened)
    }

    #[cfg(test)]
    pub(super) fn records(&mut self) -> Option<&mut Records> {
        match &mut self.stage {
            Stage::Open(records) => Some(records),
            _ => None,
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}
