//! New communicators out of old ones: duplicating and splitting.

use super::bootstrap::Bootstrap;
use super::interposition::Interposition;
use super::{Communicator, Forecast};
use crate::error::Error;
use crate::operation;
use crate::operator::Max;
use crate::transport::TransportError;
use crate::transport::endpoint::nodes::cluster::Cluster;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::{Claim, Context, Places};
use crate::transport::shm::wait::backoff::Patience;
use std::sync::Arc;

/// What a rank says that has no number, or no memory.
const NONE: u64 = u64::MAX;

fn number(of: Option<u32>) -> u64 {
    of.map_or(NONE, u64::from)
}

impl Communicator {
    /// A communicator of the same ranks, whose calls are apart from this one's.
    ///
    /// ```
    /// use allhands::{Sum, operation, threads};
    ///
    /// let sums = threads::run(2, |comm| {
    ///     let other = comm.dup()?;
    ///     let request = comm.start([1u32; 4], |buffer| operation::allreduce_in_place(buffer, &Sum))?;
    ///     // Need not wait for the one before.
    ///     let sum = other.allreduce_value(comm.rank(), Sum)?;
    ///     Ok::<_, allhands::Error>((request.wait()?, sum))
    /// })?;
    /// for sums in sums {
    ///     assert_eq!(sums?, ([2; 4], 1));
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is a [`Communicator::split`] with one colour.
    ///
    /// # Errors
    /// As [`Communicator::split`]: every rank must duplicate.
    pub fn dup(&self) -> Result<Communicator, Error> {
        let new = self.split(Some(0), self.rank as u64)?;
        new.ok_or(Error::NoRanks)
    }

    /// Divides the ranks by colour: those of one colour form a new communicator, ordered by `key` and then by rank.
    ///
    /// A rank whose colour is `None` gets none. Every rank of this communicator calls it, with any colour and key.
    ///
    /// ```
    /// use allhands::{Sum, threads};
    ///
    /// let sums = threads::run(3, |comm| {
    ///     // Ranks 2 and 0, in this order, and rank 1 on its own.
    ///     let (colour, key) = (comm.rank() % 2, 10 - comm.rank());
    ///     let half = comm.split(Some(colour as u32), key as u64)?.unwrap();
    ///     Ok::<_, allhands::Error>((half.rank(), half.allreduce_value(comm.rank(), Sum)?))
    /// })?;
    /// let sums = sums.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(sums, [(1, 2), (0, 1), (0, 2)]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is two [allgathers](Communicator::allgather) on this communicator: of colours and keys, and of where the new ranks' memory is.
    /// If ranks are on several nodes, they also agree on the new communicators' tags: it goes through the connections of this one.
    /// The new ranks that share a node share memory.
    ///
    /// # Errors
    /// [`Error::SeveralNodes`] if the ranks are on several nodes, and their network joins this communicator alone;
    /// [`Error::NoContext`] on every rank if it has no tags left for another one;
    /// [`TransportError::NoMemory`] on every rank if the system gives none for new ranks to share. Otherwise as
    /// [`Communicator::run`].
    pub fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Communicator>, Error> {
        let cluster = self.cluster()?;
        let free = cluster.as_ref().map(|cluster| cluster.first_free(0));
        let mine = [
            colour.map_or(u64::MAX, u64::from),
            key,
            number(free.flatten()),
        ];
        let mut all = vec![0; 3 * self.size];
        self.run(operation::allgather(&mine, &mut all))?;
        let mut members: Vec<(u64, u32)> = (0..self.size)
            .filter(|r| all[3 * r] == mine[0])
            .map(|r| (all[3 * r + 1], r as u32))
            .collect();
        members.sort_unstable();
        let members: Vec<u32> = members.into_iter().map(|(_, rank)| rank).collect();
        let claim = match cluster {
            Some(cluster) => {
                let least = all.chunks(3).map(|of_rank| of_rank[2]).max();
                Some(self.agree_on_context(&cluster, least.unwrap_or(NONE))?)
            }
            None => None,
        };
        let here = self.on_this_node(&members);
        // The first of the new ranks on a node lays out their memory and shows it to all.
        let first = here.first() == Some(&(self.rank as u32)) && colour.is_some();
        let laid_out = match first {
            true => self.lay_out(here.len()),
            false => Ok(0),
        };
        let mut offsets = vec![0; self.size];
        let mine = *laid_out.as_ref().unwrap_or(&NONE);
        self.run(operation::allgather(&[mine], &mut offsets))?;
        laid_out?;
        if let Some(rank) = offsets.iter().position(|offset| *offset == NONE) {
            let why = format!("rank {rank} has none");
            return Err(TransportError::NoMemory { why }.into());
        }
        if colour.is_none() {
            return Ok(None);
        }
        // SAFETY: the first member of this node laid the memory out for those on it, each of which opens it here, once.
        let endpoint = unsafe { self.open_here(offsets[here[0] as usize], &here)? };
        let endpoint = match claim.filter(|_| here.len() < members.len()) {
            Some(claim) => self.join_others(endpoint, claim, &members)?,
            None => endpoint,
        };
        self.heir(endpoint, &members).map(Some)
    }

