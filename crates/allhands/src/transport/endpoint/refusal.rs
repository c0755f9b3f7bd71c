//! Refusals: calls that one rank did not make as something was wrong with them there, which the others may be making.
//!
//! Whether the others make such a call, only they know: the program may have meant one for all ranks, or made it on this rank alone.
//! Natively it counts as none. So nothing stops for it. The rank notes what it refused, for the call that it makes next; another one
//! that waits in just such a call, for which the rank has come with a different one, or does not come, finds that it was refused.
//! Then all who are in it fail, and the rank knows that its own next call is the one after it.

use crate::transport::TransportError;
use crate::transport::endpoint::cluster::Cluster;
use crate::transport::endpoint::state::Endpoint;
use crate::transport::net::notice::Word;
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::member::{Presence, Stamp};
use crate::transport::shm::segment::shared_segment::SharedSegment;
use allhands_core::call::Collective;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long others wait for a rank that has refused such a call as they are in: it may come with a better one.
const GRACE: Duration = Duration::from_secs(2);
/// How long a rank that has refused a call waits for the others to come to its next one: if that is what they make, it has to wait
/// for most of them anyway, and if they are in the refused one, some may be through with that without a look at this rank.
const ASKS_FOR: Duration = Duration::from_secs(1);
/// The time between two looks whether they have.
const LOOKS_EVERY: Duration = Duration::from_micros(50);

/// A call that a rank has refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The collective.
    pub collective: Collective,
    /// Whether ranks may have counts of their own, of which they then may tell one another first.
    pub irregular: bool,
}

impl Refused {
    /// Whether a call of this collective may be it, or the exchange of counts with which it begins.
    fn may_be(self, collective: Collective) -> bool {
        let told_by = match self.collective {
            Collective::Gather | Collective::Scatter => Some(Collective::Broadcast),
            Collective::Alltoall => Some(Collective::Allgather),
            _ => None,
        };
        self.collective == collective || (self.irregular && told_by == Some(collective))
    }

    fn code(self) -> u64 {
        let position = Collective::ALL.iter().position(|c| *c == self.collective);
        1 + position.unwrap_or_default() as u64 + 16 * u64::from(self.irregular)
    }

    fn from_code(code: u64) -> Option<Refused> {
        let position = (code % 16).checked_sub(1)?;
        Some(Refused {
            collective: *Collective::ALL.get(position as usize)?,
            irregular: code >= 16,
        })
    }
}

/// What a rank has refused since the last call that it made, in a word: the number of the next call, of which the upper bits are
/// cut, and up to eight refused ones, the first in the lowest bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusals(pub(crate) u64);

impl Refusals {
    const MOST: u32 = 8;
    const BITS: u32 = 5;
    const CALL_AT: u32 = Self::MOST * Self::BITS;

    fn number(call: u64) -> u64 {
        call << Self::CALL_AT
    }

    /// Whether they are for a call not long before call `call`.
    fn are_recent(self, call: u64) -> bool {
        /// Calls for which it may yet turn out that others make one that this rank has refused.
        const BACK: u64 = 16;
        let since = Self::number(call).wrapping_sub(self.0) >> Self::CALL_AT;
        self.0 != 0 && since <= BACK
    }

    /// Those for call `call`, if there are some.
    fn of(self, call: u64) -> impl Iterator<Item = Refused> {
        let is_of = self.0 >> Self::CALL_AT == Self::number(call) >> Self::CALL_AT;
        let code = move |at: u32| self.0 >> (at * Self::BITS) & ((1 << Self::BITS) - 1);
        let all = (0..Self::MOST).map(code).map_while(Refused::from_code);
        all.take(if is_of { Self::MOST as usize } else { 0 })
    }

    /// The same with another one for call `call`, if there is room.
    fn and(self, call: u64, refused: Refused) -> Refusals {
        let before = self.of(call).count() as u32;
        let kept = match before {
            0 => Self::number(call),
            Self::MOST => return self,
            _ => self.0,
        };
        Refusals(kept | refused.code() << (before * Self::BITS))
    }

