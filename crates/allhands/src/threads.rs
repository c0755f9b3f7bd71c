//! Ranks that are threads of this process: nothing to install, nothing to launch.

use crate::communicator::Communicator;
use crate::error::Error;
use crate::policy;
use crate::transport::node::{Port, spawn};

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
/// Every rank's function may borrow from the caller, as with [`std::thread::scope`].
///
/// # Errors
/// [`Error::NoRanks`] if `ranks` is 0; [`Error::Policy`] if the table that is installed on this machine is broken; an error that names the rank if one panicked. Ranks that wait for a rank that has
/// panicked or returned get errors from their calls.
pub fn run<R: Send>(
    ranks: usize,
    rank_main: impl Fn(Communicator) -> R + Sync,
) -> Result<Vec<R>, Error> {
    if ranks == 0 {
        return Err(Error::NoRanks);
    }
    let policy = policy::installed()?;
    let results = spawn(ranks as u32, |rank, fabric| {
        let crowded = fabric.is_crowded();
        let port = Port::new(fabric, rank)?;
        let comm = Communicator::new(port, policy.clone(), crowded);
        Ok::<R, Error>(rank_main(comm))
    })?;
    results.into_iter().collect()
}
