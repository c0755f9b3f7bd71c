//! Mismatched calls: what the ranks of a shared segment have called and where they stand, and what that means for a call.

use crate::element::TypeSignature;
use crate::operator::OperatorSignature;
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::member::{Presence, Stamp};
use crate::transport::shm::failure::refusals::Refusals;
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::{Signature, TransportError};
use allhands_core::call::Collective;

impl Stamp {
    /// The length that all ranks have said; 0 where they may know different ones.
    pub(crate) fn bytes(&self) -> u64 {
        self.words[1]
    }

    /// The collective of the calls that it stands for.
    pub(crate) fn collective(&self) -> Collective {
        let number = (self.words[0] >> 32) as usize;
        Collective::ALL[number % Collective::ALL.len()]
    }
}

impl SharedSegment {
    /// The signature in the form that calls of `rank` show to peers; once for a plan, by the rank itself.
    #[must_use]
    pub(crate) fn stamp(&self, rank: u32, signature: &Signature) -> Stamp {
        let Signature {
            collective,
            algorithm,
            root,
            bytes,
            element,
            operator,
        } = signature;
        let algorithm = self.record(rank).number(algorithm);
        let collective = Collective::ALL.iter().position(|c| c == collective);
        let operator = operator.map_or(0, OperatorSignature::code);
        Stamp {
            hash: signature.hash(),
            words: [
                (collective.unwrap_or_default() as u64) << 32 | u64::from(*root),
                *bytes,
                element.map_or(0, TypeSignature::code),
                u64::from(algorithm) << 32 | u64::from(operator),
            ],
        }
    }

    /// The signature that `rank` made `stamp` of.
    pub(crate) fn signature(&self, rank: u32, stamp: &Stamp) -> Signature {
        let [call, bytes, element, names] = stamp.words;
        // A rank of another node has its name in the table of the one that heard of it.
        let (holder, name) = match (names >> 48) as u32 {
            0 => (rank, (names >> 32) as u32),
            holder => (holder - 1, (names >> 32) as u16 as u32),
        };
        Signature {
            collective: stamp.collective(),
            algorithm: self.record(holder).text(name).into(),
            root: call as u32,
            bytes,
            element: (element != 0).then(|| TypeSignature::from_code(element)),
            operator: (names as u32 != 0).then(|| OperatorSignature::from_code(names as u32)),
        }
    }

    /// The stamp of a rank of another node whose algorithm is called `name`, as rank `holder` heard.
    pub(crate) fn stamp_from_afar(&self, holder: u32, stamp: Stamp, name: &str) -> Stamp {
        let name = self.record(holder).number(name);
        let [.., names] = stamp.words;
        let mut heard = stamp;
        heard.words[3] = u64::from((holder + 1) << 16 | name) << 32 | u64::from(names as u32);
        heard
    }

    /// What keeps call `call` of rank `rank` from being made, as the rank is to hear it.
    ///
    /// Calls before the one in which something was wrong can still be completed by those that are behind.
    #[must_use]
    #[inline]
    pub(crate) fn stopped(&self, rank: u32, call: u64) -> Option<TransportError> {
        if call < self.head().fault.stops_from() {
            return None;
        }
        self.error(rank)
    }

    /// What stopped the communicator, be it from a later call on, as rank `rank` is to hear it.
    #[must_use]
    #[inline]
    pub fn error(&self, rank: u32) -> Option<TransportError> {
        let (finder, fault) = self.head().fault.first()?;
        Some(self.error_for(rank, finder, fault))
    }

    #[cold]
    fn error_for(&self, rank: u32, finder: u32, fault: Fault) -> TransportError {
        let error = self.error_of(fault);
        if finder == rank {
            return error;
        }
        TransportError::Poisoned {
            rank: self.name(finder),
            error: Box::new(error),
        }
    }