    /// The same without the last one for call `call`.
    fn without_last(self, call: u64) -> Refusals {
        match self.of(call).count() as u32 {
            0 | 1 => Refusals::default(),
            count => Refusals(self.0 & !(((1 << Self::BITS) - 1) << ((count - 1) * Self::BITS))),
        }
    }

    /// How many for call `call` a call of this collective may be.
    fn count(self, call: u64, collective: Collective) -> usize {
        let all = self.of(call);
        all.filter(|refused| refused.may_be(collective)).count()
    }

    /// The first for call `call` that a call of this collective may be.
    fn find(self, call: u64, collective: Collective) -> Option<usize> {
        self.of(call).position(|refused| refused.may_be(collective))
    }
}

/// What a rank of another node has refused.
#[derive(Clone, Copy, Debug)]
struct Refuser {
    /// Its number in plans.
    rank: u32,
    /// The call that it makes next, and those that it did not make before it.
    call: u64,
    refusals: Refusals,
    /// The hash of the call that it has come with.
    came_with: Option<u64>,
    /// Whether it was told what this rank made as that call.
    is_answered: bool,
}

/// What the ranks of other nodes have told of refusals.
#[derive(Debug, Default)]
pub(crate) struct ReportedRefusals {
    refusers: Vec<Refuser>,
    /// The call that each rank that said so has come to, and its stamp.
    came: Vec<(u32, u64, Stamp)>,
}

impl ReportedRefusals {
    /// Notes what a rank has refused.
    pub(crate) fn note(&mut self, rank: u32, call: u64, refusals: u64) {
        self.refusers.retain(|refuser| refuser.rank != rank);
        if refusals != 0 {
            self.refusers.push(Refuser {
                rank,
                call,
                refusals: Refusals(refusals),
                came_with: None,
                is_answered: false,
            });
        }
    }

    /// Notes what a rank makes as call `call`; whether it had refused calls before that.
    pub(crate) fn comes(&mut self, rank: u32, call: u64, stamp: Stamp) -> bool {
        self.came.retain(|(other, ..)| *other != rank);
        self.came.push((rank, call, stamp));
        let mut refusers = self.refusers.iter_mut();
        let refuser = refusers.find(|refuser| (refuser.rank, refuser.call) == (rank, call));
        refuser
            .map(|refuser| refuser.came_with = Some(stamp.hash))
            .is_some()
    }
}

impl SharedSegment {
    /// The fault of a call that ranks of this node make differently: a refusal, if it is that.
    pub(crate) fn or_refused(&self, call: u64, fault: Fault) -> Fault {
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
}

impl Endpoint {
    /// Says that this rank does not make its next call, as something is wrong with it here alone: the others cannot make it,
    /// nor any later one.
    #[cold]
    pub(crate) fn refuse(&self, collective: Collective) {
        let rank = self.rank;
        let fault = Fault::Refused { rank, collective };
        self.segment.poison_from(self.next_call(), rank, fault);
        self.spread();
    }

    /// Notes that this rank has not made a call, as something was wrong with it here: the others may be making it as the one that
    /// this rank begins next, after `ahead` that it has promised to begin.
    #[cold]
    pub(crate) fn note_refusal(&mut self, refused: Refused, ahead: usize) {
        let call = self.begun() + ahead as u64;
        self.say_refusals(call, self.refusals.and(call, refused));
    }

    /// Takes the last note back, which was made with as many ahead: the call was made after all.
    #[cold]
    pub(crate) fn forget_refusal(&mut self, ahead: usize) {
        let call = self.begun() + ahead as u64;
        self.say_refusals(call, self.refusals.without_last(call));
    }

    fn say_refusals(&mut self, call: u64, refusals: Refusals) {
        self.refusals = refusals;
        self.segment.member(self.rank).refuse(refusals.0);
        if let Some(cluster) = &self.cluster {
            let word = Word::Refuses(call, refusals.0);
            cluster.notify_all(&mut cluster.state(), &word);
        }
    }

