//! The world: the communicator of all ranks that one launcher started.

use crate::bootstrap::Bootstrap;
use crate::communicator::Communicator;
use crate::error::Error;
use crate::launch::{self, Cluster, Place, Roll, Whereabouts};
use crate::operation;
use crate::policy::{self, Policy};
use crate::transport::TransportError;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::ofi::OfiNetwork;
use crate::transport::net::tcp::{Settings, TcpNetwork};
use crate::transport::net::{Network, Places};
use crate::transport::shm::failure::liveness::Membership;
use crate::transport::shm::segment::shared_segment::SharedSegment;
use allhands_core::machine::Nodes;
use std::sync::{Arc, Mutex, PoisonError};

impl Communicator {
    /// The communicator of all processes that `allhands run`, or an MPI's or Slurm's launcher, started with this one, or that meet
    /// where [`ALLHANDS_RENDEZVOUS`](launch::RENDEZVOUS) says; of this process alone, if nothing says that there are others.
    ///
    /// Those that meet may be on several hosts: ranks of a host share memory, and hosts are joined by the kernel's TCP,
    /// or by libfabric where [`ALLHANDS_NETWORK`](launch::NETWORK) says so; what goes over TCP is encrypted where
    /// [`ALLHANDS_TLS`](launch::TLS) says so. What messages between hosts take is measured before this
    /// returns, in some 40 round trips and 60 ms, and calls are then served by what is the fastest by that.
    ///
    /// Two ranks connect when the first message goes between them, unless [`ALLHANDS_CONNECT`](launch::CONNECT) has all do so before
    /// this returns.
    ///
    /// A process asks once; [`dup`](Communicator::dup) and [`split`](Communicator::split) make further communicators of
    /// it. A rank has left when it has dropped all of them; ranks that still wait for it get an error.
    ///
    /// ```
    /// use allhands::{Communicator, Sum};
    ///
    /// let comm = Communicator::world()?;
    /// let mut total = [comm.rank() as u64 + 1];
    /// comm.allreduce_in_place(&mut total, Sum)?;
    /// assert_eq!(total[0] as usize, comm.size() * (comm.size() + 1) / 2);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Launch`] if the launcher's word makes no sense, or the process has asked before; [`Error::Policy`] on every
    /// rank if the table that is installed on this machine is broken; otherwise as any call: every rank must ask.
    pub fn world() -> Result<Communicator, Error> {
        Communicator::there(launch::whereabouts()?)
    }

    /// The communicator of ranks that tell one another where they are by an exchange of their program's own, such as a store of keys and values:
    /// all of them call this with one, and nothing of the environment says who they are.
    ///
    /// A process may do so several times, with the same ranks or others. What each time maps, address space for the most part, stays mapped
    /// until it ends. The rest is as for [`Communicator::world`].
    ///
    /// # Errors
    /// As [`Communicator::world`], and those of the exchange.
    pub fn meet(exchange: &mut dyn launch::Exchange) -> Result<Communicator, Error> {
        Communicator::there(launch::whereabouts_among(exchange)?)
    }

    /// The communicator of the ranks that are wherever this one is.
    fn there(whereabouts: Whereabouts) -> Result<Communicator, Error> {
        let place = match whereabouts {
            Whereabouts::Alone => {
                let endpoint = Endpoint::new(SharedSegment::new(1)?, 0)?;
                return Ok(Communicator::new(endpoint, policy::installed()?, false));
            }
            Whereabouts::Cluster(cluster) => return of_cluster(&cluster),
            Whereabouts::Place(place) => place,
        };
        let comm = Communicator::join(&place)?;
        comm.agree()?;
        if let Some(nodes) = place.nodes {
            comm.set_nodes(Nodes::even(nodes.count, nodes.ranks_each))?;
        }
        Ok(comm)
    }
}

/// The communicator of ranks that have met.
fn of_cluster(cluster: &Cluster) -> Result<Communicator, Error> {
    let node = cluster.place.as_ref().map(Communicator::join).transpose()?;
    if !cluster.is_apart() {
        return match node {
            Some(node) => node.agree().map(|()| node),
            None => {
                let endpoint = Endpoint::new(SharedSegment::new(1)?, 0)?;
                Ok(Communicator::new(endpoint, policy::installed()?, false))
            }
        };
    }
    let endpoint = match &node {
        Some(node) => within_node(node, &cluster.node_mates()),
        None => Ok(Endpoint::new(SharedSegment::new(1)?, 0)?),
    };
    let (network, places) = network(cluster)?;
    let (rank, oversubscribed) = (cluster.rank, cluster.oversubscribed);
    let endpoint = match endpoint {
        Ok(endpoint) => endpoint,
        Err(error) => {
            let fault = node.as_ref().and_then(Communicator::fault);
            Endpoint::never_comes(network, &places, rank, fault);
            return Err(error);
        }
    };
    let endpoint = endpoint.join_world(network, places, rank, oversubscribed)?;
    let comm = Communicator::new(endpoint, Policy::Mpich2005, oversubscribed);
    policy::agree_among_nodes(&comm, oversubscribed)?;
    if cluster.is_eager {
        // Every rank has a message with every other one.
        comm.run(operation::barrier().algorithm("direct"))?;
    }
    comm.measure_network_times()?;
    comm.see_off();
    Ok(comm)
}

