//! The driver as a network: messages, tickets and notices.

use super::driver::TcpNetwork;
use super::protocol::Span;
use super::protocol::frame::NOTICE_BYTES;
use super::protocol::matching::End;
use super::protocol::peer::LostPeer;
use super::protocol::rank::Message;
use crate::transport::net::{
    Descriptor, Ended, Exposed, LostRank, Network, NetworkError, Notice, Raised, RemoteWindow,
    SignedCall, Sleep, Ticket, ToSend, WindowMemory,
};
use crate::transport::shm::wait::doorbell::Doorbell;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

// SAFETY: the machine touches, or shows to the driver, memory of messages alone that have neither ended nor were cancelled: a
// send ends when all of it is with the kernel or copied, a receive when all of it has landed, and cancelling one of either takes
// it out of all that the machine shows; a put ends as a send does. Memory of windows is shown only until they are withdrawn, and what
// is put there is checked to lie inside. The driver keeps no span from one call of the machine to the next. Parts of a message
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

    unsafe fn send_unasked(
        &mut self,
        to: u32,
        both: [ToSend; 2],
    ) -> Result<Option<[Ticket; 2]>, NetworkError> {
        for message in &both {
            self.check(to, message.tag)?;
        }
        let [_, long] = &both;
        if !self.machine.goes_unasked(to, long.bytes) {
            return Ok(None);
        }
        self.begin_with(to);
        self.measure();
        let signature = self.signature;
        let [short, long] = both.map(|ToSend { tag, from, bytes }| {
            let address = from.expose_provenance();
            self.machine
                .send(to, tag, Span { address, bytes }, signature)
                .map(ticket)
        });
        // What goes over one connection is written at once.
        self.act_and_write();
        let both = short.and_then(|short| Ok(Some([short, long?])));
        both.map_err(|lost| self.failed_by(lost))
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

    fn has_windows(&self) -> bool {
        true
    }

    unsafe fn expose(
        &mut self,
        (base, bytes): (*mut u8, usize),
        flags: u16,
        _: &[u32],
    ) -> Result<Exposed, NetworkError> {
        let address = base.expose_provenance();
        let number = self.machine.expose(Span { address, bytes }, flags);
        let number = number.ok_or_else(|| {
            NetworkError::Other(format!("rank {} has no more windows to expose", self.rank))
        })?;
        let number = u64::from(number);
        Ok(Exposed {
            number,
            descriptor: Descriptor::of_words([number, bytes as u64, 0, 0]),
        })
    }

    /// All that is put is read from sockets here, so nobody touches the memory from now on, and what keeps it may go.
    fn withdraw(&mut self, window: u64, _: WindowMemory) {
        self.machine.withdraw(window as u32);
    }

    unsafe fn put(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        offset: usize,
        (from, bytes): (*const u8, usize),
    ) -> Result<Ticket, NetworkError> {
        self.check(to, 0)?;
        let [number, all, ..] = window.descriptor.words();
        let end = offset.checked_add(bytes);
        if end.is_none_or(|end| end as u64 > all) {
            let why = format!("{bytes} bytes at {offset} lie outside a window of {all}");
            return Err(NetworkError::Other(why));
        }
        self.begin_with(to);
        self.measure();
        let address = from.expose_provenance();
        let stream = (number as u32, window.count);
        let put = self
            .machine
            .put(to, stream, offset as u64, Span { address, bytes });
        window.count += bytes as u64;
        // It is written together with the flag that is raised after it, or by the next look.
        self.act_all();
        put.map(ticket).map_err(|lost| self.failed_by(lost))
    }

    fn raise(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        flag: u16,
        SignedCall { call, signature }: SignedCall,
    ) -> Result<(), NetworkError> {
        self.check(to, 0)?;
        self.begin_with(to);
        let [number, ..] = window.descriptor.words();
        let stream = (number as u32, window.count);
        let raised = self.machine.raise(to, stream, flag, (call, signature));
        window.count += 1;
        self.act_and_write();
        raised.map_err(|lost| self.failed_by(lost))
    }

    fn raised(&mut self) -> Option<Raised> {
        let raised = self.machine.raised()?;
        Some(Raised {
            from: raised.from,
            window: u64::from(raised.window),
            flag: raised.flag,
            by: SignedCall {
                call: raised.call,
                signature: raised.signature,
            },
        })
    }

    fn attend(&mut self, from: u32) -> Result<Ticket, NetworkError> {
        self.check(from, 0)?;
        self.begin_with(from);
        let attends = self.machine.attend(from);
        self.act_and_write();
        Ok(ticket(attends))
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
    let (at, kind) = match message {
        Message::Send(at) => (at, 0),
        Message::Receive(at) => (at, 1),
        Message::Peer(peer) => (peer, 2),
    };
    Ticket(u64::from(at) << 2 | kind)
}

fn message(Ticket(number): Ticket) -> Message {
    let at = (number >> 2) as u32;
    match number & 3 {
        0 => Message::Send(at),
        1 => Message::Receive(at),
        _ => Message::Peer(at),
    }
}
