//! The cluster: what a rank has beyond its node, a network to the ranks of others and the numbers by which plans call them.
//!
//! A plan numbers the ranks of the own node first, as the segment does, and then all others in their order; so whoever shares
//! memory is known by one comparison. Errors give ranks the numbers that they have in the communicator.

use crate::transport::TransportError;
use crate::transport::endpoint::overdue::Overdue;
use crate::transport::endpoint::refusal::ReportedRefusals;
use crate::transport::endpoint::state::Endpoint;
use crate::transport::net::notice::{MISSING, Word};
use crate::transport::net::{Network, Places};
use crate::transport::shm::failure::fault::Fault;
use crate::transport::shm::failure::member::Stamp;
use crate::transport::shm::wait::backoff::Patience;
use allhands_core::progress::Status;
use allhands_core::schedule::{AGREEMENT_CHANNEL, Plan};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Channels of a call's messages between two nodes: a strand has one, and an algorithm at most 64 strands and a few.
const CHANNELS: u32 = AGREEMENT_CHANNEL as u32 + 1;

/// The longest time without a look at the network while a rank waits.
const NAP: Duration = Duration::from_micros(50);

/// How long a rank waits before it tells the other nodes in which call.
const PATIENT_FOR: Duration = Duration::from_millis(100);

/// A rank's way to other nodes.
pub(crate) struct Cluster {
    places: Places,
    /// The rank in the communicator.
    rank: u32,
    /// By the number in plans: the rank in the communicator.
    names: Box<[u32]>,
    /// By the rank in the communicator: the number in plans.
    numbers: Box<[u32]>,
    /// How many calls may be under way, so that their tags differ.
    calls: u64,
    state: Mutex<State>,
}

/// What changes.
pub(crate) struct State {
    pub(crate) network: Box<dyn Network>,
    /// How often the network was taken further.
    looks: u64,
    /// The numbers of the calls under way that exchange messages with other nodes.
    under_way: Vec<u64>,
    /// The call in which each rank that said so waits, by its number in plans, and who of its node had not come to it.
    waiting: Vec<(u32, u64, [u64; MISSING])>,
    /// Ranks that make no further call, by their numbers in plans, with how many they have made.
    left: Vec<(u32, u64, bool)>,
    /// What ranks have refused.
    pub(crate) refusals: ReportedRefusals,
}

impl Cluster {
    /// The way of rank `rank`, which is number `number` of the `sharing` ranks of its segment.
    fn new(
        network: Box<dyn Network>,
        places: Places,
        rank: u32,
        (number, sharing): (u32, u32),
    ) -> Result<Cluster, TransportError> {
        let (ranks, tags) = (places.ranks(), network.tags());
        if rank >= ranks {
            return Err(TransportError::NoSuchRank { rank, ranks });
        }
        if tags < 2 * CHANNELS {
            let least = 2 * CHANNELS;
            return Err(TransportError::FewTags { tags, least });
        }
        let own = places.members(places.node(rank));
        let (local, on_node) = (places.local(rank), own.len() as u32);
        if (local, on_node) != (number, sharing) {
            return Err(TransportError::WrongPlace {
                rank,
                local,
                on_node,
                number,
                sharing,
            });
        }
        let others = (0..ranks).filter(|other| places.node(*other) != places.node(rank));
        let names: Box<[u32]> = own.iter().copied().chain(others).collect();
        let mut numbers = vec![0; names.len()];
        for (number, name) in (0..).zip(&names) {
            numbers[*name as usize] = number;
        }
        let state = State {
            network,
            looks: 0,
            under_way: Vec::new(),
            waiting: Vec::new(),
            left: Vec::new(),
            refusals: ReportedRefusals::default(),
        };
        Ok(Cluster {
            rank,
            names,
            numbers: numbers.into(),
            calls: u64::from(tags / CHANNELS),
            state: Mutex::new(state),
            places,
        })
    }

    /// What changes, for whoever uses the network now.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panics while it is held leaves messages that their request takes back.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a rank of another node is called in the communicator.
    pub(crate) fn name(&self, number: u32) -> u32 {
        self.names[number as usize]
    }

    /// The tag of a message. Calls that are under way at once have different ones; those of an earlier call are over, on both
    /// sides, before the next one with the same tags begins there, so that nothing is overtaken.
    pub(crate) fn tag(&self, call: u64, channel: u16) -> u32 {
        (call % self.calls) as u32 * CHANNELS + u32::from(channel)
    }

    /// Whether call `call` may begin: all that have its tags have ended.
    pub(crate) fn begin(&self, call: u64) -> Result<(), TransportError> {
        let mut state = self.state();
        let same_tags = |earlier: &u64| call.abs_diff(*earlier) >= self.calls;
        if state.under_way.iter().any(same_tags) {
            let (rank, calls) = (self.rank, self.calls);
            return Err(TransportError::TooManyCalls { rank, calls });
        }
        state.under_way.push(call);
        Ok(())
    }