    /// A fault in words, with the numbers that ranks have in the communicator.
    fn error_of(&self, fault: Fault) -> TransportError {
        // A signature is found by the number that its rank has here.
        let signature = |rank, stamp: &Stamp| Box::new(self.signature(rank, stamp));
        let name = |rank| self.name(rank);
        match fault {
            Fault::Mismatch {
                rank,
                other,
                mine,
                theirs,
            } => TransportError::Mismatch {
                rank: name(rank),
                other: name(other),
                mine: signature(rank, &mine),
                theirs: theirs.map(|stamp| signature(other, &stamp)),
            },
            Fault::Length {
                rank,
                other,
                expected,
                received,
            } => wrong_length(name(rank), name(other), expected, received),
            Fault::Panicked { rank } => TransportError::RankPanicked { rank: name(rank) },
            Fault::Left { rank } => TransportError::RankLeft { rank: name(rank) },
            Fault::Died { rank, how } => TransportError::RankDied {
                rank: name(rank),
                how: self.liveness.how(how),
            },
            Fault::Dropped { rank } => TransportError::CallDropped { rank: name(rank) },
            Fault::Unreachable { rank, other, errno } => TransportError::Unreachable {
                rank: name(rank),
                other: name(other),
                why: std::io::Error::from_raw_os_error(errno as i32).to_string(),
            },
            Fault::Window {
                rank,
                key,
                found,
                wanted,
            } => TransportError::WindowDiffers {
                rank: name(rank),
                key,
                bytes: found[0] as usize,
                flags: found[1] as usize,
                wanted_bytes: wanted[0] as usize,
                wanted_flags: wanted[1] as usize,
            },
            Fault::Network { rank, lost } => TransportError::Network {
                rank: name(rank),
                why: match lost == rank {
                    true => "its network failed".to_string(),
                    false => format!("rank {} is lost", name(lost)),
                },
            },
            Fault::Refused { rank, collective } => TransportError::CallRefused {
                rank: name(rank),
                collective,
            },
        }
    }

    /// Stops the communicator with a fault that rank `rank` found, and wakes everybody; gives what the
    /// rank is to report, which is an earlier fault if there is one.
    pub(crate) fn poison(&self, rank: u32, fault: Fault) -> TransportError {
        self.poison_from(0, rank, fault)
    }

    /// The same from call `call` on: those before it can be completed.
    pub(crate) fn poison_from(&self, call: u64, rank: u32, fault: Fault) -> TransportError {
        let fault = self.or_refused(call, fault);
        self.head().fault.post(rank, fault);
        self.liveness.blame(fault.culprit(rank));
        self.stop_from(call);
        self.error(rank).unwrap_or_else(|| self.error_of(fault))
    }

    /// The fault of a call that ranks of this node make differently: a refusal, if it is that.
    fn or_refused(&self, call: u64, fault: Fault) -> Fault {
        let Fault::Mismatch {
            rank,
            other,
            mine,
            theirs: Some(theirs),
        } = fault
        else {
            return fault;
        };
        let has_refused = |rank: u32, stamp: &Stamp| {
            let known = rank < self.ranks() && {
                let refusals = Refusals(self.member(rank).refusals());
                refusals.find(call, stamp.collective()).is_some()
            };
            let collective = stamp.collective();
            known.then_some(Fault::Refused { rank, collective })
        };
        let refused = has_refused(other, &mine).or_else(|| has_refused(rank, &theirs));
        refused.unwrap_or(fault)
    }

    /// Says, once there is a fault, that call `call` has failed, and so cannot be completed by anybody.
    pub(crate) fn stop_from(&self, call: u64) {
        self.head().fault.stop_from(call);
        self.wake_all();
    }

    /// The fault that the state of the other ranks means for call `call`, which rank `rank` waits in, and the first call that
    /// cannot be made for it.
    pub(crate) fn trouble(&self, rank: u32, call: u64) -> Option<(u64, Fault)> {
        /// Calls before this one that are compared too: some rank may have finished one unawares.
        const BACK: u64 = 16;
        let me = self.member(rank);
        let calls = call.saturating_sub(BACK)..me.entered();
        (0..self.ranks).filter(|o| *o != rank).find_map(|other| {
            let differs = |at| Some((at, self.compare(rank, other, at)?));
            let absent = || Some((0, self.absent(other, call)?));
            calls.clone().find_map(differs).or_else(absent)
        })
    }

