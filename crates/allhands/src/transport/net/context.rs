//! The context: the part of a medium that one communicator's messages go through, as a network of its own.

use super::medium::{Claim, State};
use super::{
    Ended, Exposed, LostRank, Network, NetworkError, Notice, Raised, RemoteWindow, SignedCall,
    Sleep, Ticket, ToSend, WindowMemory,
};
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
}

impl Context {
    /// That of a communicator whose ranks are these of the network's.
    pub(crate) fn new(claim: Claim, ranks: Box<[u32]>) -> Context {
        Context {
            claim,
            ranks,
            signature: 0,
        }
    }

    /// How many communicators may go through its network at a time.
    pub(crate) fn contexts(&self) -> u32 {
        self.claim.contexts()
    }

    /// The first number from `least` on that another communicator of this rank can have, if there is any.
    pub(crate) fn first_free(&mut self, least: u32) -> Option<u32> {
        self.claim.first_free(least)
    }

    /// What another communicator of this rank can have, with this number, if it is free.
    pub(crate) fn another(&mut self, number: u32) -> Option<Claim> {
        self.claim.another(number)
    }

    /// What the network calls these ranks of the communicator.
    pub(crate) fn names(&self, ranks: &[u32]) -> Box<[u32]> {
        ranks.iter().map(|r| self.ranks[*r as usize]).collect()
    }

    fn address(&self, peer: u32, tag: u32) -> Result<(u32, u32), NetworkError> {
        let (name, tags) = (self.name(peer)?, &self.claim.tags);
        match tag < tags.end - tags.start {
            true => Ok((name, tags.start + tag)),
            false => Err(NetworkError::Other(format!(
                "there is no tag {tag} of {}",
                tags.end - tags.start
            ))),
        }
    }

    /// What the network calls a rank.
    fn name(&self, peer: u32) -> Result<u32, NetworkError> {
        let (name, ranks) = (self.ranks.get(peer as usize), self.ranks.len());
        name.copied()
            .ok_or_else(|| NetworkError::Other(format!("there is no rank {peer} among {ranks}")))
    }

    /// An error of the network's, which has other names for ranks.
    #[cold]
    fn failed(&mut self, error: NetworkError) -> NetworkError {
        self.claim.is_unclean = true;
        match error {
            NetworkError::Lost(lost) => match self.rank(lost.rank) {
                Some(rank) => LostRank { rank, ..lost }.into(),
                None => NetworkError::LostElsewhere(lost.cause),
            },
            other => other,
        }
    }

    /// The rank in the communicator of one that the network calls so.
    fn rank(&self, name: u32) -> Option<u32> {
        let at = self.ranks.iter().position(|other| *other == name)?;
        Some(at as u32)
    }