    /// If the call that stops the communicator is one that this rank has refused: those that it has refused after that.
    pub(crate) fn stopped_by_refusal(&self) -> Option<Vec<Refused>> {
        let (_, fault) = self.segment.head().fault.first()?;
        let Fault::Refused { collective, .. } = fault else {
            return None;
        };
        let call = self.stops_from();
        let at = self.refusals.find(call, collective)?;
        Some(self.refusals.of(call).skip(at + 1).collect())
    }

    /// Looks, before call `call` begins with that stamp, whether others are in one that this rank has refused.
    ///
    /// # Errors
    /// Then what stops the communicator.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_for_refused(
        &mut self,
        call: u64,
        (stamp, chain): (&Stamp, u64),
    ) -> Result<(), TransportError> {
        if self.refusals.of(call).next().is_none() {
            if !self.refusals.are_recent(call) {
                self.refusals = Refusals::default();
            }
            return Ok(());
        }
        // Others that have refused calls wait for this as this rank does.
        let me = Arc::clone(&self.segment);
        me.record(self.rank).enter(call, stamp, chain);
        let cluster = self.cluster.clone();
        if let Some(cluster) = &cluster {
            let word = Word::Comes(call, *stamp);
            cluster.notify_all(&mut cluster.state(), &word);
        }
        let since = Instant::now();
        let mut ended = Ok(false);
        while since.elapsed() < ASKS_FOR {
            ended = self.have_come(cluster.as_deref(), call, stamp);
            if !matches!(ended, Ok(false)) {
                break;
            }
            std::thread::sleep(LOOKS_EVERY);
            self.while_waiting().inspect(|hook| hook());
        }
        ended
            .map(|_| ())
            .inspect_err(|_| me.record(self.rank).withdraw(call))
    }

    /// Whether all others are known to make call `call`, with that stamp, or are gone.
    ///
    /// # Errors
    /// What stops the communicator, which it does if some are in a call that this rank has refused.
    fn have_come(
        &self,
        cluster: Option<&Cluster>,
        call: u64,
        stamp: &Stamp,
    ) -> Result<bool, TransportError> {
        if let Some(error) = self.segment.stopped(self.rank, call) {
            return Err(error);
        }
        let others = (0..self.ranks()).filter(|other| *other != self.rank);
        let is_gone = |other: &u32| self.segment.presence(*other) != Presence::Present;
        let has_come = |other: &u32| self.segment.member(*other).entered() > call;
        let mut have_come = others
            .clone()
            .all(|other| has_come(&other) || is_gone(&other));
        // After that: who has come since is looked at anyway.
        let entries = others.map(|other| self.segment.record(other).entry(call));
        let mut theirs: Vec<Stamp> = entries.flatten().collect();
        if let Some(cluster) = cluster {
            self.hear(cluster, call)?;
            let mut state = cluster.state();
            // What stands in the way of messages is found by who sends some.
            let _ = state.look();
            let came = state.refusals.came.iter().filter(|(_, of, _)| *of == call);
            let before = theirs.len();
            theirs.extend(came.map(|(.., stamp)| *stamp));
            have_come &= theirs.len() - before == cluster.others().len();
        }
        for other in theirs.iter().filter(|other| other.hash != stamp.hash) {
            self.is_refused(call, other.collective())?;
        }
        Ok(have_come)
    }

    /// Stops the communicator if this rank has refused such a call as others make as call `call`.
    fn is_refused(&self, call: u64, collective: Collective) -> Result<(), TransportError> {
        let rank = self.rank;
        match self.refusals.find(call, collective) {
            None => Ok(()),
            Some(_) => {
                let fault = Fault::Refused { rank, collective };
                let error = self.segment.poison_from(call, rank, fault);
                self.spread();
                Err(error)
            }
        }
    }

