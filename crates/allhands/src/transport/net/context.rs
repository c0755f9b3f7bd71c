//! The context: the part of a medium that one communicator's messages go through, as a network of its own.

use super::medium::{Claim, Medium};
use super::{Ended, Network, NetworkError, Notice, Sleep, Ticket};
use std::sync::Arc;
use std::time::Duration;

/// How long a rank sleeps whose network another thread has.
const NAP: Duration = Duration::from_micros(50);

/// The network of one communicator's ranks.
pub(crate) struct Context {
    claim: Claim,
    /// By the rank in the communicator: what the medium's network calls it.
    ranks: Box<[u32]>,
    /// What messages are signed with.
    signature: u64,
    /// The rank whose loss made the network fail last.
    lost: Option<u32>,
}

impl Context {
    /// That of a communicator whose ranks are these of the network's.
    pub(crate) fn new(claim: Claim, ranks: Box<[u32]>) -> Context {
        Context {
            claim,
            ranks,
            signature: 0,
            lost: None,
        }
    }

    /// What it is a part of.
    pub(crate) fn medium(&self) -> &Arc<Medium> {
        &self.claim.medium
    }

    /// What the network calls these ranks of the communicator.
    pub(crate) fn names(&self, ranks: &[u32]) -> Box<[u32]> {
        ranks.iter().map(|r| self.ranks[*r as usize]).collect()
    }

    fn address(&self, peer: u32, tag: u32) -> Result<(u32, u32), NetworkError> {
        let (ranks, tags) = (self.ranks.len(), &self.claim.tags);
        let Some(name) = self.ranks.get(peer as usize) else {
            return Err(NetworkError(format!(
                "there is no rank {peer} among {ranks}"
            )));
        };
        match tag < tags.end - tags.start {
            true => Ok((*name, tags.start + tag)),
            false => Err(NetworkError(format!(
                "there is no tag {tag} of {}",
                tags.end - tags.start
            ))),
        }
    }

    /// An error of the network's, which has other names for ranks.
    #[cold]
    fn failed(&mut self, error: NetworkError, lost: Option<u32>) -> NetworkError {
        self.claim.is_unclean = true;
        let Some((name, why)) = lost.and_then(|name| Some((name, error.why_lost(name)?))) else {
            return error;
        };
        self.lost = self.rank(name);
        match self.lost {
            Some(rank) => NetworkError::lost(rank, why),
            None => NetworkError(format!("a rank of another communicator is lost: {why}")),
        }
    }

    /// The rank in the communicator of one that the network calls so.
    fn rank(&self, name: u32) -> Option<u32> {
        let at = self.ranks.iter().position(|other| *other == name)?;
        Some(at as u32)
    }

    /// Does something with the network.
    fn with<R>(
        &mut self,
        what: impl FnOnce(&mut dyn Network) -> Result<R, NetworkError>,
    ) -> Result<R, NetworkError> {
        let mut state = self.claim.medium.state();
        let done = what(&mut *state.network);
        match done {
            Ok(done) => Ok(done),
            Err(error) => {
                let lost = state.network.lost();
                drop(state);
                Err(self.failed(error, lost))
            }
        }
    }
}

// SAFETY: memory of messages goes on to the network as it is, with its length and its promises, and what the network says of their
// ends is handed back.
unsafe impl Network for Context {
    fn tags(&self) -> u32 {
        self.claim.tags.end - self.claim.tags.start
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
        let ((name, tag), signature) = (self.address(to, tag)?, self.signature);
        self.with(|network| {
            network.sign(signature);
            // SAFETY: promised by the caller.
            unsafe { network.send(name, tag, from, bytes) }
        })
    }

    unsafe fn receive(
        &mut self,
        from: u32,
        tag: u32,
        into: *mut u8,
        bytes: usize,
    ) -> Result<Ticket, NetworkError> {
        let ((name, tag), signature) = (self.address(from, tag)?, self.signature);
        self.with(|network| {
            network.sign(signature);
            // SAFETY: promised by the caller.
            unsafe { network.receive(name, tag, into, bytes) }
        })
    }

    fn test(&mut self, ticket: Ticket) -> Result<Option<Ended>, NetworkError> {
        self.with(|network| network.test(ticket))
    }

    fn progress(&mut self) -> Result<(), NetworkError> {
        self.with(|network| network.progress())
    }

    fn doorbell(&self) -> Option<u32> {
        self.medium().doorbell()
    }

    fn sleep(&mut self, limit: Duration) -> Result<Sleep, NetworkError> {
        let medium = Arc::clone(self.medium());
        let mut state = medium.state();
        let slept = medium.asleep(&mut state, |network| network.sleep(limit));
        let lost = state.network.lost();
        drop(state);
        match slept {
            // Another thread of this rank needs it, for another communicator.
            Some(Ok(Sleep::Woken)) if medium.is_wanted() => Ok(Sleep::Over),
            Some(Ok(how)) => Ok(how),
            Some(Err(error)) => Err(self.failed(error, lost)),
            None => {
                std::thread::sleep(NAP.min(limit));
                Ok(Sleep::Over)
            }
        }
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        // Its other half may come all the same.
        self.claim.is_unclean = true;
        self.claim.medium.state().network.cancel(ticket)
    }

    fn lost(&self) -> Option<u32> {
        self.lost
    }

    fn notify(&mut self, to: u32, notice: &Notice) {
        if let Some(name) = self.ranks.get(to as usize) {
            let notice = notice.of_context(self.claim.number);
            let mut state = self.claim.medium.state();
            state.network.notify(*name, &notice);
        }
    }

    fn hear(&mut self) -> Option<(u32, Notice)> {
        let (medium, number) = (&self.claim.medium, self.claim.number);
        let mut state = medium.state();
        while let Some((name, notice)) = state.hear(number) {
            if let Some(rank) = self.rank(name) {
                return Some((rank, notice.of_context(0)));
            }
        }
        None
    }
}