    /// Where a rank stands; one that has not come to this communicator, where it stands in the one that this was made of.
    pub(crate) fn presence(&self, rank: u32) -> Presence {
        // In this order: whoever has left the old one after coming here is seen here.
        let before = self.origin.as_ref().map(|origin| origin.presence(rank));
        let member = self.member(rank);
        match before {
            Some(before) if !member.is_taken() => before,
            Some(_) | None => member.presence(),
        }
    }

    /// Stops the communicator if a process of it is known to have ended without leaving it.
    ///
    /// One that had entered call `call` may have done its part in it, so for that the caller gives it some time.
    pub(crate) fn mourn(&self, rank: u32, call: Option<u64>) -> Result<(), TransportError> {
        let gone = |other: u32| self.presence(other) != Presence::Present;
        let entered = |other: u32| call.is_some_and(|call| self.member(other).entered() > call);
        match self.liveness.dead(gone, entered) {
            Some((dead, how)) => Err(self.poison(rank, Fault::Died { rank: dead, how })),
            None => Ok(()),
        }
    }

    /// The fault if ranks `rank` and `other` are known to have made different calls as call `call`.
    pub(crate) fn compare(&self, rank: u32, other: u32, call: u64) -> Option<Fault> {
        let mine = self.record(rank).entry(call)?;
        let theirs = self.record(other).entry(call)?;
        // Every rank numbers names for itself: the hash alone says whether two signatures are the same.
        (mine.hash != theirs.hash).then_some(Fault::Mismatch {
            rank,
            other,
            mine,
            theirs: Some(theirs),
        })
    }

    /// The fault when rank `rank`, which is about to make call `mine`, finds that rank `other` has opened the next window for a
    /// call `theirs`, and the first call that cannot be made for it: one of the two may be ahead, as a call before had a window
    /// on one of them alone.
    #[cold]
    pub(crate) fn other_window(
        &self,
        rank: u32,
        (other, theirs): (u32, Stamp),
        mine: Stamp,
    ) -> (u64, Fault) {
        /// Calls before this one that are compared.
        const BACK: u64 = 16;
        let (me, them) = (self.member(rank), self.member(other));
        let next = me.entered();
        let before = next.saturating_sub(BACK)..next;
        let differs = |at| Some((at, self.compare(rank, other, at)?));
        if let Some(found) = before.clone().find_map(differs) {
            return found;
        }
        let (first, mine, theirs) = match them.entered() {
            at if before.contains(&at) => (at, self.record(rank).entry(at).unwrap_or(mine), theirs),
            _ => {
                let same = self
                    .record(other)
                    .entry(next)
                    .filter(|same| same.hash != mine.hash);
                (next, mine, same.unwrap_or(theirs))
            }
        };
        let theirs = Some(theirs);
        let fault = Fault::Mismatch {
            rank,
            other,
            mine,
            theirs,
        };
        (first, fault)
    }

    /// The fault if `other` has gone and never entered call `call`.
    fn absent(&self, other: u32, call: u64) -> Option<Fault> {
        let member = self.member(other);
        let presence = self.presence(other);
        if member.entered() > call {
            return None;
        }
        match presence {
            Presence::Present => None,
            Presence::Left => Some(Fault::Left { rank: other }),
            Presence::Panicked => Some(Fault::Panicked { rank: other }),
        }
    }
}

/// What a receiver says of a message that is not as long as it expects; `u64::MAX` bytes are more, nobody knows how many.
fn wrong_length(rank: u32, other: u32, expected: u64, received: u64) -> TransportError {
    let expected = expected as usize;
    match received {
        u64::MAX => TransportError::TooLong {
            rank,
            other,
            expected,
        },
        _ => TransportError::Length {
            rank,
            other,
            expected,
            received: received as usize,
        },
    }
}
