//! The agreement on a communicator: how the ranks of one of the MPI's, in their first collective on it, come to one of ours.
//!
//! They gather where each of them is, by native collectives on the communicator itself. Each step that may fail on one rank alone is
//! followed by another one, which says whether it did, so all of them take the calls over or none does.

use crate::abi::{Abi, Handle};
use crate::buffer::staging::left_alone;
use crate::context::call::Reason;
use crate::context::library::Library;
use crate::context::native_collectives::NativeCollectives;
use crate::context::settings::Settings;
use crate::dispatch::agreement::node::{NODE, Node};
use crate::network::{Claim, MpiNetwork, Traffic, World, lot};
use allhands::bootstrap::Bootstrap;
use allhands::interposition::Interposition;
use allhands::transport::Endpoint;
use allhands::transport::net::Places;
use allhands::{Communicator, Policy};
use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::{Arc, PoisonError};

/// How often ranks try to find tags that are free on all of them: other threads may be taking some at the same time.
const TRIES: usize = 8;

/// What each rank of a communicator contributes.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Card {
    /// Its node, or 0 if it has none.
    pub(crate) node: u64,
    /// Its world, or 0 if that has no network.
    world: u64,
    /// Its rank on the node, and in the world.
    rank: u32,
    world_rank: u32,
}

/// The ranks of a communicator that agree.
pub(crate) struct Agreement<'a> {
    native: NativeCollectives<'a>,
    comm: Handle,
    rank: usize,
    size: usize,
}

