//! New communicators out of old ones: duplicating and splitting.

use super::Communicator;
use super::bootstrap::Bootstrap;
use crate::error::Error;
use crate::operation;

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
    ///
    /// # Errors
    /// [`Error::SeveralNodes`] if the ranks are on several nodes;
    /// [`TransportError::NoMemory`](crate::TransportError::NoMemory) if the system gives none for the new ranks to share. Otherwise as
    /// [`Communicator::run`].
    pub fn split(&self, colour: Option<u32>, key: u64) -> Result<Option<Communicator>, Error> {
        if self.inner.take().endpoint.places().is_some() {
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
}
