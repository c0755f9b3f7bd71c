//! Ranks that are threads of this process: nothing to install, nothing to launch.

use crate::communicator::Communicator;
use crate::error::Error;
use crate::policy;
use crate::transport::TransportError;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::net::{Networks, Places};
use crate::transport::shm::segment::shared_segment::SharedSegment;
use crate::transport::shm::spawn::spawn;
use crate::transport::shm::spawn::spawn_on;
use std::sync::Arc;

/// Runs `rank_main` on `ranks` threads, each with its communicator, and gives what they return, by rank.
///
/// ```
/// use allhands::threads;
///
/// let greetings = threads::run(3, |comm| format!("rank {} of {}", comm.rank(), comm.size()))?;
/// assert_eq!(greetings, ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"]);
/// # Ok::<(), allhands::Error>(())
/// ```
///
/// Every rank's function may borrow from the caller, as with [`std::thread::scope`]. What it returns may be a `Result`, of which this
/// function looks at none.
///
/// # Errors
/// [`Error::NoRanks`] if `ranks` is 0; [`Error::Policy`] if the table that is installed on this machine is broken;
/// [`TransportError::RankPanicked`] with the rank that panicked first, and
/// [`TransportError::TooManyRanks`] or
/// [`TransportError::NoMemory`] if there is no memory for so many to share. Ranks that wait for a rank that
/// has panicked or returned get errors from their calls.
///
/// # Panics
/// If the system gives no further thread.
pub fn run<R: Send>(
    ranks: usize,
    rank_main: impl Fn(Communicator) -> R + Sync,
) -> Result<Vec<R>, Error> {
    if ranks == 0 {
        return Err(Error::NoRanks);
    }
    let policy = policy::installed()?;
    let results = spawn(ranks as u32, |rank, segment| {
        let oversubscribed = segment.is_oversubscribed();
        let endpoint = Endpoint::new(segment, rank)?;
        let comm = Communicator::new(endpoint, policy.clone(), oversubscribed);
        Ok::<R, Error>(rank_main(comm))
    })?;
    results.into_iter().collect()
}

/// As [`run`], with ranks that share memory only if they have the same `places`, and messages between others that go through
/// a network among threads, or through sockets of this machine: what a communicator on several nodes does, tried without any.
///
/// ```
/// use allhands::threads;
/// use allhands::net::{Places, Threads};
/// use allhands::Sum;
///
/// let places = Places::new(&[0, 0, 1])?;
/// let totals = threads::run_on_nodes(&places, &Threads::new(3), |comm| {
///     assert_eq!(comm.nodes().to_string(), "2,1");
///     let mut total = [comm.rank()];
///     comm.allreduce_in_place(&mut total, Sum).map(|()| total[0])
/// })?;
/// assert!(totals.into_iter().all(|total| total.is_ok_and(|total| total == 3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Rank `r` is on the node that [`Places`] says, and `network` is made for as many ranks.
///
/// # Errors
/// As [`run`]; [`TransportError::Network`] if a rank has no network;
/// [`TransportError::FewTags`] if the network has too few tags.
///
/// # Panics
/// As [`run`].
pub fn run_on_nodes<R: Send>(
    places: &Places,
    network: &impl Networks,
    rank_main: impl Fn(Communicator) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let policy = policy::installed()?;
    let segment = |node| SharedSegment::new(places.members(node).len() as u32);
    let segments: Vec<Arc<SharedSegment>> =
        (0..places.nodes()).map(segment).collect::<Result<_, _>>()?;
    let oversubscribed = segments[0].is_oversubscribed_with(places.ranks());
    let place = |rank| {
        let segment = Arc::clone(&segments[places.node(rank) as usize]);
        (segment, places.local(rank))
    };
    let results = spawn_on(places.ranks(), place, |rank, segment| {
        let endpoint = Endpoint::new(segment, places.local(rank))?;
        let made = network.network(rank);
        let network = made.map_err(|why| TransportError::Network {
            rank,
            why: why.to_string(),
            lost: None,
        })?;
        let endpoint = endpoint.join_world(network, places.clone(), rank, oversubscribed)?;
        let comm = Communicator::new(endpoint, policy.clone(), oversubscribed);
        Ok::<R, Error>(rank_main(comm))
    })?;
    results.into_iter().collect()
}
