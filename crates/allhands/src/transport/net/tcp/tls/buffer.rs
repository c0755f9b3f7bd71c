//! Buffers: bytes of a connection between its socket and its session, as many as have room.

use super::record::{MORE_BYTES, MOST_BYTES, MOST_RECORD_BYTES};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::ops::Range;
use std::os::fd::AsFd;

/// How many long records are read, and written, at once: a call to the system costs a fifth of what it takes to seal one.
const RECORDS: usize = 4;

/// The room for what comes.
const INCOMING_BYTES: usize = RECORDS * MOST_RECORD_BYTES;
/// The room for what goes.
pub(super) const OUTGOING_BYTES: usize = RECORDS * (MOST_BYTES + MORE_BYTES);

/// What came, and was not opened. There is no memory before something comes, so a stranger that says nothing costs none.
#[derive(Default)]
pub(super) struct Incoming {
    memory: Box<[u8]>,
    begin: usize,
    end: usize,
    /// Whether there may be more in the socket.
    pub(super) is_more: bool,
}

impl Incoming {
    /// Reads from a socket, behind what is there; how many bytes, of which there are none when nothing more comes.
    pub(super) fn fill(&mut self, socket: &impl AsFd) -> Result<usize, Errno> {
        if self.memory.is_empty() {
            self.memory = vec![0; INCOMING_BYTES].into();
        }
        // There is room for what is missing of the longest record, as no record that is whole stays here.
        self.memory.copy_within(self.begin..self.end, 0);
        (self.begin, self.end) = (0, self.end - self.begin);
        let room = &mut self.memory[self.end..];
        let asked = room.len();
        self.is_more = false;
        let (bytes, _) = rustix::net::recv(socket, room, RecvFlags::DONTWAIT)?;
        self.end += bytes;
        self.is_more = bytes == asked;
        Ok(bytes)
    }

    /// What is there.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.begin..self.end]
    }

    /// The same, to be opened in place.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..self.end]
    }

    /// Lets go of bytes at the front.
    pub(super) fn discard(&mut self, bytes: usize) {
        self.begin += bytes;
    }

    /// The front of what is there lies here.
    pub(super) fn begin(&self) -> usize {
        self.begin
    }

    /// Bytes that were opened, and let go of since, until more is read.
    pub(super) fn opened(&self, at: Range<usize>) -> &[u8] {
        &self.memory[at]
    }
}

/// What is to be written, sealed.
#[derive(Default)]
pub(super) struct Outgoing {
    memory: Box<[u8]>,
    begin: usize,
    end: usize,
}

impl Outgoing {
    /// How much waits.
    pub(super) fn len(&self) -> usize {
        self.end - self.begin
    }

    /// Where more goes.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.memory.is_empty() {
            self.memory = vec![0; OUTGOING_BYTES].into();
        }
        &mut self.memory[self.end..]
    }

    /// So much more is there.
    pub(super) fn add(&mut self, bytes: usize) {
        self.end += bytes;
    }

    /// Writes what waits; whether nothing does any more.
    pub(super) fn flush(&mut self, socket: &impl AsFd) -> Result<bool, Errno> {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        while self.begin < self.end {
            let waits = &self.memory[self.begin..self.end];
            match rustix::net::send(socket, waits, flags) {
                Ok(bytes) => self.begin += bytes,
                Err(Errno::AGAIN) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        (self.begin, self.end) = (0, 0);
        Ok(true)
    }
}
