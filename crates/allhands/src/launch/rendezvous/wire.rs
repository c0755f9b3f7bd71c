//! Wires: a connection's socket while ranks meet, what encrypts it, and what is to be written to it.

use crate::transport::net::tcp::tls::{Fault, Session};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::io::IoSlice;
use std::net::TcpStream;

/// A connection's socket.
pub(super) struct Wire {
    pub(super) stream: TcpStream,
    session: Option<Session>,
    pub(super) out: Vec<u8>,
    pub(super) is_connecting: bool,
    /// It is closed when all is written.
    pub(super) is_closing: bool,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, session: Option<Session>, is_connecting: bool) -> Wire {
        Wire {
            stream,
            session,
            out: Vec::new(),
            is_connecting,
            is_closing: false,
        }
    }

    /// Whether something waits until the system takes it; not what waits for the other end to be sure of this one.
    pub(super) fn is_busy(&self) -> bool {
        match &self.session {
            None => !self.out.is_empty(),
            Some(session) => {
                session.unwritten_bytes() > 0 || session.is_open() && !self.out.is_empty()
            }
        }
    }

    /// Whether both ends have become sure of each other since that was asked last, so that more can be written.
    pub(super) fn has_opened(&mut self) -> bool {
        self.session.as_mut().is_some_and(Session::has_opened)
    }

    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<usize, Fault> {
        match &mut self.session {
            Some(session) => session.read(&self.stream, into, &mut []),
            None => {
                let (bytes, _) = rustix::net::recv(&self.stream, into, RecvFlags::DONTWAIT)?;
                Ok(bytes)
            }
        }
    }

    /// Writes what it can; whether nothing waits any more.
    pub(super) fn write(&mut self) -> bool {
        while !self.out.is_empty() {
            match self.write_some() {
                Ok(written) => drop(self.out.drain(..written)),
                Err(Fault::System(Errno::AGAIN)) => break,
                Err(Fault::System(Errno::INTR)) => {}
                // What the other end has said before is still read; after that it is lost.
                Err(_) => self.out.clear(),
            }
        }
        if let Some(session) = &mut self.session
            && session.unwritten_bytes() > 0
            && !matches!(session.flush(&self.stream), Ok(true))
        {
            return false;
        }
        self.out.is_empty()
    }

    fn write_some(&mut self) -> Result<usize, Fault> {
        match &mut self.session {
            Some(session) => session.write(&self.stream, &[IoSlice::new(&self.out)]),
            None => {
                let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
                Ok(rustix::net::send(&self.stream, &self.out, flags)?)
            }
        }
    }
}
