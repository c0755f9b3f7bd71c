//! Presence: a rank whose network is gone is lost to those who raise flags there, or wait for what it puts, once all has come that it sent.

use super::{Mailbox, Threads, ThreadsNetwork};
use crate::transport::net::{LossCause, LostRank, NetworkError};

impl Mailbox {
    /// Whether something of a rank is still on its way.
    fn has_some_of(&self, rank: u32) -> bool {
        self.letters.iter().any(|letter| letter.from == rank)
            || self.arrivals.iter().any(|arrival| arrival.from == rank)
            || self.notices.has_some_of(rank)
    }
}

impl Threads {
    /// Whether the network of a rank is gone.
    fn has_left(&self, rank: u32) -> Result<bool, NetworkError> {
        Ok(self.mailbox(rank)?.is_deserted)
    }
}

impl ThreadsNetwork {
    /// Whether a rank is still there, or something of it is yet to come.
    ///
    /// # Errors
    /// That it is lost.
    pub(super) fn look_after(&self, rank: u32) -> Result<(), NetworkError> {
        if !self.shared.has_left(rank)? || self.shared.mailbox(self.rank)?.has_some_of(rank) {
            return Ok(());
        }
        Err(NetworkError::Lost(LostRank {
            rank,
            host: None,
            cause: LossCause::Provider("its network is gone".into()),
        }))
    }
}

impl Drop for ThreadsNetwork {
    fn drop(&mut self) {
        if let Ok(mut mailbox) = self.shared.mailbox(self.rank) {
            mailbox.is_deserted = true;
        }
    }
}
