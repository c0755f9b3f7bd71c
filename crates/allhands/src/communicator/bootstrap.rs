//! The bootstrap: communicators that are made by other means than [`Communicator::world`] and [`Communicator::split`].
//!
//! It is for launchers, for libraries whose ranks find one another on their own, as those of the MPI drop-in do through the MPI,
//! and for crates that bring a network of their own. Programs need none of it.

use super::sealed::Sealed;
use super::{Communicator, Forecast, Policy};
use crate::error::Error;
#[cfg(target_os = "linux")]
use crate::launch::Place;
#[cfg(target_os = "linux")]
use crate::operation;
use crate::policy::NetworkTimes;
use crate::transport::endpoint::state::endpoint::Endpoint;
#[cfg(target_os = "linux")]
use crate::transport::shm::failure::fault::Fault;

/// How communicators are made without a call that all ranks of another one make.
pub trait Bootstrap: Sealed + Sized {
    /// The communicator of all ranks of a place, which the caller has found by means of its own instead of
    /// [`launch::place`](crate::launch::place).
    ///
    /// Nothing is said to other ranks yet, so each learns alone whether it could join; once all know that all could,
    /// [`agree`](Bootstrap::agree) makes it ready. A process joins a segment once.
    ///
    /// # Errors
    /// [`Error::Launch`] if the rank is another process's, or the segment cannot be mapped.
    #[cfg(target_os = "linux")]
    fn join(place: &Place) -> Result<Self, Error>;

    /// Gives every rank what rank 0 says of the policy that is installed and of the cores.
    ///
    /// # Errors
    /// [`Error::Policy`] on every rank if the table that is installed on this machine is broken; otherwise as any call:
    /// every rank must agree.
    #[cfg(target_os = "linux")]
    fn agree(&self) -> Result<(), Error>;

    /// The communicator of an endpoint, which may be joined to other nodes.
    ///
    /// Policy and oversubscription are the same on every rank.
    #[must_use]
    fn of_endpoint(endpoint: Endpoint, policy: Policy, oversubscribed: bool) -> Self;

    /// Memory for a communicator of `ranks` of these ranks: one of them lays it out and tells the others where it is, by
    /// whatever means, and each of them opens it with [`open`](Bootstrap::open).
    ///
    /// [`Communicator::split`] does all of that, but is a call that every rank of this communicator makes; this needs the
    /// members alone.
    ///
    /// # Errors
    /// [`TransportError::NoMemory`](crate::transport::TransportError::NoMemory), or that there are no ranks or too many.
    fn lay_out(&self, ranks: usize) -> Result<u64, Error>;

    /// The communicator of `members`, which are ranks of this one, in the order of the new ranks; this rank is one of them.
    ///
    /// # Safety
    /// [`lay_out`](Bootstrap::lay_out) gave `offset` to one of them for as many ranks, and each of them opens it once, with the
    /// same members.
    ///
    /// # Errors
    /// [`Error::NoRanks`] if this rank is no member.
    unsafe fn open(&self, offset: u64, members: &[u32]) -> Result<Self, Error>;

    /// The same endpoint, with which crates that bring a network of their own join the members on this node to others.
    ///
    /// # Safety
    /// As [`open`](Bootstrap::open).
    ///
    /// # Errors
    /// As [`open`](Bootstrap::open).
    unsafe fn open_endpoint(&self, offset: u64, members: &[u32]) -> Result<Endpoint, Error>;

    /// Says what messages between nodes take, or that nobody knows: then calls whose ranks are on several nodes, unless their
    /// algorithm is fixed, are served by what is the fastest in a simulation with these times; every rank must say the same.
    fn set_network_times(&self, times: Option<NetworkTimes>);

    /// Has the first ranks of all nodes measure what messages between these take, tells every rank what the first one has found, as with
    /// [`set_network_times`](Bootstrap::set_network_times), and gives it; none if ranks are on one node, or if nobody knows.
    ///
    /// Every rank of a world calls this before any other communicator is made of it. It takes some 40 round trips of short
    /// messages, and of long ones 60 ms or four, whatever is more; no connection is made that collective calls would not.
    ///
    /// # Errors
    /// As any call; one that was lost in the measurement is found in what tells of it, or in the next call.
    #[cfg(target_os = "linux")]
    fn measure_network_times(&self) -> Result<Option<NetworkTimes>, Error>;
}

#[cfg(target_os = "linux")]
impl Communicator {
    /// Says what the ranks of this node are called in the world, in errors.
    pub(crate) fn call_ranks(&self, names: &[u32]) {
        self.inner.take().endpoint.segment().call_ranks(names);
    }

    /// Waits until what this rank has sent needs it no more.
    pub(crate) fn see_off(&self) {
        self.inner.take().endpoint.see_off();
    }

    /// What stopped it, and who found that, as these names have it.
    pub(crate) fn fault(&self) -> Option<(u32, Fault)> {
        self.inner.take().endpoint.segment().named_fault()
    }
}

impl Bootstrap for Communicator {
    #[cfg(target_os = "linux")]
    fn join(place: &Place) -> Result<Communicator, Error> {
        let endpoint = crate::world::join(place)?;
        // What no file and no count of cores decides, until the ranks have agreed on these.
        Ok(Communicator::new(endpoint, Policy::Mpich2005, false))
    }

    #[cfg(target_os = "linux")]
    fn agree(&self) -> Result<(), Error> {
        crate::policy::agree(self, self.is_segment_oversubscribed())
    }

    fn of_endpoint(endpoint: Endpoint, policy: Policy, oversubscribed: bool) -> Communicator {
        Communicator::new(endpoint, policy, oversubscribed)
    }

    fn lay_out(&self, ranks: usize) -> Result<u64, Error> {
        let ranks = u32::try_from(ranks).unwrap_or(u32::MAX);
        Ok(self.inner.take().endpoint.segment().lay_out(ranks)?)
    }

    unsafe fn open(&self, offset: u64, members: &[u32]) -> Result<Communicator, Error> {
        // SAFETY: promised by the caller.
        let endpoint = unsafe { self.open_endpoint(offset, members)? };
        self.heir(endpoint, members)
    }

    unsafe fn open_endpoint(&self, offset: u64, members: &[u32]) -> Result<Endpoint, Error> {
        let own = members.iter().position(|r| *r as usize == self.rank);
        let rank = own.ok_or(Error::NoRanks)?;
        let inner = self.inner.take();
        // SAFETY: promised by the caller.
        let segment = unsafe { inner.endpoint.segment().open(offset, members) };
        Ok(Endpoint::new(segment, rank as u32)?)
    }

    fn set_network_times(&self, times: Option<NetworkTimes>) {
        let mut inner = self.inner.take();
        inner.forecast = times.as_ref().map(Forecast::new);
        inner.forget_plans();
    }

    #[cfg(target_os = "linux")]
    fn measure_network_times(&self) -> Result<Option<NetworkTimes>, Error> {
        self.measure_rails()?;
        let measured = self.measure_network();
        let mut numbers =
            measured.map_or([f64::NAN; NetworkTimes::NUMBERS], |times| times.numbers());
        if self.inner.take().endpoint.places().is_some() {
            self.run(operation::broadcast(&mut numbers, 0))?;
        }
        let times = NetworkTimes::of_numbers(numbers);
        self.set_network_times(times);
        Ok(times)
    }
}
