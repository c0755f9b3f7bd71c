//! Reports: what a rank tells those of other nodes that went wrong, or has taken long, and what it hears from them.

use crate::transport::TransportError;
use crate::transport::endpoint::nodes::cluster::{Cluster, Left, State};
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::NetworkError;
use crate::transport::net::notice::{MISSING, Word};
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::member::Stamp;

impl Endpoint {
    /// Tells the other nodes what stopped the communicator, and from which call on, unless they know.
    #[cold]
    pub(crate) fn spread(&self) {
        if let (Some(cluster), Some((first, word))) = (&self.cluster, self.word_of_stop())
            && !self.is_told_by_culprit()
            && self.segment.head().fault.is_news(first)
        {
            cluster.notify_all(&mut cluster.state(), &word.notice());
        }
    }

    /// As [`Endpoint::spread`], before this rank leaves: whoever hears that it has left and nothing yet from who found the fault
    /// would take that for the fault. That another rank has left is told again, too: what this rank says may come sooner than what
    /// the other one said. What has been told before need not come where leaving is not told either, as over an MPI: there the next
    /// communicator may have the same tags.
    #[cold]
    pub(crate) fn spread_before_leaving(&self) {
        if let (Some(cluster), Some((first, word))) = (&self.cluster, self.word_of_stop()) {
            let is_news = !self.is_told_by_culprit() && self.segment.head().fault.is_news(first);
            let notice = match is_news {
                true => word.notice(),
                false => word.repeated(),
            };
            cluster.notify_all(&mut cluster.state(), &notice);
        }
    }

    /// Whether who has left or panicked, and tells everybody so by itself, is what stopped the communicator.
    fn is_told_by_culprit(&self) -> bool {
        let fault = self.segment.head().fault.first();
        matches!(fault, Some((_, Fault::Left { rank } | Fault::Panicked { rank })) if rank != self.rank)
    }

    /// From which call on the communicator has stopped, and the word for it.
    fn word_of_stop(&self) -> Option<(u64, Word)> {
        let cluster = self.cluster.as_ref()?;
        let (finder, fault) = self.segment.head().fault.first()?;
        let first = self.segment.head().fault.stops_from();
        let name = |rank, stamp| self.segment.signature(rank, &stamp).algorithm.to_string();
        let names = match fault {
            Fault::Mismatch {
                rank,
                other,
                mine,
                theirs,
            } => [
                name(rank, mine),
                theirs.map_or_else(String::new, |theirs| name(other, theirs)),
            ],
            _ => [String::new(), String::new()],
        };
        let fault = fault.renumbered(|rank| cluster.name(rank));
        Some((
            first,
            Word::Stopped(first, (cluster.name(finder), fault), names),
        ))
    }

    /// Tells the other nodes in which call this rank waits: who calls differently finds out.
    pub(crate) fn report_call(&self, cluster: &Cluster, call: u64) {
        if let Some(word) = self.word_of(call) {
            cluster.notify_all(&mut cluster.state(), &word.notice());
        }
    }

    /// What this rank calls as call `call`, if that is not long ago, and which ranks of its node have not come to it.
    pub(crate) fn word_of(&self, call: u64) -> Option<Word> {
        let stamp = self.segment.record(self.rank).entry(call)?;
        let name = self.segment.signature(self.rank, &stamp).algorithm;
        let mut missing = [0; MISSING];
        for rank in self.missing_here(call) {
            // Of the few nodes that have more ranks than bits, the last ranks are taken to have come.
            if let Some(word) = missing.get_mut(rank as usize / 64) {
                *word |= 1 << (rank % 64);
            }
        }
        Some(Word::Waits(call, stamp, name.to_string(), missing))
    }

    /// Hears what other nodes have to say.
    pub(crate) fn listen(&self, cluster: &Cluster) {
        self.listen_with(cluster, &mut cluster.state());
    }

