//! The driver as a network: messages, tickets and notices.

use super::driver::TcpNetwork;
use super::protocol::Span;
use super::protocol::frame::NOTICE_BYTES;
use super::protocol::matching::End;
use super::protocol::peer::LostPeer;
use super::protocol::rank::Message;
use crate::transport::net::{Ended, LostRank, Network, NetworkError, Notice, Sleep, Ticket};
use crate::transport::shm::wait::doorbell::Doorbell;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

// SAFETY: the machine touches, or shows to the driver, memory of messages alone that have neither ended nor were cancelled: a
// send ends when all of it is with the kernel or copied, a receive when all of it has landed, and cancelling one of either takes
// it out of all that the machine shows. The driver keeps no span from one call of the machine to the next. Parts of a message
// lie inside it, as frames are checked for that, and a message longer than its receive goes nowhere.
unsafe impl Network for TcpNetwork {
    fn tags(&self) -> u32 {
        self.tags
    }

    fn sign(&mut self, signature: u64) {
        self.signature = signature;
    }

    unsafe fn send(
        &mut self,
        to: u32,
        tag: u32,
        from: *const u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        self.check(to, tag)?;
        self.begin_with(to);
        self.measure();
        let signature = self.signature;
        let address = from.expose_provenance();
        let sent = self
            .machine
            .send(to, tag, Span { address, bytes }, signature);
        self.act_and_write();
        sent.map(ticket).map_err(|lost| self.failed_by(lost))
    }

    unsafe fn receive(
        &mut self,
        from: u32,
        tag: u32,
        into: *mut u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        self.check(from, tag)?;
        self.begin_with(from);
        let address = into.expose_provenance();
        let (into, signature) = (Span { address, bytes }, self.signature);
        let received = self.machine.receive(from, tag, into, signature);
        self.act_and_write();
        Ok(ticket(received))
    }

    fn test(&mut self, ticket: Ticket) -> Result<Option<Ended>, NetworkError> {
        match self.machine.test(message(ticket)) {
            Ok(end) => Ok(end.map(|end| match end {
                End::Whole(bytes) => Ended::Whole(bytes),
                End::TooLong => Ended::TooLong,
                End::Differs => Ended::Differs,
            })),
            Err(lost) => Err(self.failed_by(lost)),
        }
    }

    fn progress(&mut self) -> Result<(), NetworkError> {
        self.look(Duration::ZERO).map(|_| ())
    }

    fn is_away(&mut self) -> bool {
        // What is encrypted goes by way of a buffer.
        let is_written = || self.sockets.iter().flatten().all(|it| it.unwritten() == 0);
        self.machine.is_drained() && (self.tls.is_none() || is_written())
    }

    fn doorbell(&self) -> Option<u32> {
        self.doorbell.as_ref().map(Doorbell::name)
    }

    fn sleep(&mut self, limit: Duration) -> Result<Sleep, NetworkError> {
        Ok(match self.look(self.patience(limit))? {
            0 => Sleep::Over,
            _ => Sleep::Woken,
        })
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        self.machine.cancel(message(ticket));
        self.act_and_write();
        true
    }

    fn notify(&mut self, to: u32, notice: &Notice) {
        const { assert!(Notice::BYTES == NOTICE_BYTES) };
        if self.check(to, 0).is_ok() {
            self.begin();
            self.machine.notify(to, &notice.0, notice.must_come());
            self.act_and_write();
        }
    }

    fn retire(&mut self, tags: Range<u32>) -> bool {
        self.begin();
        self.machine.retire(tags);
        self.act_and_write();
        true
    }

    fn readmit(&mut self, tags: Range<u32>) {
        self.machine.readmit(tags);
    }

    fn hear(&mut self) -> Option<(u32, Notice)> {
        let (from, notice) = self.machine.hear()?;
        Some((from, Notice(*notice)))
    }
}

impl TcpNetwork {
    /// What becomes readable when there is something to look at, or the doorbell is rung.
    pub(in crate::transport::net) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// That the host of a rank answers no more, if that is so.
    pub(in crate::transport::net) fn silence(&self, rank: u32) -> Option<NetworkError> {
        let loss = self.machine.loss(rank).filter(|loss| loss.is_silence())?;
        Some(self.failed_by(LostPeer { rank, loss }))
    }

    fn failed_by(&self, lost: LostPeer) -> NetworkError {
        NetworkError::Lost(LostRank {
            rank: lost.rank,
            host: self.host(lost.rank).map(String::from),
            cause: lost.loss.into(),
        })
    }
}

fn ticket(message: Message) -> Ticket {
    Ticket(match message {
        Message::Send(at) => u64::from(at) << 1,
        Message::Receive(at) => u64::from(at) << 1 | 1,
    })
}

fn message(Ticket(number): Ticket) -> Message {
    let at = (number >> 1) as u32;
    match number & 1 {
        0 => Message::Send(at),
        _ => Message::Receive(at),
    }
}
