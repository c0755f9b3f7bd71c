//! Refusals: calls that one rank did not make as something was wrong with them there, which the others may be making.
//!
//! Whether the others make such a call, only they know: the program may have meant one for all ranks, or made it on this rank alone.
//! Natively it counts as none. So nothing stops for it. The rank notes what it refused, for the call that it makes next; another one
//! that waits in just such a call, for which the rank has come with a different one, or does not come, finds that it was refused.
//! Then all who are in it fail, and the rank knows that its own next call is the one after it.

use crate::transport::TransportError;
use crate::transport::endpoint::nodes::cluster::Cluster;
use crate::transport::endpoint::nodes::reported::Refuser;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::notice::Word;
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::member::{Presence, Stamp};
use crate::transport::shm::failure::refusals::{Refusals, Refused};
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
            cluster.notify_all(&mut cluster.state(), &word.notice());
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
            cluster.notify_all(&mut cluster.state(), &word.notice());
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
