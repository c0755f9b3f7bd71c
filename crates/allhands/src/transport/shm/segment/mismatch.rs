//! Mismatched calls: what the ranks of a shared segment have called and where they stand, and what that means for a call.

use crate::element::TypeSignature;
use crate::operator::OperatorSignature;
use crate::transport::Signature;
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::member::{Presence, Stamp};
use crate::transport::shm::segment::shared_segment::SharedSegment;
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

    /// The fault that the state of the other ranks means for call `call`, which rank `rank` waits in, and the first call that
    /// cannot be made for it.
    pub(crate) fn trouble(&self, rank: u32, call: u64) -> Option<(u64, Fault)> {
        /// Calls before this one that are compared too: some rank may have finished one unawares.
        const BACK: u64 = 16;
        let me = self.member(rank);
        let calls = call.saturating_sub(BACK)..me.entered();
        (0..self.ranks).filter(|o| *o != rank).find_map(|other| {
            let differs = |at| Some((at, self.compare(rank, other, at)?));
            let absent = || self.absent(other, call);
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

    /// The fault if `other` has gone and never entered call `call`, and the first call that it never entered: others may still be in
    /// those before.
    fn absent(&self, other: u32, call: u64) -> Option<(u64, Fault)> {
        // In this order: who has gone enters nothing more.
        let presence = self.presence(other);
        let entered = self.member(other).entered();
        let fault = match presence {
            Presence::Present => return None,
            Presence::Left => Fault::Left { rank: other },
            Presence::Panicked => Fault::Panicked { rank: other },
        };
        (entered <= call).then_some((entered, fault))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::transport::endpoint::state::endpoint::Endpoint;
    use std::sync::Arc;

    #[test]
    fn a_rank_that_has_left_is_missed_from_its_next_call_on() {
        let segment = SharedSegment::new(2).unwrap();
        let _here = Endpoint::new(Arc::clone(&segment), 0).unwrap();
        let leaves = Endpoint::new(Arc::clone(&segment), 1).unwrap();
        segment.record(1).enter(0, &Stamp::default(), 0);
        assert_eq!(segment.trouble(0, 3), None);
        drop(leaves);
        // That call can be completed without it.
        assert_eq!(segment.trouble(0, 0), None);
        let left = Fault::Left { rank: 1 };
        assert_eq!(segment.trouble(0, 3), Some((1, left)));
    }
}
