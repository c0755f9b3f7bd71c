//! Putting: what goes into windows of other ranks, and comes into those of this one, without a receive.

use super::{Message, Raised, Rank};
use crate::transport::net::tcp::protocol::connection::{Landing, Part};
use crate::transport::net::tcp::protocol::frame::{FrameError, Header, Kind};
use crate::transport::net::tcp::protocol::frames::Outgoing;
use crate::transport::net::tcp::protocol::matching::End;
use crate::transport::net::tcp::protocol::memory::{Memory, Span};
use crate::transport::net::tcp::protocol::peer::LostPeer;

impl<M: Memory> Rank<M> {
    /// Lets other ranks put into memory, and raise so many flags; the number of the window, unless all numbers are used up.
    pub fn expose(&mut self, span: Span, flags: u16) -> Option<u32> {
        self.windows.expose(span, flags)
    }

    /// Lets nobody do so any more: the memory is not touched from now on, and what still comes for it is thrown away.
    pub fn withdraw(&mut self, window: u32) {
        self.windows.withdraw(window);
    }

    /// The next flag that was raised, with all there that was put before.
    pub fn raised(&mut self) -> Option<Raised> {
        self.windows.raised()
    }

    /// Begins to put into a window of another rank. `number` is how much this one has put there before, and raised.
    ///
    /// # Errors
    /// If that rank is lost.
    pub fn put(
        &mut self,
        to: u32,
        (window, number): (u32, u64),
        place: u64,
        span: Span,
    ) -> Result<Message, LostPeer> {
        self.check_presence(to)?;
        let mut put = Outgoing::new(to, (window, number), (span, place), Some(Kind::Put));
        if span.bytes == 0 {
            put.end = Some(End::Whole(0));
            return Ok(Message::Send(self.sends.insert(put)));
        }
        Ok(self.begin_send(put))
    }

    /// Raises a flag of another rank's window, after all that this one has put there before.
    ///
    /// # Errors
    /// If that rank is lost.
    pub fn raise(
        &mut self,
        to: u32,
        (window, number): (u32, u64),
        flag: u16,
        (call, signature): (u64, u64),
    ) -> Result<(), LostPeer> {
        self.check_presence(to)?;
        let header = Header {
            tag: window,
            number,
            length: call,
            offset: u64::from(flag),
            signature,
            ..Header::new(Kind::Raise)
        };
        self.queue(to, &header);
        self.tend(to);
        Ok(())
    }

    /// Waits for what a rank puts or raises: that it is lost is found out, as while something is received from it.
    pub fn attend(&mut self, to: u32) -> Message {
        self.peers[to as usize].receives += 1;
        self.tend(to);
        Message::Peer(to)
    }

    fn check_presence(&self, rank: u32) -> Result<(), LostPeer> {
        match self.loss(rank) {
            Some(loss) => Err(LostPeer { rank, loss }),
            None => Ok(()),
        }
    }

    /// Where a part of a put lands.
    pub(super) fn place_put(&mut self, peer: u32, header: &Header) -> Result<Landing, FrameError> {
        self.check_part(header)?;
        Ok(match self.windows.admit(peer, header)? {
            true => Landing::Window,
            false => Landing::Nowhere,
        })
    }

    /// A part of a put has come.
    pub(super) fn end_put(&mut self, peer: u32, part: &Part) -> Result<(), FrameError> {
        let is_whole = match part.landing {
            Landing::Window => self.windows.land(peer, &part.header)?,
            // It was sent again, as what was said of it is lost.
            Landing::Nowhere | Landing::Message(_) | Landing::Notice => true,
        };
        // The same part may still be coming over another connection, whose frames were sent again.
        for other in &self.peers[peer as usize].open {
            let other = self.connections.get_mut(*other);
            if let Some(other) = other.and_then(|other| other.inbound.part.as_mut())
                && other.landing == Landing::Window
                && !self.windows.admit(peer, &other.header)?
            {
                other.landing = Landing::Nowhere;
            }
        }
        if is_whole && self.is_awaited(&part.header) {
            self.acknowledge_all(peer);
        }
        Ok(())
    }
}