impl<'a> Agreement<'a> {
    /// The ranks of a communicator of so many, of which this process is rank `rank`.
    pub(crate) fn of(
        library: &'a Library,
        abi: &'a Abi,
        (comm, rank, size): (Handle, usize, usize),
    ) -> Agreement<'a> {
        Agreement {
            native: NativeCollectives { library, abi },
            comm,
            rank,
            size,
        }
    }

    /// Waits for all ranks, and takes what they have sent between nodes and nobody wants.
    pub(crate) fn settle(&self, traffic: &Traffic) {
        traffic.settle(self.comm);
    }

    /// What every rank has, by rank.
    pub(crate) fn allgather<T: Copy>(&self, value: T) -> Option<Vec<T>> {
        self.native.allgather(value, self.size, self.comm)
    }

    /// The communicator of ours for these ranks, and what goes between nodes if they are on several.
    pub(crate) fn join_all(&self) -> Result<(Communicator, Option<Arc<Traffic>>), Reason> {
        let library = self.native.library;
        let node = NODE.read().unwrap_or_else(PoisonError::into_inner);
        let cards = self.cards(node.as_ref());
        let is_off = library.settings().is_off;
        let none = || if is_off { Reason::Off } else { Reason::NoNode };
        let cards = cards.filter(|cards| cards.iter().all(|card| card.node != 0));
        let (Some(node), Some(cards)) = (node.as_ref(), cards) else {
            return Err(none());
        };
        let apart = cards.iter().any(|card| card.node != node.id);
        match apart {
            false => Ok((self.on_one_node(node, &cards)?, None)),
            true => {
                let joined = self.on_several_nodes(node, &cards, library.settings());
                joined.map(|(comm, traffic)| (comm, Some(traffic)))
            }
        }
    }

    /// The cards of all ranks.
    fn cards(&self, node: Option<&Node>) -> Option<Vec<Card>> {
        let world = node.and_then(|node| node.world.as_ref());
        self.allgather(Card {
            node: node.map_or(0, |node| node.id),
            world: world.map_or(0, |world| world.id),
            rank: node.map_or(0, |node| node.rank),
            world_rank: world.map_or(0, |world| world.rank),
        })
    }

    /// The communicator of ranks that all share memory.
    fn on_one_node(&self, node: &Node, cards: &[Card]) -> Result<Communicator, Reason> {
        let members: Vec<u32> = cards.iter().map(|card| card.rank).collect();
        // Not held while others are waited for: their threads may need it for communicators of their own.
        let parent = || node.comm.lock().unwrap_or_else(PoisonError::into_inner);
        // The first member lays out the memory; all ones: it could not.
        let mut offset = [u64::MAX];
        if self.rank == 0 {
            offset = [parent().lay_out(self.size).unwrap_or(u64::MAX)];
        }
        let sent = self.native.broadcast(&mut offset, self.comm);
        if sent.is_none() || offset[0] == u64::MAX {
            return Err(Reason::NoNode);
        }
        // SAFETY: the first member has laid it out for just these, each of which opens it here, once.
        let comm = unsafe { parent().open(offset[0], &members) };
        comm.map_err(|_| Reason::NoNode)
    }

    /// The communicator of ranks that share memory only with some, and a network with the others.
    fn on_several_nodes(
        &self,
        node: &Node,
        cards: &[Card],
        settings: &Settings,
    ) -> Result<(Communicator, Arc<Traffic>), Reason> {
        let worlds = |world: u64| cards.iter().all(|card| card.world == world);
        if worlds(0) {
            return Err(Reason::NoNetwork);
        }
        if !worlds(cards[0].world) {
            return Err(Reason::SeveralWorlds);
        }
        let world = node.world.as_ref().ok_or(Reason::NoNetwork)?;
        let claim = self.claim(world)?;
        let endpoint = self.endpoint(node, cards);
        let joined = endpoint.and_then(|endpoint| self.join(endpoint, world, claim, cards));
        match self.native.all(joined.is_some(), self.size, self.comm) {
            Some(true) => {}
            _ => return Err(Reason::NoNetwork),
        }
        let policy = settings.policy.as_deref();
        let policy = policy.map_or_else(Policy::shared_memory, Policy::parse);
        let (endpoint, traffic) = joined.ok_or(Reason::NoNetwork)?;
        let comm = Communicator::of_endpoint(endpoint, policy, world.oversubscribed);
        comm.set_left_alone(Some(left_alone));
        // Who names a policy wants that one's choice.
        if settings.policy.is_none() {
            comm.set_network_times(world.times);
        }
        Ok((comm, traffic))
    }

    /// Tags that no other communicator of any of these ranks has.
    fn claim(&self, world: &Arc<World>) -> Result<Claim, Reason> {
        for _ in 0..TRIES {
            let own = world.taken();
            let all = self.allgather([own as u64, (own >> 64) as u64, lot()]);
            let all = all.ok_or(Reason::NoNetwork)?;
            let wide = |[low, high, _]: &[u64; 3]| u128::from(*low) | u128::from(*high) << 64;
            let taken = all.iter().map(wide).fold(0, |all, taken| all | taken);
            if taken == u128::MAX {
                return Err(Reason::NoTags);
            }
            // The first rank's lot, as ranks of communicators that agree at the same time would all try the same ones again.
            let claim = world.claim(taken, all[0][2]);
            match self.native.all(claim.is_some(), self.size, self.comm) {
                Some(true) => return claim.ok_or(Reason::NoNetwork),
                Some(false) => {}
                None => return Err(Reason::NoNetwork),
            }
        }
        Err(Reason::NoTags)
    }

    /// This rank's endpoint to those of its node, which its first rank lays out the memory for.
    fn endpoint(&self, node: &Node, cards: &[Card]) -> Option<Endpoint> {
        let here = || cards.iter().filter(|card| card.node == node.id);
        let members: Vec<u32> = here().map(|card| card.rank).collect();
        let first = cards.iter().position(|card| card.node == node.id)?;
        // As above.
        let parent = || node.comm.lock().unwrap_or_else(PoisonError::into_inner);
        let mut offset = u64::MAX;
        if self.rank == first {
            offset = parent().lay_out(members.len()).unwrap_or(u64::MAX);
        }
        let offset = self.allgather(offset)?[first];
        if offset == u64::MAX {
            return None;
        }
        // SAFETY: the first member has laid it out for just these, each of which opens it here, once.
        unsafe { parent().open_endpoint(offset, &members) }.ok()
    }

    fn join(
        &self,
        endpoint: Endpoint,
        world: &Arc<World>,
        claim: Claim,
        cards: &[Card],
    ) -> Option<(Endpoint, Arc<Traffic>)> {
        // Nodes have long names in cards, and short ones in places.
        let mut names = HashMap::new();
        let name = |card: &Card| {
            let next = names.len() as u32;
            *names.entry(card.node).or_insert(next)
        };
        let places = Places::new(&cards.iter().map(name).collect::<Vec<u32>>()).ok()?;
        let ranks = cards.iter().map(|card| card.world_rank as c_int);
        let network = MpiNetwork::new(world, claim, ranks.collect())?;
        let (rank, traffic) = (self.rank as u32, network.traffic());
        let endpoint = endpoint.join(Box::new(network), places, rank, world.oversubscribed);
        Some((endpoint.ok()?, traffic))
    }
}