    /// The way to other nodes, which other communicators can go, too; none if all ranks are on one.
    fn cluster(&self) -> Result<Option<Arc<Cluster>>, Error> {
        match &self.inner.take().endpoint.cluster {
            None => Ok(None),
            Some(cluster) => match cluster.contexts() {
                Some(_) => Ok(Some(Arc::clone(cluster))),
                None => Err(Error::SeveralNodes),
            },
        }
    }

    /// The first number from `least` on that a new communicator can have on every rank; all make this call.
    fn agree_on_context(&self, cluster: &Cluster, mut least: u64) -> Result<Claim, Error> {
        loop {
            let Ok(wanted) = u32::try_from(least) else {
                let most = cluster.contexts().unwrap_or(0);
                return Err(Error::NoContext { most });
            };
            // It is claimed before the others know that this rank can, and so before the first of them sends anything.
            let claim = cluster.another(wanted);
            let mine = match &claim {
                Some(_) => Some(wanted),
                None => cluster.first_free(wanted),
            };
            let agreed = self.allreduce_value(number(mine), Max)?;
            match claim {
                Some(claim) if agreed == least => return Ok(claim),
                _ => least = agreed,
            }
        }
    }

    /// Which of these ranks share this one's node.
    fn on_this_node(&self, members: &[u32]) -> Vec<u32> {
        let inner = self.inner.take();
        let own = self.rank as u32;
        let is_here = |other: &u32| {
            let places = inner.endpoint.places();
            places.is_none_or(|places| places.node(*other) == places.node(own))
        };
        members.iter().copied().filter(is_here).collect()
    }

    /// An endpoint to the members on this node, of which this rank is one.
    ///
    /// # Safety
    /// As [`Bootstrap::open`].
    unsafe fn open_here(&self, offset: u64, here: &[u32]) -> Result<Endpoint, Error> {
        let own = here.iter().position(|r| *r as usize == self.rank);
        let inner = self.inner.take();
        let endpoint = &inner.endpoint;
        let local = |rank: &u32| {
            endpoint
                .places()
                .map_or(*rank, |places| places.local(*rank))
        };
        let local: Vec<u32> = here.iter().map(local).collect();
        // SAFETY: promised by the caller.
        let segment = unsafe { endpoint.segment().open(offset, &local) };
        let mut new = Endpoint::new(segment, own.ok_or(Error::NoRanks)? as u32)?;
        if endpoint.places().is_some() {
            // Ranks of other nodes may be on the same cores.
            new.patience = Patience::new(inner.oversubscribed);
        }
        Ok(new)
    }

    /// Joins an endpoint to the members on other nodes.
    fn join_others(
        &self,
        endpoint: Endpoint,
        claim: Claim,
        members: &[u32],
    ) -> Result<Endpoint, Error> {
        let own = members.iter().position(|r| *r as usize == self.rank);
        let rank = own.ok_or(Error::NoRanks)? as u32;
        let inner = self.inner.take();
        let cluster = inner.endpoint.cluster.as_ref();
        let cluster = cluster.ok_or(Error::SeveralNodes)?;
        let names = cluster.names_there(members).ok_or(Error::SeveralNodes)?;
        let node_of: Vec<u32> = members.iter().map(|r| cluster.places.node(*r)).collect();
        let places = Places::new(&node_of).map_err(|_| Error::NoRanks)?;
        let context = Context::new(claim, names);
        Ok(endpoint.join_context(context, places, rank, inner.oversubscribed)?)
    }

    /// The communicator of an endpoint to these of this one's ranks, in their order, with all that it inherits.
    pub(super) fn heir(&self, endpoint: Endpoint, members: &[u32]) -> Result<Communicator, Error> {
        let inner = self.inner.take();
        // The others take turns with these ranks still.
        let new = Communicator::new(endpoint, inner.policy.clone(), inner.oversubscribed);
        new.set_while_waiting(inner.endpoint.while_waiting());
        new.set_left_alone(inner.endpoint.left_alone);
        new.report_waits_after(inner.endpoint.report_after());
        new.set_timeout(inner.endpoint.timeout);
        new.set_interrupt(inner.endpoint.is_interrupted);
        new.set_torus(inner.torus.and_then(|torus| torus.among(members)))?;
        let mut heir = new.inner.take();
        heir.forecast = inner.forecast.as_ref().map(Forecast::another);
        // What was said of nodes holds on; where nothing was, the new ranks are where they are.
        let found = inner.endpoint.places().map(Places::runs);
        if found.as_ref() != Some(&inner.nodes) {
            let nodes = inner.nodes.among(self.size as u32, members);
            let places = heir.endpoint.places();
            if places.is_none_or(|places| places.contain(&nodes)) {
                heir.nodes = nodes;
            }
        }
        drop(heir);
        Ok(new)
    }
}