    /// Says that a call is under way no more.
    pub(crate) fn end(&self, call: u64) {
        self.state().under_way.retain(|other| *other != call);
    }

    /// The ranks of other nodes, as the communicator calls them.
    pub(crate) fn others(&self) -> &[u32] {
        let own = self.places.members(self.places.node(self.rank));
        &self.names[own.len()..]
    }

    pub(crate) fn notify_all(&self, state: &mut State, word: &Word) {
        let notice = word.notice();
        for other in self.others() {
            state.network.notify(*other, &notice);
        }
    }
}

impl State {
    /// Takes the network further.
    pub(crate) fn look(&mut self) -> Result<(), crate::transport::net::NetworkError> {
        self.looks += 1;
        self.network.progress()
    }
}

impl Endpoint {
    /// The endpoint of rank `rank` of a communicator on several nodes, of which this endpoint's shared segment has the ranks of one.
    ///
    /// The segment's ranks are those that share the rank's place, in their order. `oversubscribed` says whether ranks share cores with
    /// anybody, be it on a node of another name.
    ///
    /// # Errors
    /// [`TransportError::WrongPlace`] if the segment's ranks are others; [`TransportError::FewTags`] if the network has too few tags.
    pub fn join(
        mut self,
        network: Box<dyn Network>,
        places: Places,
        rank: u32,
        oversubscribed: bool,
    ) -> Result<Endpoint, TransportError> {
        let here = (self.rank, self.segment.ranks());
        let cluster = Cluster::new(network, places, rank, here)?;
        self.segment.call_ranks(&cluster.names);
        self.patience = Patience::new(oversubscribed);
        self.cluster = Some(Arc::new(cluster));
        Ok(self)
    }

    /// The rank in the communicator; [`Endpoint::rank`] is the number on the node.
    #[must_use]
    pub fn global_rank(&self) -> u32 {
        self.cluster.as_ref().map_or(self.rank, |c| c.rank)
    }

    /// The number of ranks of the communicator; [`Endpoint::ranks`] is that of the node.
    #[must_use]
    pub fn global_ranks(&self) -> u32 {
        let of_node = || self.segment.ranks();
        self.places().map_or_else(of_node, Places::ranks)
    }

    /// Where the ranks are, if they are on several nodes.
    #[must_use]
    pub fn places(&self) -> Option<&Places> {
        self.cluster.as_ref().map(|cluster| &cluster.places)
    }

    /// Gives the peers of a plan, which has those of the communicator, the numbers by which this endpoint knows them.
    ///
    /// # Errors
    /// [`TransportError::OtherNode`] if the plan would reach into the memory of a rank on another node, and
    /// [`TransportError::TooManyChannels`].
    pub fn localize(&self, plan: &mut Plan) -> Result<(), TransportError> {
        let Some(cluster) = &self.cluster else {
            return Ok(());
        };
        plan.renumber(|peer| cluster.numbers[peer as usize]);
        let (rank, here) = (cluster.rank, self.segment.ranks());
        for kind in plan.kinds() {
            let Some(peer) = kind.peer().filter(|peer| *peer >= here) else {
                continue;
            };
            if !kind.is_two_sided() {
                let other = cluster.name(peer);
                return Err(TransportError::OtherNode { rank, other });
            }
            let (channel, channels) = (kind.channel(), CHANNELS);
            if u32::from(channel) >= channels {
                return Err(TransportError::TooManyChannels {
                    rank,
                    channel,
                    channels,
                });
            }
        }
        Ok(())
    }

    /// As [`Endpoint::wait_until`] after a first look, of a rank that also looks at the network.
    ///
    /// It never sleeps for long: what other nodes send wakes nobody.
    #[cold]
    pub(crate) fn wait_at_network(
        &mut self,
        cluster: &Cluster,
        call: u64,
        step: &mut impl FnMut(&mut Endpoint) -> Result<Status, TransportError>,
    ) -> Result<(), TransportError> {
        let (mut last_check, since) = (None, Instant::now());
        let (mut patient_for, mut overdue) = (PATIENT_FOR, Overdue::default());
        loop {
            let start = Instant::now();
            for look in 0..self.patience.looks() {
                let looks = cluster.state().looks;
                if step(self)? == Status::Done {
                    return Ok(());
                }
                let is_due = self.patience.is_hook_due(look);
                self.look_at_network(cluster, (looks, is_due))?;
                self.patience.pause_at_network(look);
                if look % 64 == 63 && self.patience.is_over(start) {
                    break;
                }
            }
            std::thread::sleep(NAP);
            if self.patience.is_check_due(&mut last_check) {
                self.check(call)?;
                overdue.look(self, call);
            }
            if since.elapsed() >= patient_for {
                patient_for *= 2;
                self.report_call(cluster, call);
            }
        }
    }