    /// Looks whether a rank has refused the call `call` that this one is in, and does not come.
    ///
    /// # Errors
    /// Then what stops the communicator.
    pub(crate) fn look_for_refusal(&mut self, call: u64) -> Result<(), TransportError> {
        let (rank, segment) = (self.rank, Arc::clone(&self.segment));
        let Some(mine) = segment.record(rank).entry(call) else {
            return Ok(());
        };
        let collective = mine.collective();
        // Of calls that are wrong everywhere all ranks refuse as many.
        let known = self.refusals.count(call, collective);
        let refuses = |word: u64| Refusals(word).count(call, collective) > known;
        let here = (0..self.ranks()).find(|other| {
            let member = segment.member(*other);
            *other != rank && member.entered() <= call && refuses(member.refusals())
        });
        let cluster = self.cluster.clone();
        let away = || self.refuses_from_afar(cluster.as_deref()?, call, (&mine, known));
        let Some((other, is_sure)) = here.map(|other| (other, false)).or_else(away) else {
            self.refused_since = None;
            return Ok(());
        };
        let (of, since) = *self.refused_since.get_or_insert((call, Instant::now()));
        if of != call {
            self.refused_since = Some((call, Instant::now()));
        } else if is_sure || since.elapsed() >= GRACE {
            let fault = Fault::Refused {
                rank: other,
                collective,
            };
            return Err(segment.poison_from(call, rank, fault));
        }
        Ok(())
    }

    /// A rank of another node that has refused call `call`, which is `mine` here, and whether it is known to make another one.
    fn refuses_from_afar(
        &self,
        cluster: &Cluster,
        call: u64,
        (mine, known): (&Stamp, usize),
    ) -> Option<(u32, bool)> {
        let mut answers = Vec::new();
        let mut state = cluster.state();
        for refuser in &mut state.refusals.refusers {
            let entry = self.segment.record(self.rank).entry(refuser.call);
            if let Some(stamp) = entry.filter(|_| !refuser.is_answered) {
                refuser.is_answered = true;
                answers.push((refuser.rank, Word::Comes(refuser.call, stamp)));
            }
        }
        for (to, word) in answers {
            state.network.notify(cluster.name(to), &word.notice());
        }
        let may_be = |refuser: &&Refuser| {
            let is_such = refuser.refusals.count(call, mine.collective()) > known;
            is_such && refuser.came_with != Some(mine.hash)
        };
        let found = state.refusals.refusers.iter().find(may_be)?;
        Some((found.rank, found.came_with.is_some()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn refused(collective: Collective) -> Refused {
        Refused {
            collective,
            irregular: false,
        }
    }

    #[test]
    fn refusals_are_kept_in_their_order() {
        let all: Vec<Refused> = Collective::ALL.into_iter().map(refused).collect();
        let mut refusals = Refusals::default();
        for (at, one) in all.iter().enumerate() {
            assert_eq!(refusals.of(7).count(), at.min(8));
            refusals = refusals.and(7, *one);
        }
        assert_eq!(refusals.of(7).collect::<Vec<_>>(), all[..8]);
        assert_eq!(refusals.of(8).count(), 0);
        assert_eq!(refusals.find(7, all[3].collective), Some(3));
        assert_eq!(refusals.find(7, all[8].collective), None);
        let shorter = refusals.without_last(7).without_last(7);
        assert_eq!(shorter.of(7).collect::<Vec<_>>(), all[..6]);
        let anew = refusals.and(1 << 50 | 9, all[10]);
        assert_eq!(anew.of(1 << 50 | 9).collect::<Vec<_>>(), all[10..]);
        assert_eq!(anew.of(7).count(), 0);
        assert_eq!(anew.without_last(1 << 50 | 9), Refusals::default());
    }

    #[test]
    fn an_irregular_call_may_begin_with_counts() {
        let irregular = |collective| Refused {
            collective,
            irregular: true,
        };
        for (one, collective, may_be) in [
            (irregular(Collective::Gather), Collective::Broadcast, true),
            (irregular(Collective::Alltoall), Collective::Allgather, true),
            (irregular(Collective::Alltoall), Collective::Alltoall, true),
            (irregular(Collective::Gather), Collective::Allgather, false),
            (refused(Collective::Gather), Collective::Broadcast, false),
        ] {
            assert_eq!(one.may_be(collective), may_be);
            assert_eq!(Refused::from_code(one.code()), Some(one));
        }
    }
}