/// The endpoint of a rank that shares memory with others, whose ranks in the world are these.
fn within_node(node: &Communicator, names: &[u32]) -> Result<Endpoint, Error> {
    node.call_ranks(names);
    node.agree()?;
    let mut offset = [0];
    if node.rank() == 0 {
        offset = [node.lay_out(node.size())?];
    }
    node.run(operation::broadcast(&mut offset, 0))?;
    let members: Vec<u32> = (0..node.size() as u32).collect();
    // SAFETY: the node's first rank has laid it out for just these, each of which opens it here, once.
    unsafe { node.open_endpoint(offset[0], &members) }
}

/// The network to the other nodes of ranks that have met, and who is where.
fn network(cluster: &Cluster) -> Result<(Box<dyn Network>, Places), Error> {
    let rank = cluster.rank;
    let wrong = |why: String| TransportError::Network {
        rank,
        why,
        lost: None,
    };
    let places = Places::new(&cluster.node_of).map_err(|error| wrong(error.to_string()))?;
    let places = places.on_hosts(&cluster.hosts);
    let asked_before = || wrong("the process has asked for the world before".into());
    let listener = cluster.take_listener().ok_or_else(asked_before)?;
    let addresses = Arc::clone(&cluster.addresses);
    let secret = cluster.secret.clone();
    let settings = Settings {
        tls: cluster.tls,
        ..Settings::of_job(places.ranks())
    };
    let tcp = TcpNetwork::new(listener, rank, addresses, secret, settings);
    let tcp = tcp.map_err(|why| wrong(why.to_string()))?;
    let tcp = tcp.with_names(&places, &cluster.rails);
    let network: Box<dyn Network> = match cluster.take_endpoints() {
        Some(endpoints) => {
            let ofi = OfiNetwork::new(endpoints, rank, &cluster.cards, tcp);
            Box::new(ofi.map_err(|why| wrong(why.to_string()))?)
        }
        None => Box::new(tcp),
    };
    Ok((network, places))
}

/// This process's endpoint to the ranks of a place.
pub(crate) fn join(place: &Place) -> Result<Endpoint, Error> {
    /// One rank joins at a time, so that the second hears that the first has.
    static JOINING: Mutex<()> = Mutex::new(());
    let _joining = JOINING.lock().unwrap_or_else(PoisonError::into_inner);
    let roll = Roll::new(place.segment)?;
    roll.join(place.rank)?;
    allow_reading();
    let membership = Arc::new(Membership::new(roll, place.rank, place.cpus));
    let mapped = place.segment.map()?;
    // SAFETY: the segment's mapping is shared, was zeros at first, and is given away for the life of the process; all
    // ranks of the segment come with the same number of them, which the roll has.
    let segment = unsafe { SharedSegment::of_world(mapped, place.ranks, membership)? };
    Ok(Endpoint::new(segment, place.rank)?)
}

/// Lets the other ranks read this process's memory where the system would let only its debugger (Yama).
fn allow_reading() {
    // SAFETY: sets an attribute of this process; where the system does not know it, nothing happens, and nothing need.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sum;
    use crate::launch::LaunchError;
    use std::collections::BTreeMap;

    /// What one rank puts.
    #[derive(Default)]
    struct Own(BTreeMap<String, String>);

    impl launch::Exchange for Own {
        fn rank_and_ranks(&self) -> (u32, u32) {
            (0, 1)
        }

        fn put(&mut self, key: &str, value: &str) -> Result<(), LaunchError> {
            self.0.insert(key.into(), value.into());
            Ok(())
        }

        fn fence(&mut self) -> Result<(), LaunchError> {
            Ok(())
        }

        fn get(&mut self, _: u32, key: &str) -> Result<String, LaunchError> {
            Ok(self.0[key].clone())
        }
    }

    #[test]
    fn a_process_may_meet_others_several_times() {
        for _ in 0..2 {
            let comm = Communicator::meet(&mut Own::default()).unwrap();
            assert_eq!(comm.allreduce_value(comm.rank() + 7, Sum).unwrap(), 7);
        }
    }
}
