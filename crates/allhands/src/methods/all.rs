//! From all ranks to all: barrier, allgather and alltoall.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operation;

/// Collectives in which every rank has the same part and nothing is combined: run at once.
///
/// Every algorithm of a collective serves it in place, too.
impl Communicator {
    /// No rank leaves before every rank has entered.
    ///
    /// It moves no data.
    ///
    /// ```
    /// use allhands::threads;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let entered = AtomicUsize::new(0);
    /// let seen = threads::run(3, |comm| {
    ///     entered.fetch_add(1, Ordering::Relaxed);
    ///     comm.barrier().map(|()| entered.load(Ordering::Relaxed))
    /// })?;
    /// for seen in seen {
    ///     assert_eq!(seen?, 3);
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// [Algorithms](operation#algorithms): `allhands list barrier`; T 4.1.2, Q 4.2, C 5.1, 6.1 and table 1, B 3.2 and 4.
    ///
    /// # Errors
    /// There is nothing to give it wrongly; it fails as [`Communicator::run`] does, when a rank calls something else or is gone.
    #[inline]
    pub fn barrier(&self) -> Result<(), Error> {
        self.run(operation::barrier())
    }

    /// The `input` of rank `r` reaches every rank's `output` as block `r`.
    ///
    /// `input` is one block, of the same length on every rank; `output` has room for one block of each rank.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let gathered = threads::run(3, |comm| {
    ///     let mut all = [0; 6];
    ///     comm.allgather(&[comm.rank(), 10 * comm.rank()], &mut all).map(|()| all)
    /// })?;
    /// for all in gathered {
    ///     assert_eq!(all?, [0, 0, 1, 10, 2, 20]);
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// [Algorithms](operation#algorithms): `allhands list allgather`; T 4.1, 4.1.1 and 4.1.2, Q 3.1, 4.2, 5.1.2, 5.2.1 and 5.2.2,
    /// C 5.3, Chen and others 2005, Loch and Koslovski 2021, Träff 2024, Jeaugey 2025.
    ///
    /// # Errors
    /// [`Error::Length`] if `output` is not [`size`](Communicator::size) times as long as `input`;
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) if the ranks' blocks differ in length. Otherwise as
    /// [`Communicator::run`].
    #[inline]
    pub fn allgather<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<(), Error> {
        self.run(operation::allgather(input, output))
    }

    /// [`Communicator::allgather`] where each rank's block already stands at its place.
    ///
    /// `buffer` is one block for each rank, equally long on every rank; rank `r` has filled block `r`, and the call fills the others.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let gathered = threads::run(3, |comm| {
    ///     let mut all = [0; 3];
    ///     all[comm.rank()] = comm.rank() + 7;
    ///     comm.allgather_in_place(&mut all).map(|()| all)
    /// })?;
    /// for all in gathered {
    ///     assert_eq!(all?, [7, 8, 9]);
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if `buffer` cannot be divided into [`size`](Communicator::size) blocks;
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) if it is longer on one rank than on another. Otherwise as
    /// [`Communicator::run`].
    #[inline]
    pub fn allgather_in_place<T: Element>(&self, buffer: &mut [T]) -> Result<(), Error> {
        self.run(operation::allgather_in_place(buffer))
    }

    /// [`Communicator::allgather`] with blocks of their own lengths.
    ///
    /// Every rank gives the same `counts`, a number for each rank. The `input` of rank `r` is `counts[r]` elements long, and `output`
    /// has room for the sum of all counts, where the blocks come to stand packed in rank order.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let gathered = threads::run(3, |comm| {
    ///     let (counts, mut all) = ([2, 0, 1], [0; 3]);
    ///     let mine = vec![comm.rank() as u8; counts[comm.rank()]];
    ///     comm.allgather_v(&mine, &mut all, &counts).map(|()| all)
    /// })?;
    /// for all in gathered {
    ///     assert_eq!(all?, [0, 0, 2]);
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// Algorithms are those of [`Communicator::allgather`]. Ranks that do not know the lengths find them by
    /// [`Communicator::allgather_vec`]; [`Communicator::allgather_v_at`] leaves room between the blocks.
    ///
    /// # Errors
    /// [`Error::Length`] if `counts` has not one number for each rank, or `input` or `output` has another length than they say;
    /// [`TransportError::Length`](crate::TransportError::Length) where a block arrives that is longer or shorter than the receiver's
    /// counts say. That ranks give different counts of one sum is found by the length of a message alone: an algorithm that sends all
    /// blocks as one does not find it. Otherwise as [`Communicator::run`].
    #[inline]
    pub fn allgather_v<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        counts: &[usize],
    ) -> Result<(), Error> {
        self.run(operation::allgather_v(input, output, counts))
    }

    /// Block `d` of the `input` of rank `s` reaches the `output` of rank `d` as block `s`.
    ///
    /// `input` and `output` are one block for each rank, and equally long on every rank. With blocks of one element this transposes a
    /// matrix of which each rank has a row.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let columns = threads::run(3, |comm| {
    ///     let row = [0, 1, 2].map(|column| 10 * comm.rank() + column);
    ///     let mut column = [0; 3];
    ///     comm.alltoall(&row, &mut column).map(|()| column)
    /// })?;
    /// let columns = columns.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(columns, [[0, 10, 20], [1, 11, 21], [2, 12, 22]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// [Algorithms](operation#algorithms): `allhands list alltoall`; T 4.3, Q 3.1, 4.2 and 5.1.3, B 3.1, Fan and others 2025.
    ///
    /// # Errors
    /// [`Error::Length`] if `output` cannot be divided into [`size`](Communicator::size) blocks, or `input` is not as long;
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) if the ranks' blocks differ in length. Otherwise as
    /// [`Communicator::run`].
    #[inline]
    pub fn alltoall<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<(), Error> {
        self.run(operation::alltoall(input, output))
    }

    /// [`Communicator::alltoall`] where the received blocks replace the sent ones.
    ///
    /// `buffer` is one block for each rank, equally long on every rank: before the call block `d` is what goes to rank `d`, after it
    /// block `s` is what came from rank `s`. Most of the algorithms of [`Communicator::alltoall`] first copy it to memory of their own.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let columns = threads::run(2, |comm| {
    ///     let mut line = [[1, 2], [3, 4]][comm.rank()];
    ///     comm.alltoall_in_place(&mut line).map(|()| line)
    /// })?;
    /// let columns = columns.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(columns, [[1, 3], [2, 4]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if `buffer` cannot be divided into [`size`](Communicator::size) blocks;
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) if it is longer on one rank than on another. Otherwise as
    /// [`Communicator::run`].
    #[inline]
    pub fn alltoall_in_place<T: Element>(&self, buffer: &mut [T]) -> Result<(), Error> {
        self.run(operation::alltoall_in_place(buffer))
    }

    /// [`Communicator::alltoall`] with blocks of their own lengths, packed in rank order.
    ///
    /// `send` and `receive` have a number for each rank: `input` is `send[d]` elements for each rank `d`, and `output` has room for
    /// `receive[s]` elements of each rank `s`. What rank `s` says to send to rank `d` is what `d` says to receive from `s`; of blocks
    /// between other ranks a rank need not know.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let got = threads::run(2, |comm| {
    ///     // Rank 0 keeps one letter and sends two, rank 1 sends none and keeps one.
    ///     let (input, send): (&[u8], _) = [(&b"abb"[..], [1, 2]), (b"c", [0, 1])][comm.rank()];
    ///     let receive = [[1, 0], [2, 1]][comm.rank()];
    ///     let mut output = vec![0; receive.iter().sum()];
    ///     comm.alltoall_v(input, &send, &mut output, &receive).map(|()| output)
    /// })?;
    /// let got = got.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(got, [&b"a"[..], b"bbc"]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// Algorithms are those of [`Communicator::alltoall`]; one that sends blocks by way of other ranks first tells them the counts.
    /// Ranks that do not know what they receive find it by [`Communicator::alltoall_vec`]; [`Communicator::alltoall_v_at`] takes and
    /// leaves blocks anywhere.
    ///
    /// # Errors
    /// [`Error::Length`] if `send` or `receive` has not one number for each rank, or its buffer is not as long as their sum. If sender
    /// and receiver of a block say different lengths, [`Error::CountsDiffer`] or, by an algorithm that sends it straight,
    /// [`TransportError::Length`](crate::TransportError::Length). Otherwise as [`Communicator::run`].
    #[inline]
    pub fn alltoall_v<T: Element>(
        &self,
        input: &[T],
        send: &[usize],
        output: &mut [T],
        receive: &[usize],
    ) -> Result<(), Error> {
        self.run(operation::alltoall_v(input, send, output, receive))
    }
}
