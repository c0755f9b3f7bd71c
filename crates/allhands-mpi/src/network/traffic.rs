//! The traffic: how many messages of a communicator this rank has sent to each other and received, and those that nobody wants any more.
//!
//! A call that fails may leave messages behind that were sent and never received. Who has nothing left to receive takes them
//! off the network, so that who sends them comes to an end, and the tags can be used again.

use super::world::{Claim, World};
use crate::abi::{Abi, Handle};
use crate::context::library::poll;
use crate::native::functions::Native;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long messages may take that were sent before all ranks came together.
const PATIENCE: Duration = Duration::from_secs(2);

/// A communicator's messages.
pub(crate) struct Traffic {
    native: &'static Native,
    abi: &'static Abi,
    pub(super) world: Arc<World>,
    /// The tags that are its own.
    pub(super) claim: Claim,
    /// By rank: the rank in the world.
    pub(super) ranks: Box<[c_int]>,
    /// By rank: how many messages went there, and came from there or are to. One thread at a time counts.
    sent: Box<[AtomicU32]>,
    received: Box<[AtomicU32]>,
}

impl Traffic {
    /// That of a communicator whose ranks are these of the world, with the tags that it has claimed.
    pub(super) fn new(
        (native, abi): (&'static Native, &'static Abi),
        world: &Arc<World>,
        claim: Claim,
        ranks: Box<[c_int]>,
    ) -> Traffic {
        let zeros = || ranks.iter().map(|_| AtomicU32::new(0)).collect();
        Traffic {
            native,
            abi,
            world: Arc::clone(world),
            claim,
            sent: zeros(),
            received: zeros(),
            ranks,
        }
    }

    /// Counts a message to a rank, or from it; or takes that back.
    #[inline]
    pub(super) fn count(&self, peer: u32, sends: bool, is_there: bool) {
        let counts = if sends { &self.sent } else { &self.received };
        if let Some(count) = counts.get(peer as usize) {
            let by = if is_there { 1 } else { u32::MAX };
            let now = count.load(Ordering::Relaxed).wrapping_add(by);
            count.store(now, Ordering::Relaxed);
        }
    }

    /// Takes a message with this tag, if there is one, into `room`, and counts it; gives its sender.
    pub(super) fn take(&self, tag: c_int, room: &mut Vec<u8>) -> Option<u32> {
        let medium = self.world.medium(self.native, self.abi);
        let found = medium.look(tag)?;
        medium.take(&found, room);
        let peer = self.ranks.iter().position(|rank| *rank == found.source)? as u32;
        self.count(peer, false, true);
        Some(peer)
    }

    /// Takes what has come and is not wanted: of a rank that has nothing left to receive.
    #[cold]
    pub(super) fn drain(&self) {
        let medium = self.world.medium(self.native, self.abi);
        let (claim, mut room) = (&self.claim, Vec::new());
        while let Some(next) = medium.look(self.world.constants.any_tag) {
            if claim.has(next.tag) {
                self.take(next.tag, &mut room);
                continue;
            }
            // Another communicator's stands before what may be ours.
            let own = (0..claim.tags()).map(|tag| claim.tag(tag));
            for tag in own.chain([claim.notices()]) {
                while self.take(tag, &mut room).is_some() {}
            }
            return;
        }
    }

    /// Waits for all ranks of a communicator of the MPI, none of which begins any other message, and takes what they have sent and
    /// nobody wants. If nothing is left over the tags can be given back.
    #[cold]
    pub(crate) fn settle(&self, comm: Handle) {
        let (native, byte) = (self.native, self.abi.byte);
        let mut request: Handle = 0;
        // SAFETY: a communicator, and a request to write.
        let code = unsafe { (native.ibarrier)(comm, (&raw mut request).cast()) };
        let medium = self.world.medium(native, self.abi);
        medium.complete(code, request, || self.drain());
        let count = |count: &AtomicU32| count.load(Ordering::Relaxed);
        let sent: Vec<u32> = self.sent.iter().map(count).collect();
        let (mut to_here, each) = (vec![0u32; sent.len()], size_of::<u32>() as c_int);
        let (from, into) = (sent.as_ptr().cast(), to_here.as_mut_ptr().cast());
        // SAFETY: a number for each rank to read, and room for one of each.
        let code = unsafe { (native.alltoall)(from, each, byte, into, each, byte, comm) };
        let has_all = || {
            let received = self.received.iter().map(count);
            received.eq(to_here.iter().copied())
        };
        let begin = Instant::now();
        while code == 0 && !has_all() && begin.elapsed() < PATIENCE {
            self.drain();
            poll();
            std::thread::yield_now();
        }
        self.claim.keep(code != 0 || !has_all());
    }
}
