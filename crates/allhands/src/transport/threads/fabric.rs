//! The fabric: what the ranks of one communicator share.

use super::member::{Member, Presence, Stamp};
use super::rendezvous::Descriptor;
use super::ring::Ring;
use super::window::WindowSet;
use crate::transport::{Signature, TransportError};
use allhands_core::call::Collective;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The shared memory of one communicator whose ranks are threads.
///
/// Holds a ring for each pair of ranks that talk (made with the first message), the signatures of recent
/// calls, where each rank stands, and the first error. Each rank uses it through one
/// [`Port`](super::Port).
pub struct Fabric {
    members: Box<[Member]>,
    /// The ring from rank `from` to rank `to` at `from * ranks + to`; only `from` makes it.
    links: Box<[OnceLock<Ring>]>,
    first_error: OnceLock<Found>,
    names: Mutex<Vec<Arc<str>>>,
    windows: Mutex<BTreeMap<u64, Opening>>,
    /// Descriptors that were taken back, which receivers may still find.
    revoked: Mutex<Vec<Arc<Descriptor>>>,
}

/// An error and the rank that found it.
struct Found {
    rank: u32,
    error: TransportError,
}

/// A window set that not all ranks hold yet.
struct Opening {
    set: Arc<WindowSet>,
    missing: u32,
}

impl std::fmt::Debug for Fabric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fabric")
            .field("ranks", &self.ranks())
            .field("error", &self.first_error.get().map(|f| &f.error))
            .finish_non_exhaustive()
    }
}

impl Fabric {
    /// A fabric of `ranks` ranks.
    ///
    /// # Errors
    /// [`TransportError::NoRanks`] if `ranks` is 0.
    pub fn new(ranks: u32) -> Result<Arc<Fabric>, TransportError> {
        if ranks == 0 {
            return Err(TransportError::NoRanks);
        }
        let pairs = ranks as usize * ranks as usize;
        Ok(Arc::new(Fabric {
            members: (0..ranks).map(|_| Member::new()).collect(),
            links: (0..pairs).map(|_| OnceLock::new()).collect(),
            first_error: OnceLock::new(),
            names: Mutex::default(),
            windows: Mutex::default(),
            revoked: Mutex::default(),
        }))
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.members.len() as u32
    }

    /// The signature in the form that calls on this fabric show to peers. Takes a lock: once for a plan.
    #[must_use]
    pub fn stamp(&self, signature: &Signature) -> Stamp {
        let Signature {
            collective,
            algorithm,
            root,
            bytes,
            element,
            operator,
        } = signature;
        let mut names = locked(&self.names);
        let mut number = |name: &Arc<str>| {
            let known = names.iter().position(|n| n == name);
            known.unwrap_or_else(|| {
                names.push(Arc::clone(name));
                names.len() - 1
            }) as u64
        };
        let collective = Collective::ALL.iter().position(|c| c == collective);
        Stamp {
            hash: signature.hash(),
            words: [
                (collective.unwrap_or_default() as u64) << 32 | u64::from(*root),
                *bytes,
                number(algorithm) << 32 | number(element),
                number(operator),
            ],
        }
    }

    /// The signature that [`Fabric::stamp`] made `stamp` of.
    pub(crate) fn signature(&self, stamp: &Stamp) -> Signature {
        let [call, bytes, types, operator] = stamp.words;
        let names = locked(&self.names);
        // A stamp of another fabric may name what this one does not know.
        let name = |number: u64| {
            let name = names.get(number as u32 as usize);
            name.map_or_else(|| "unknown".into(), Arc::clone)
        };
        Signature {
            collective: Collective::ALL[(call >> 32) as usize],
            algorithm: name(types >> 32),
            root: call as u32,
            bytes,
            element: name(types),
            operator: name(operator),
        }
    }

    /// What stopped the communicator, as rank `rank` is to hear it.
    #[must_use]
    pub fn error(&self, rank: u32) -> Option<TransportError> {
        self.first_error.get().map(|found| {
            if found.rank == rank {
                found.error.clone()
            } else {
                TransportError::Poisoned {
                    rank: found.rank,
                    error: Box::new(found.error.clone()),
                }
            }
        })
    }

