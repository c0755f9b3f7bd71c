//! The cluster: what a rank has beyond its node, a network to the ranks of others and the numbers by which plans call them.
//!
//! A plan numbers the ranks of the own node first, as the segment does, and then all others in their order; so whoever shares
//! memory is known by one comparison. Errors give ranks the numbers that they have in the communicator.

use crate::transport::TransportError;
use crate::transport::endpoint::nodes::differing::Differing;
use crate::transport::endpoint::nodes::reported::ReportedRefusals;
use crate::transport::endpoint::nodes::windows::OwnWindows;
use crate::transport::net::notice::MISSING;
use crate::transport::net::{Claim, NetworkError, Notice, Places, Sleep, Way};
use allhands_core::schedule::AGREEMENT_CHANNEL;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Channels of a call's messages between two nodes: a strand has one, and an algorithm at most 64 strands and a few.
pub(crate) const CHANNELS: u32 = AGREEMENT_CHANNEL as u32 + 1;

/// Channels of no call, the last ones before that of agreement: their tags, of every call, are for messages between two ranks.
const MESSAGE_CHANNELS: u16 = 2;
/// The channel before these, by which ranks describe their windows to one another; channels below are for calls.
pub(crate) const WINDOW_CHANNEL: u16 = AGREEMENT_CHANNEL - MESSAGE_CHANNELS - 1;
/// How many channels are for calls.
pub(crate) const CALL_CHANNELS: u16 = WINDOW_CHANNEL;
/// The tag of what is said between two ranks outside of calls, and of short messages with it.
pub(crate) const FRAME_TAG: u32 = WINDOW_CHANNEL as u32 + 1;
/// The tag of the long messages among these that are asked for.
pub(crate) const DATA_TAG: u32 = FRAME_TAG + 1;

/// How many lanes there are from one rank to another, where there are tags enough, for long messages that nobody has asked for: that many
/// of 128 KB are what a rank keeps over TCP at most.
pub(crate) const LANES: u32 = u64::BITS;

/// A rank's way to other nodes.
pub(crate) struct Cluster {
    pub(crate) places: Places,
    /// The rank in the communicator.
    pub(crate) rank: u32,
    /// By the number in plans: the rank in the communicator.
    pub(crate) names: Box<[u32]>,
    /// By the rank in the communicator: the number in plans.
    pub(crate) numbers: Box<[u32]>,
    /// How many calls may be under way, so that their tags differ.
    calls: u64,
    /// How many lanes there are to each rank.
    pub(crate) lanes: u32,
    /// Whether ranks of other nodes can put into windows here, and this one there.
    pub(crate) has_windows: bool,
    /// What wakes this rank while it sleeps at its network, if it can.
    pub(crate) doorbell: Option<u32>,
    state: Mutex<State>,
}

/// A rank of another node that makes no further call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    /// Its number in plans.
    pub(crate) rank: u32,
    /// How many calls it has made.
    pub(crate) entered: u64,
    pub(crate) panicked: bool,
    /// How many messages that are no part of a call it has sent to this rank.
    pub(crate) frames: u64,
}

/// What changes.
pub(crate) struct State {
    pub(crate) network: Way,
    /// How often the network was taken further.
    pub(crate) looks: u64,
    /// The numbers of the calls under way that exchange messages with other nodes.
    pub(crate) under_way: Vec<u64>,
    /// The call in which each rank that said so waits, by its number in plans, and who of its node had not come to it.
    pub(crate) waiting: Vec<(u32, u64, [u64; MISSING])>,
    /// Ranks that make no further call.
    pub(crate) left: Vec<Left>,
    /// How many messages that are no part of a call this rank has sent to each, by its number in plans, once it sends no more.
    pub(crate) frames: Box<[u64]>,
    /// What ranks have refused.
    pub(crate) refusals: ReportedRefusals,
    /// The first rank from which a message of another call came.
    pub(crate) differing: Option<Differing>,
    /// The windows into which ranks of other nodes put.
    pub(crate) windows: OwnWindows,
}

impl Cluster {
    /// The way of rank `rank`, which is number `number` of the `sharing` ranks of its segment.
    pub(crate) fn new(
        network: Way,
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
        let (doorbell, has_windows) = (network.doorbell(), network.has_windows());
        let state = State {
            network,
            looks: 0,
            under_way: Vec::new(),
            waiting: Vec::new(),
            left: Vec::new(),
            frames: Box::default(),
            refusals: ReportedRefusals::default(),
            differing: None,
            windows: OwnWindows::new(),
        };
        Ok(Cluster {
            rank,
            names,
            numbers: numbers.into(),
            calls: u64::from(tags / CHANNELS),
            lanes: LANES.min(tags / CHANNELS - 1),
            has_windows,
            doorbell,
            state: Mutex::new(state),
            places,
        })
    }

    /// What changes, for whoever uses the network now.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Whoever panics while it is held leaves messages that their request takes back.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the network calls these ranks of the communicator, if other communicators can go through it.
    pub(crate) fn names_there(&self, ranks: &[u32]) -> Option<Box<[u32]>> {
        Some(self.state().network.part()?.names(ranks))
    }

    /// How many communicators can go through the network at a time, if others can.
    pub(crate) fn contexts(&self) -> Option<u32> {
        Some(self.state().network.part()?.contexts())
    }

    /// The first number from `least` on that another communicator of this rank can have, if there is any.
    pub(crate) fn first_free(&self, least: u32) -> Option<u32> {
        self.state().network.part()?.first_free(least)
    }

    /// What another communicator of this rank can have, with this number, if it is free.
    pub(crate) fn another(&self, number: u32) -> Option<Claim> {
        self.state().network.part()?.another(number)
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

    /// The tag of a long message that goes unasked, on this lane: the same channel's, of another call.
    pub(crate) fn lane_tag(&self, lane: u8) -> u32 {
        DATA_TAG + (u32::from(lane) + 1) * CHANNELS
    }

    /// Whether call `call` may begin: all that have its tags have ended.
    pub(crate) fn begin(&self, state: &mut State, call: u64) -> Result<(), TransportError> {
        let same_tags = |earlier: &u64| call.abs_diff(*earlier) >= self.calls;
        if state.under_way.iter().any(same_tags) {
            let (rank, calls) = (self.rank, self.calls);
            return Err(TransportError::TooManyCalls { rank, calls });
        }
        state.under_way.push(call);
        Ok(())
    }

    /// The ranks of other nodes, as the communicator calls them.
    pub(crate) fn others(&self) -> &[u32] {
        let own = self.places.members(self.places.node(self.rank));
        &self.names[own.len()..]
    }

    pub(crate) fn notify_all(&self, state: &mut State, notice: &Notice) {
        for other in self.others() {
            state.network.notify(*other, notice);
        }
    }
}

impl State {
    /// Says that a call is under way no more.
    pub(crate) fn end(&mut self, call: u64) {
        self.under_way.retain(|other| *other != call);
    }

    /// Sleeps at the network.
    pub(crate) fn sleep(&mut self, limit: Duration) -> Result<Sleep, NetworkError> {
        self.looks += 1;
        let slept = self.network.sleep(limit);
        self.raise_all();
        slept
    }

    /// Takes the network further.
    pub(crate) fn look(&mut self) -> Result<(), NetworkError> {
        self.looks += 1;
        let looked = self.network.progress();
        self.raise_all();
        looked
    }
}