    /// Takes the network further, unless that was done since it had been looked at `looks` times. A rank that has no message
    /// under way, as it waits for its node alone, does that only when it is due.
    fn look_at_network(
        &mut self,
        cluster: &Cluster,
        (looks, is_due): (u64, bool),
    ) -> Result<(), TransportError> {
        let mut state = cluster.state();
        if state.looks > looks || (state.under_way.is_empty() && !is_due) {
            return Ok(());
        }
        let looked = state.look();
        drop(state);
        looked.map_err(|error| self.network_failed(error.0))
    }

    /// Stops the communicator as its network failed.
    #[cold]
    pub(crate) fn network_failed(&self, why: String) -> TransportError {
        let rank = self.rank;
        self.segment.poison(rank, Fault::Network { rank });
        TransportError::Network {
            rank: self.global_rank(),
            why,
        }
    }

    /// Tells the other nodes in which call this rank waits: who calls differently finds out.
    fn report_call(&self, cluster: &Cluster, call: u64) {
        let Some(stamp) = self.segment.record(self.rank).entry(call) else {
            return;
        };
        let name = self.segment.signature(self.rank, &stamp).algorithm;
        let mut missing = [0; MISSING];
        for rank in self.missing_here(call) {
            // Of the few nodes that have more ranks than bits, the last ranks are taken to have come.
            if let Some(word) = missing.get_mut(rank as usize / 64) {
                *word |= 1 << (rank % 64);
            }
        }
        let word = Word::Waits(call, stamp, name.to_string(), missing);
        cluster.notify_all(&mut cluster.state(), &word);
    }

    /// Hears what other nodes have to say of call `call` and those before it.
    ///
    /// # Errors
    /// What stopped the communicator.
    pub(crate) fn hear(&self, cluster: &Cluster, call: u64) -> Result<(), TransportError> {
        let mut state = cluster.state();
        while let Some((teller, notice)) = state.network.hear() {
            let Some(teller) = cluster.numbers.get(teller as usize).copied() else {
                continue;
            };
            match Word::from_notice(&notice) {
                Some(Word::Stopped(first, found, names)) => {
                    self.heard_fault(cluster, first, found, &names)
                }
                Some(Word::Left { entered, panicked }) => {
                    state.left.push((teller, entered, panicked));
                }
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
        if let Some(error) = self.segment.stopped(self.rank, call) {
            return Err(error);
        }
        let absent = state.left.iter().find(|(_, entered, _)| *entered <= call);
        match absent {
            Some(&(rank, _, true)) => Err(self.segment.poison(self.rank, Fault::Panicked { rank })),
            Some(&(rank, _, false)) => Err(self.segment.poison(self.rank, Fault::Left { rank })),
            None => Ok(()),
        }
    }

    /// The ranks of other nodes, as the communicator calls them, that are not known to have come to call `call`: nobody on
    /// their nodes who waits there has seen them.
    pub(crate) fn missing_elsewhere(&self, call: u64) -> Vec<u32> {
        let Some(cluster) = &self.cluster else {
            return Vec::new();
        };
        let (state, places) = (cluster.state(), &cluster.places);
        let has_come = |rank: &u32| {
            let (number, local) = (cluster.numbers[*rank as usize], places.local(*rank));
            let (word, bit) = (local as usize / 64, local % 64);
            state.waiting.iter().any(|(teller, in_call, missing)| {
                let is_there = *teller == number && *in_call >= call;
                let shares = places.node(cluster.name(*teller)) == places.node(*rank);
                let is_missing = missing.get(word).is_some_and(|m| m >> bit & 1 == 1);
                is_there || shares && *in_call == call && !is_missing
            })
        };
        let others = cluster.others().iter().copied();
        others.filter(|rank| !has_come(rank)).collect()
    }

    /// Whether a rank of another node with a lower number has said that it waits in call `call`.
    pub(crate) fn has_heard_of_lower(&self, call: u64) -> bool {
        let Some(cluster) = &self.cluster else {
            return false;
        };
        let state = cluster.state();
        let mut waiting = state.waiting.iter();
        waiting.any(|(teller, in_call, _)| *in_call == call && cluster.name(*teller) < cluster.rank)
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

    /// Tells the other nodes what stopped the communicator, and from which call on, unless they know.
    #[cold]
    pub(crate) fn spread(&self) {
        let Some(cluster) = &self.cluster else {
            return;
        };
        let Some((finder, fault)) = self.segment.head().fault.first() else {
            return;
        };
        // Who has left tells everybody by itself.
        let tells_itself =
            matches!(fault, Fault::Left { rank } | Fault::Panicked { rank } if rank != self.rank);
        let first = self.segment.head().fault.stops_from();
        if tells_itself || !self.segment.head().fault.is_news(first) {
            return;
        }
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
        let word = Word::Stopped(first, (cluster.name(finder), fault), names);
        cluster.notify_all(&mut cluster.state(), &word);
    }

    /// Tells the other nodes that this rank makes no further call.
    #[cold]
    pub(crate) fn report_leave(&self, panicked: bool) {
        self.spread();
        if let Some(cluster) = &self.cluster {
            let entered = self.next_call();
            let word = Word::Left { entered, panicked };
            cluster.notify_all(&mut cluster.state(), &word);
        }
    }
}
