//! Reductions of what all ranks have: reduce, allreduce and reduce-scatter.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operation;
use crate::operator::Operator;

/// Collectives that combine the vectors of all ranks element by element: run at once.
///
/// Every rank gives the same operator. One that does not commute combines in rank order, whatever the algorithm. Every algorithm of a
/// collective serves it in place, too.
impl Communicator {
    /// The reduction of all inputs reaches the root's `output`.
    ///
    /// `input` is equally long on every rank, the root among them. The root's `output` is as long as its `input`; other ranks receive
    /// nothing and give `&mut []`.
    ///
    /// ```
    /// use allhands::{Max, threads};
    ///
    /// let largest = threads::run(3, |comm| {
    ///     let mine = [[3, 1], [2, 9], [5, 4]][comm.rank()];
    ///     let mut largest = vec![0; if comm.rank() == 0 { 2 } else { 0 }];
    ///     comm.reduce(&mine, &mut largest, Max, 0).map(|()| largest)
    /// })?;
    /// let largest = largest.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(largest, [vec![5, 9], vec![], vec![]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// [Algorithms](operation#algorithms): `allhands list reduce`; T 4.5 and 5.1 to 5.3, Q 4.2, C 6.1 and table 4, B 3.1, Patarasuk and
    /// Yuan 2009, Träff 2024.
    ///
    /// # Errors
    /// [`Error::Length`] if the root's `output` is not as long as its `input`, or another rank's is not empty; [`Error::NoSuchRoot`];
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) on who receives from a rank whose `input` has another length.
    /// Otherwise as [`Communicator::run`].
    #[inline]
    pub fn reduce<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        operator: impl Operator<T>,
        root: usize,
    ) -> Result<(), Error> {
        self.run(operation::reduce(input, output, &operator, root))
    }

    /// [`Communicator::reduce`] where the result replaces the root's buffer.
    ///
    /// `buffer` is equally long on every rank; those of other ranks than the root keep their values.
    ///
    /// ```
    /// use allhands::{Sum, threads};
    ///
    /// let buffers = threads::run(3, |comm| {
    ///     let mut buffer = [comm.rank() + 1];
    ///     comm.reduce_in_place(&mut buffer, Sum, 1).map(|()| buffer)
    /// })?;
    /// let buffers = buffers.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(buffers, [[1], [6], [3]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoSuchRoot`]; [`TransportError::Mismatch`](crate::TransportError::Mismatch) on who receives from a rank whose `buffer`
    /// has another length. Otherwise as [`Communicator::run`].
    #[inline]
    pub fn reduce_in_place<T: Element>(
        &self,
        buffer: &mut [T],
        operator: impl Operator<T>,
        root: usize,
    ) -> Result<(), Error> {
        self.run(operation::reduce_in_place(buffer, &operator, root))
    }

    /// The reduction of all inputs reaches every `output`.
    ///
    /// `input` and `output` are equally long, and as long on every rank. All ranks get the same bits, even where rounding depends on
    /// the order in which an algorithm combines.
    ///
    /// ```
    /// use allhands::{Min, threads};
    ///
    /// let least = threads::run(3, |comm| {
    ///     let mine = [[0.5, 8.0], [2.0, 0.25], [1.0, 4.0]][comm.rank()];
    ///     let mut least = [0.0; 2];
    ///     comm.allreduce(&mine, &mut least, Min).map(|()| least)
    /// })?;
    /// for least in least {
    ///     assert_eq!(least?, [0.5, 0.25]);
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// [Algorithms](operation#algorithms): `allhands list allreduce`; T 4.1.2, 4.5 and 5.1 to 5.3, Q 4.2 and 5.1.2, C 4, 5.5, 6.1 and
    /// table 5, B 3.1, 3.2 and 4, Patarasuk and Yuan 2009, Sanders, Speck, Träff 2009, Sack and Gropp 2015, Ruefenacht and others
    /// 2017, Cowan and others 2023, De Sensi and others 2024, Träff 2024.
    ///
    /// # Errors
    /// [`Error::Length`] if `input` and `output` are not equally long;
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) if ranks give vectors of different lengths. Otherwise as
    /// [`Communicator::run`].
    #[inline]
    pub fn allreduce<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::allreduce(input, output, &operator))
    }

    /// [`Communicator::allreduce`] where the result replaces the input.
    ///
    /// `buffer` is equally long on every rank.
    ///
    /// ```
    /// use allhands::{LogicalAnd, threads};
    ///
    /// let votes = threads::run(3, |comm| {
    ///     let mut votes = [true, comm.rank() != 1];
    ///     comm.allreduce_in_place(&mut votes, LogicalAnd).map(|()| votes)
    /// })?;
    /// for votes in votes {
    ///     assert_eq!(votes?, [true, false]);
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) if `buffer` is longer on one rank than on another. Otherwise as
    /// [`Communicator::run`].
    #[inline]
    pub fn allreduce_in_place<T: Element>(
        &self,
        buffer: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::allreduce_in_place(buffer, &operator))
    }

    /// Block `r` of the reduction of all inputs reaches the `output` of rank `r`.
    ///
    /// `output` is one block, of the same length on every rank, and `input` one block for each rank: MPI's `MPI_Reduce_scatter_block`.
    ///
    /// ```
    /// use allhands::{Sum, threads};
    ///
    /// let blocks = threads::run(2, |comm| {
    ///     let (input, mut block) = ([1, 2, 10, 20 + comm.rank()], [0; 2]);
    ///     comm.reduce_scatter(&input, &mut block, Sum).map(|()| block)
    /// })?;
    /// let blocks = blocks.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(blocks, [[2, 4], [20, 41]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// [Algorithms](operation#algorithms): `allhands list reduce-scatter`; T 4.4 and 5.3, Q 4.2, C 6.1, Patarasuk and Yuan 2009, Cowan
    /// and others 2023, Träff 2024, Jeaugey 2025.
    ///
    /// # Errors
    /// [`Error::Length`] if `input` is not [`size`](Communicator::size) times as long as `output`;
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) if the ranks' blocks differ in length. Otherwise as
    /// [`Communicator::run`].
    #[inline]
    pub fn reduce_scatter<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::reduce_scatter(input, output, &operator))
    }

    /// [`Communicator::reduce_scatter`] where the result replaces the rank's own block.
    ///
    /// `buffer` is one block for each rank, equally long on every rank. The result of rank `r` comes to stand in block `r`; the
    /// other blocks keep their values.
    ///
    /// ```
    /// use allhands::{Sum, threads};
    ///
    /// let buffers = threads::run(2, |comm| {
    ///     let mut buffer = [comm.rank() + 5; 4];
    ///     comm.reduce_scatter_in_place(&mut buffer, Sum).map(|()| buffer)
    /// })?;
    /// let buffers = buffers.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(buffers, [[11, 11, 5, 5], [6, 6, 11, 11]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if `buffer` cannot be divided into [`size`](Communicator::size) blocks;
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) if it is longer on one rank than on another. Otherwise as
    /// [`Communicator::run`].
    #[inline]
    pub fn reduce_scatter_in_place<T: Element>(
        &self,
        buffer: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::reduce_scatter_in_place(buffer, &operator))
    }

    /// [`Communicator::reduce_scatter`] with blocks of their own lengths.
    ///
    /// Every rank gives the same `counts`, a number for each rank. `input` is as long as their sum, block `r` of it `counts[r]`
    /// elements, packed in rank order; the `output` of rank `r` is `counts[r]` elements long.
    ///
    /// ```
    /// use allhands::{Sum, threads};
    ///
    /// let blocks = threads::run(2, |comm| {
    ///     let counts = [1, 3];
    ///     let mut block = vec![0; counts[comm.rank()]];
    ///     comm.reduce_scatter_v(&[1, 2, 3, 4], &counts, &mut block, Sum).map(|()| block)
    /// })?;
    /// let blocks = blocks.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(blocks, [vec![2], vec![4, 6, 8]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// Algorithms are those of [`Communicator::reduce_scatter`].
    ///
    /// # Errors
    /// [`Error::Length`] if `counts` has not one number for each rank, or `input` or `output` has another length than they say;
    /// [`TransportError::Length`](crate::TransportError::Length) where what arrives is longer or shorter than the receiver's counts
    /// say; different counts of one sum are found by the length of a message alone, so not by every algorithm. Otherwise as
    /// [`Communicator::run`].
    #[inline]
    pub fn reduce_scatter_v<T: Element>(
        &self,
        input: &[T],
        counts: &[usize],
        output: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::reduce_scatter_v(
            input, counts, output, &operator,
        ))
    }
}
