//! New communicators out of old ones: duplicating and splitting.

use super::Communicator;
use crate::error::Error;
use crate::operation;
use crate::transport::node::Port;

impl Communicator {
    /// A communicator of the same ranks, whose calls are apart from this one's.
    ///
    /// # Errors
    /// As [`Communicator::split`]: every rank must duplicate.
    pub fn dup(&self) -> Result<Communicator, Error> {
        let new = self.split(Some(0), self.rank as u64)?;
        new.ok_or(Error::NoRanks)
    }

    /// Divides the ranks by colour: those of one colour form a new communicator, ordered by `key` and then by rank.
    ///
    /// A rank whose colour is `None` gets none.
    ///
    /// # Errors
    /// As any call: every rank must split. [`Error::SeveralNodes`] if the ranks are on several nodes.
    pub fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Communicator>, Error> {
        if self.inner.take().port.places().is_some() {
            return Err(Error::SeveralNodes);
        }
        let mine = [colour.map_or(u64::MAX, u64::from), key];
        let mut all = vec![0; 2 * self.size];
        self.run(operation::allgather(&mine, &mut all))?;
        let mut members: Vec<(u64, u32)> = (0..self.size)
            .filter(|r| all[2 * r] == mine[0])
            .map(|r| (all[2 * r + 1], r as u32))
            .collect();
        members.sort_unstable();
        let members: Vec<u32> = members.into_iter().map(|(_, rank)| rank).collect();
        // The first of the new ranks lays out their memory and shows it to all.
        let first = members.first() == Some(&(self.rank as u32)) && colour.is_some();
        let mut offsets = vec![0; self.size];
        let offset = if first {
            self.lay_out(members.len())?
        } else {
            0
        };
        self.run(operation::allgather(&[offset], &mut offsets))?;
        if colour.is_none() {
            return Ok(None);
        }
        // SAFETY: the first member laid the memory out for just these members, each of which opens it here, once.
        let new = unsafe { self.open(offsets[members[0] as usize], &members)? };
        Ok(Some(new))
    }

    /// Memory for a communicator of `ranks` of these ranks: one of them lays it out and tells the others where it is, by
    /// whatever means, and each of them opens it with [`Communicator::open`].
    ///
    /// [`Communicator::split`] does all of that, but is a call that every rank of this communicator makes; this needs the
    /// members alone.
    ///
    /// # Errors
    /// [`TransportError::NoMemory`](crate::transport::TransportError::NoMemory), or that there are no ranks or too many.
    pub fn lay_out(&self, ranks: usize) -> Result<u64, Error> {
        let ranks = u32::try_from(ranks).unwrap_or(u32::MAX);
        Ok(self.inner.take().port.fabric().lay_out(ranks)?)
    }

    /// The communicator of `members`, which are ranks of this one, in the order of the new ranks; this rank is one of them.
    ///
    /// # Safety
    /// [`Communicator::lay_out`] gave `offset` to one of them for as many ranks, and each of them opens it once, with the
    /// same members.
    ///
    /// # Errors
    /// [`Error::NoRanks`] if this rank is no member.
    pub unsafe fn open(&self, offset: u64, members: &[u32]) -> Result<Communicator, Error> {
        // SAFETY: promised by the caller.
        let port = unsafe { self.open_port(offset, members)? };
        let inner = self.inner.take();
        let policy = inner.policy.clone();
        // The others take turns with these ranks still.
        let new = Communicator::new(port, policy, inner.crowded);
        new.set_while_waiting(inner.port.while_waiting());
        new.tell_waits_after(inner.port.told_after());
        new.set_nodes(inner.nodes.among(self.size as u32, members))?;
        new.set_torus(inner.torus.and_then(|torus| torus.among(members)))?;
        Ok(new)
    }

    /// The same port, with which crates that bring a network of their own join the members on this node to others.
    ///
    /// # Safety
    /// As [`Communicator::open`].
    ///
    /// # Errors
    /// As [`Communicator::open`].
    #[doc(hidden)]
    pub unsafe fn open_port(&self, offset: u64, members: &[u32]) -> Result<Port, Error> {
        let own = members.iter().position(|r| *r as usize == self.rank);
        let rank = own.ok_or(Error::NoRanks)?;
        let inner = self.inner.take();
        // SAFETY: promised by the caller.
        let fabric = unsafe { inner.port.fabric().open(offset, members) };
        Ok(Port::new(fabric, rank as u32)?)
    }
}
