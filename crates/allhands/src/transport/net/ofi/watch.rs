//! Watching: whether those are still there with whom messages are under way, which providers need not find out.

use super::driver::OfiNetwork;
use super::operation::Kind;
use crate::transport::net::{LostRank, Network};
use std::ptr;
use std::time::{Duration, Instant};

/// From when on a message makes sure that its other end is there.
const WATCHED_AFTER: Duration = Duration::from_millis(500);
/// How long messages of a rank that is lost may still come: they may be on their way.
const STILL_COMES: Duration = Duration::from_millis(500);

impl OfiNetwork {
    /// Makes sure that those are there with whom messages have been under way for long.
    pub(super) fn watch(&mut self) {
        let (now, peers) = (self.now, &self.peers);
        let is_old = |since| now.saturating_duration_since(since) >= WATCHED_AFTER;
        let unwatched = |peer: &u32| {
            let peer = &peers[*peer as usize];
            peer.watch.is_none() && peer.lost.is_none()
        };
        let old = self.operations.under_way();
        let old = old.filter(|(_, o)| o.kind != Kind::Listen && is_old(o.since));
        let mut old: Vec<u32> = old.map(|(_, o)| o.peer).filter(unwatched).collect();
        old.sort_unstable();
        old.dedup();
        for peer in old {
            let nothing = ptr::NonNull::dangling().as_ptr();
            // SAFETY: there is no byte of it. It never ends, as nobody sends anything by words, but it fails when its peer is lost.
            match unsafe { self.words.receive(peer, 0, nothing, 0) } {
                Ok(ticket) => self.peers[peer as usize].watch = Some(ticket),
                Err(error) => self.lose(error.found_lost(peer)),
            }
        }
        for peer in 0..self.peers.len() as u32 {
            if let Some(ticket) = self.peers[peer as usize].watch
                && let Err(error) = self.words.test(ticket)
            {
                self.words.cancel(ticket);
                self.peers[peer as usize].watch = None;
                self.lose(error.found_lost(peer));
            }
            if self.peers[peer as usize].lost.is_none()
                && let Some(cause) = self.words.rail_loss(peer)
            {
                // A part of some message will never come.
                let (rank, host) = (peer, self.words.host(peer).map(String::from));
                self.lose(LostRank { rank, host, cause });
            }
        }
    }

    pub(super) fn lose(&mut self, lost: LostRank) {
        let now = self.now;
        let peer = &mut self.peers[lost.rank as usize];
        peer.lost.get_or_insert((lost, now));
    }

    /// The other end of a message that has not ended and never will, as it is lost.
    pub(super) fn never_ends(&self, peer: u32, since: Instant) -> Option<&LostRank> {
        let (lost, at) = self.peers[peer as usize].lost.as_ref()?;
        let waited = self.now.saturating_duration_since(since.max(*at));
        (waited >= STILL_COMES).then_some(lost)
    }
}