    /// As [`Endpoint::listen`], by who uses the network now.
    pub(crate) fn listen_with(&self, cluster: &Cluster, state: &mut State) {
        while let Some((teller, notice)) = state.network.hear() {
            let Some(teller) = cluster.numbers.get(teller as usize).copied() else {
                continue;
            };
            match Word::from_notice(&notice) {
                Some(Word::Stopped(first, found, names)) => {
                    self.heard_fault(cluster, first, found, &names)
                }
                Some(Word::Left {
                    entered,
                    panicked,
                    frames,
                }) => state.left.push(Left {
                    rank: teller,
                    entered,
                    panicked,
                    frames,
                }),
                Some(Word::Waits(call, stamp, name, missing)) => {
                    state.waiting.retain(|(rank, ..)| *rank != teller);
                    state.waiting.push((teller, call, missing));
                    // With a call that it has refused it may differ.
                    if !state.refusals.comes(teller, call, stamp) {
                        self.heard_call(teller, (call, stamp), &name);
                    }
                }
                Some(Word::Refuses(call, refusals)) => state.refusals.note(teller, call, refusals),
                Some(Word::Comes(call, stamp)) => _ = state.refusals.comes(teller, call, stamp),
                None => {}
            }
        }
    }

    /// Hears what other nodes have to say of call `call` and those before it.
    ///
    /// # Errors
    /// What stopped the communicator.
    pub(crate) fn hear(&self, cluster: &Cluster, call: u64) -> Result<(), TransportError> {
        self.listen(cluster);
        if let Some(error) = self.segment.stopped(self.rank, call) {
            return Err(error);
        }
        self.stopped_by_leaving(&cluster.state(), call)
            .map_or(Ok(()), Err)
    }

    /// What stops call `call`, if a rank of another node has said that it makes no such call.
    fn stopped_by_leaving(&self, state: &State, call: u64) -> Option<TransportError> {
        let mut left = state.left.iter();
        let &Left {
            rank,
            entered,
            panicked,
            ..
        } = left.find(|left| left.entered <= call)?;
        let fault = match panicked {
            true => Fault::Panicked { rank },
            false => Fault::Left { rank },
        };
        // Calls before those that it does not make can be completed by others of this node.
        Some(self.segment.poison_from(entered, self.rank, fault))
    }

    /// What stops call `call` as the network has failed in it: what others have said, if they have, since a rank that is lost may have
    /// left in order, or on account of what they found.
    #[cold]
    pub(crate) fn failed_in(
        &self,
        (cluster, state): (&Cluster, &mut State),
        call: u64,
        error: &NetworkError,
    ) -> TransportError {
        self.listen_with(cluster, state);
        let found = self.segment.stopped(self.rank, call);
        let said = || match error.lost() {
            Some(_) => self.stopped_by_leaving(state, call),
            None => None,
        };
        let found = found.or_else(said);
        found.unwrap_or_else(|| self.message_failed(error))
    }

    /// Stops the communicator on this node with what stopped it elsewhere.
    fn heard_fault(
        &self,
        cluster: &Cluster,
        first: u64,
        (finder, fault): (u32, Fault),
        names: &[String; 2],
    ) {
        let all = cluster.numbers.len();
        let number = |rank: u32| cluster.numbers[rank as usize % all];
        let mut fault = fault.renumbered(number);
        if let Fault::Mismatch { mine, theirs, .. } = &mut fault {
            let here = |stamp, name| self.segment.stamp_from_afar(self.rank, stamp, name);
            *mine = here(*mine, &names[0]);
            *theirs = theirs.map(|stamp| here(stamp, &names[1]));
        }
        self.segment.head().fault.is_news(first);
        self.segment.poison_from(first, number(finder), fault);
    }

    /// Compares a call in which a rank of another node waits with what this one called.
    fn heard_call(&self, other: u32, (call, theirs): (u64, Stamp), name: &str) {
        let (rank, segment) = (self.rank, &self.segment);
        let mine = segment.record(rank).entry(call);
        if let Some(mine) = mine.filter(|mine| mine.hash != theirs.hash) {
            let theirs = Some(segment.stamp_from_afar(rank, theirs, name));
            let fault = Fault::Mismatch {
                rank,
                other,
                mine,
                theirs,
            };
            segment.poison_from(call, rank, fault);
        }
    }
}
