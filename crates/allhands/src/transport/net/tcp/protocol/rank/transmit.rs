//! Transmitting: what is written, and what follows when it is.

use super::{Piece, Rank};
use crate::transport::net::tcp::protocol::matching::End;
use crate::transport::net::tcp::protocol::memory::Memory;
use crate::transport::net::tcp::protocol::peer::Loss;

/// What a connection may have taken without acknowledging it: more than all that systems hold between two ends.
const MOST_UNACKNOWLEDGED_BYTES: u64 = 1 << 30;
const MOST_UNACKNOWLEDGED: u32 = 1 << 22;

impl<M: Memory> Rank<M> {
    /// The next connection that has something to write and whose socket may take it.
    pub fn transmit(&mut self) -> Option<u32> {
        while let Some(at) = self.ready.pop_front() {
            let Some(connection) = self.connections.get_mut(at) else {
                continue;
            };
            let outbound = &mut connection.outbound;
            outbound.is_listed = false;
            if outbound.has_something() && !outbound.is_blocked {
                return Some(at);
            }
        }
        None
    }

    /// Notes that a connection may have something to write, which comes first if it is the rest of the message that was written last:
    /// two that went by turns would both be late.
    pub(super) fn list(&mut self, at: u32) {
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        let outbound = &mut connection.outbound;
        if !outbound.has_something() || outbound.is_blocked || outbound.is_listed {
            return;
        }
        outbound.is_listed = true;
        let next = outbound.next_send().map(|send| (at, send));
        match next.is_some() && next == self.leaving {
            true => self.ready.push_front(at),
            false => self.ready.push_back(at),
        }
    }

    /// Shows what is to be written over a connection, in order.
    pub fn pieces<'a>(&'a self, at: u32, show: impl FnMut(Piece<'a>)) {
        if let Some(connection) = self.connections.get(at) {
            connection.outbound.pieces(show);
        }
    }

    /// Whether the socket of a connection takes nothing now, as far as is known.
    #[must_use]
    pub fn is_blocked(&self, at: u32) -> bool {
        let connection = self.connections.get(at);
        connection.is_some_and(|connection| connection.outbound.is_blocked)
    }

    /// Says that the socket of a connection takes nothing more for now.
    pub fn blocked(&mut self, at: u32) {
        if let Some(connection) = self.connections.get_mut(at) {
            connection.outbound.is_blocked = true;
        }
    }

    /// Says that it takes something again.
    pub fn writable(&mut self, at: u32) {
        if let Some(connection) = self.connections.get_mut(at) {
            connection.outbound.is_blocked = false;
            self.list(at);
        }
    }

    /// Says that so many bytes of what was shown were written.
    pub fn written(&mut self, at: u32, bytes: usize) {
        let Some(connection) = self.connections.get_mut(at) else {
            return;
        };
        self.leaving = connection.outbound.next_send().map(|send| (at, send));
        let (sends, buffers) = (&mut self.sends, &mut self.buffers);
        let (ended, settings) = (&mut self.written, &self.settings);
        connection.outbound.written(bytes, |frame| {
            let send = frame.send();
            if !settings.resends {
                frame.recycle(buffers);
                frame.is_gone = true;
            }
            let Some(send) = send else { return };
            if let Some(outgoing) = sends.get_mut(send) {
                outgoing.unwritten -= 1;
                // A long one ends when it is acknowledged, which is soon, so that it need not be copied.
                let waits = outgoing.is_awaited(settings);
                if outgoing.is_cut && outgoing.unwritten == 0 && !waits {
                    ended.push(send);
                }
            }
        });
        let (peer, unacknowledged) = (connection.peer, connection.outbound.unacknowledged());
        while let Some(send) = self.written.pop() {
            self.end_send(send);
        }
        self.settle(at);
        self.measure(at);
        if let Some(peer) = peer {
            self.schedule(peer);
        }
        self.list(at);
        let (bytes, frames) = unacknowledged;
        if bytes > MOST_UNACKNOWLEDGED_BYTES || frames > MOST_UNACKNOWLEDGED {
            self.close(at, Loss::Unacknowledged(bytes));
        }
    }

    /// Ends long sends of which frames were acknowledged, if all of them were.
    pub(super) fn end_acknowledged(&mut self) {
        while let Some(at) = self.acknowledged.pop() {
            if let Some(send) = self.sends.get_mut(at) {
                send.unacknowledged -= 1;
                let is_all = send.is_cut && send.unacknowledged == 0;
                if is_all && send.is_awaited(&self.settings) {
                    send.end = Some(End::Whole(send.span.bytes));
                    let taken = self.now.saturating_sub(send.left);
                    self.line.learn(send.span.bytes, taken);
                }
            }
        }
    }

    /// Ends a send that is wholly written: what was not acknowledged of it is copied, as its memory is the user's again.
    fn end_send(&mut self, at: u32) {
        let Some(send) = self.sends.get_mut(at) else {
            return;
        };
        send.end = Some(End::Whole(send.span.bytes));
        if !self.settings.resends {
            return;
        }
        for connection in &self.peers[send.peer as usize].open {
            if let Some(connection) = self.connections.get_mut(*connection) {
                let outbound = &mut connection.outbound;
                outbound.keep(at, &self.memory, &mut self.buffers);
            }
        }
    }
}