    /// Stops the communicator with an error that rank `rank` found, and wakes everybody; gives what the
    /// rank is to report, which is an earlier error if there is one.
    pub(crate) fn poison(&self, rank: u32, error: TransportError) -> TransportError {
        let own = error.clone();
        // Whoever comes second reports the first.
        let _ = self.first_error.set(Found { rank, error });
        self.members.iter().for_each(|m| m.bell.ring());
        self.error(rank).unwrap_or(own)
    }

    /// Says that rank `rank` makes no further call, and why.
    pub(crate) fn leave(&self, rank: u32, panicked: bool) {
        self.member(rank).leave(panicked);
        // Waiting peers notice in time by themselves; this only makes it sooner.
        self.members.iter().for_each(|m| m.bell.ring());
    }

    #[inline]
    pub(crate) fn member(&self, rank: u32) -> &Member {
        &self.members[rank as usize]
    }

    /// The ring from `from` to `to`, if `from` has made it.
    #[inline]
    pub(crate) fn incoming(&self, from: u32, to: u32) -> Option<&Ring> {
        self.links[self.link(from, to)].get()
    }

    /// The ring from `from`, which is the caller, to `to`.
    #[inline]
    pub(crate) fn outgoing(&self, from: u32, to: u32) -> &Ring {
        self.links[self.link(from, to)].get_or_init(Ring::new)
    }

    fn link(&self, from: u32, to: u32) -> usize {
        from as usize * self.members.len() + to as usize
    }

    /// The windows that all ranks share under `key`, with `bytes` bytes a rank and `flags` flags.
    /// Every rank asks once for a key; the first makes them.
    pub(crate) fn window(
        &self,
        rank: u32,
        key: u64,
        bytes: usize,
        flags: u16,
    ) -> Result<Arc<WindowSet>, TransportError> {
        let mut windows = locked(&self.windows);
        let opening = windows.entry(key).or_insert_with(|| Opening {
            set: Arc::new(WindowSet::new(self.ranks(), bytes, flags)),
            missing: self.ranks(),
        });
        opening.set.fits(rank, key, bytes, flags)?;
        opening.missing -= 1;
        let set = Arc::clone(&opening.set);
        if opening.missing == 0 {
            windows.remove(&key);
        }
        Ok(set)
    }

    /// Keeps a revoked descriptor for receivers that may still find it.
    pub(crate) fn keep(&self, descriptor: Arc<Descriptor>) {
        locked(&self.revoked).push(descriptor);
    }

    /// The error that the state of the other ranks means for call `call`, which rank `rank` waits in.
    pub(crate) fn trouble(&self, rank: u32, call: u64) -> Option<TransportError> {
        /// Calls before this one that are compared too: some rank may have finished one unawares.
        const BACK: u64 = 16;
        let me = self.member(rank);
        let calls = call.saturating_sub(BACK)..me.entered();
        (0..self.ranks()).filter(|o| *o != rank).find_map(|other| {
            let differs = |at| self.compare(rank, other, at);
            calls
                .clone()
                .find_map(differs)
                .or_else(|| self.absent(other, call))
        })
    }

    /// The error if ranks `rank` and `other` are known to have made different calls as call `call`.
    pub(crate) fn compare(&self, rank: u32, other: u32, call: u64) -> Option<TransportError> {
        let mine = self.member(rank).entry(call)?;
        let theirs = self.member(other).entry(call)?;
        (mine != theirs).then(|| self.mismatch(rank, other, &mine, Some(&theirs)))
    }

    pub(crate) fn mismatch(
        &self,
        rank: u32,
        other: u32,
        mine: &Stamp,
        theirs: Option<&Stamp>,
    ) -> TransportError {
        TransportError::Mismatch {
            rank,
            other,
            mine: Box::new(self.signature(mine)),
            theirs: theirs.map(|t| Box::new(self.signature(t))),
        }
    }

    /// The error if `other` has gone and never entered call `call`.
    fn absent(&self, other: u32, call: u64) -> Option<TransportError> {
        let member = self.member(other);
        let presence = member.presence();
        if member.entered() > call {
            return None;
        }
        match presence {
            Presence::Present => None,
            Presence::Left => Some(TransportError::RankLeft { rank: other }),
            Presence::Panicked => Some(TransportError::RankPanicked { rank: other }),
        }
    }
}

/// Locks; what these locks guard is whole between any two statements, so a panic spoils nothing.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