    /// Does something with the network.
    #[inline]
    fn with<R>(
        &mut self,
        what: impl FnOnce(&mut State) -> Result<R, NetworkError>,
    ) -> Result<R, NetworkError> {
        self.claim.with(what).map_err(|error| self.failed(error))
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
        self.with(|state| {
            // SAFETY: promised by the caller.
            unsafe { state.signed(signature).send(name, tag, from, bytes) }
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
        self.with(|state| {
            // SAFETY: promised by the caller.
            unsafe { state.signed(signature).receive(name, tag, into, bytes) }
        })
    }

    unsafe fn send_unasked(
        &mut self,
        to: u32,
        [short, long]: [ToSend; 2],
    ) -> Result<Option<[Ticket; 2]>, NetworkError> {
        let ((name, of_short), signature) = (self.address(to, short.tag)?, self.signature);
        let (_, of_long) = self.address(to, long.tag)?;
        let both = [
            ToSend {
                tag: of_short,
                ..short
            },
            ToSend {
                tag: of_long,
                ..long
            },
        ];
        self.with(|state| {
            // SAFETY: promised by the caller.
            unsafe { state.signed(signature).send_unasked(name, both) }
        })
    }

    fn test(&mut self, ticket: Ticket) -> Result<Option<Ended>, NetworkError> {
        self.with(|state| state.network.test(ticket))
    }

    fn progress(&mut self) -> Result<(), NetworkError> {
        self.with(|state| state.network.progress())
    }

    fn bears_overlap(&self) -> bool {
        self.claim.bears_overlap()
    }

    fn rails(&self) -> usize {
        self.claim.rails()
    }

    fn share(&mut self, rates: &[f64]) {
        self.claim.with(|state| state.network.share(rates));
    }

    fn expect_shorter(&mut self) {
        self.claim.with(|state| state.network.expect_shorter());
    }

    fn doorbell(&self) -> Option<u32> {
        self.claim.doorbell()
    }

    fn sleep(&mut self, limit: Duration) -> Result<Sleep, NetworkError> {
        match self.claim.sleep(limit) {
            Some(slept) => slept.map_err(|error| self.failed(error)),
            // Another thread of this rank needs it, for another communicator.
            None => {
                std::thread::sleep(NAP.min(limit));
                Ok(Sleep::Over)
            }
        }
    }

    fn is_away(&mut self) -> bool {
        self.claim.with(|state| state.network.is_away())
    }

    fn has_windows(&self) -> bool {
        self.claim.has_windows()
    }

    unsafe fn expose(
        &mut self,
        memory: (*mut u8, usize),
        flags: u16,
        by: &[u32],
    ) -> Result<Exposed, NetworkError> {
        let number = self.claim.number;
        let by = by.iter().map(|rank| self.name(*rank));
        let by: Vec<u32> = by.collect::<Result<_, _>>()?;
        self.with(|state| {
            // SAFETY: promised by the caller.
            let exposed = unsafe { state.network.expose(memory, flags, &by) }?;
            state.windows.insert(exposed.number, number);
            Ok(exposed)
        })
    }

    fn withdraw(&mut self, window: u64, memory: WindowMemory) {
        self.claim.with(|state| {
            state.windows.remove(&window);
            state.network.withdraw(window, memory);
        });
    }

    unsafe fn put(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        offset: usize,
        span: (*const u8, usize),
    ) -> Result<Ticket, NetworkError> {
        let name = self.name(to)?;
        // SAFETY: promised by the caller.
        self.with(|state| unsafe { state.network.put(name, window, offset, span) })
    }

    fn raise(
        &mut self,
        to: u32,
        window: &mut RemoteWindow,
        flag: u16,
        by: SignedCall,
    ) -> Result<(), NetworkError> {
        let name = self.name(to)?;
        self.with(|state| state.network.raise(name, window, flag, by))
    }

    fn raised(&mut self) -> Option<Raised> {
        let (ranks, number) = (&self.ranks, self.claim.number);
        self.claim.with(|state| {
            while let Some(raised) = state.raised(number) {
                if let Some(rank) = ranks.iter().position(|other| *other == raised.from) {
                    let from = rank as u32;
                    return Some(Raised { from, ..raised });
                }
            }
            None
        })
    }

    fn attend(&mut self, from: u32) -> Result<Ticket, NetworkError> {
        let name = self.name(from)?;
        self.with(|state| state.network.attend(name))
    }

    fn cancel(&mut self, ticket: Ticket) -> bool {
        // Its other half may come all the same.
        self.claim.is_unclean = true;
        self.claim.with(|state| state.network.cancel(ticket))
    }

    fn notify(&mut self, to: u32, notice: &Notice) {
        if let Some(name) = self.ranks.get(to as usize) {
            let notice = notice.of_context(self.claim.number);
            self.claim
                .with(|state| state.network.notify(*name, &notice));
        }
    }

    fn hear(&mut self) -> Option<(u32, Notice)> {
        let (ranks, number) = (&self.ranks, self.claim.number);
        self.claim.with(|state| {
            while let Some((name, notice)) = state.hear(number) {
                if let Some(rank) = ranks.iter().position(|other| *other == name) {
                    return Some((rank as u32, notice.of_context(0)));
                }
            }
            None
        })
    }
}
