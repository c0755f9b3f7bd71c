//! Reductions of what the ranks up to one have: scan and exscan.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operation;
use crate::operator::Operator;

/// Prefix reductions, element by element: run at once.
///
/// Every rank gives the same operator. Contributions are combined in rank order unless it commutes. Every algorithm of a
/// collective serves it in place, too.
impl Communicator {
    /// Rank `r` gets the reduction of the inputs of ranks `0..=r`.
    ///
    /// `input` and `output` are equally long, and as long on every rank.
    ///
    /// ```
    /// use allhands::{Sum, threads};
    ///
    /// let sums = threads::run(3, |comm| {
    ///     let mut sums = [0; 2];
    ///     comm.scan(&[1, comm.rank() + 1], &mut sums, Sum).map(|()| sums)
    /// })?;
    /// let sums = sums.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(sums, [[1, 1], [2, 3], [3, 6]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// Algorithms: `allhands list scan`, distance doubling and a chain, which the field has always had.
    ///
    /// # Errors
    /// [`Error::Length`] if `input` and `output` are not equally long;
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) on who receives from a rank whose vector has another length.
    /// Otherwise as [`Communicator::run`].
    #[inline]
    pub fn scan<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::scan(input, output, &operator))
    }

    /// [`Communicator::scan`] where the result replaces the input.
    ///
    /// `buffer` is equally long on every rank.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// // A closure combines in rank order: f after g, for maps x ↦ slope · x + offset as (slope, offset).
    /// let compose = |g: &[i32; 2], f: &[i32; 2]| [f[0] * g[0], f[0] * g[1] + f[1]];
    /// let maps = threads::run(3, |comm| {
    ///     let mut map = [[[2, 0], [1, 3], [2, 1]][comm.rank()]];
    ///     comm.scan_in_place(&mut map, compose).map(|()| map[0])
    /// })?;
    /// let maps = maps.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(maps, [[2, 0], [2, 3], [4, 7]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) on who receives from a rank whose `buffer` has another length.
    /// Otherwise as [`Communicator::run`].
    #[inline]
    pub fn scan_in_place<T: Element>(
        &self,
        buffer: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::scan_in_place(buffer, &operator))
    }

    /// Rank `r` gets the reduction of the inputs of ranks `0..r`.
    ///
    /// `input` and `output` are equally long, and as long on every rank. Before rank 0 there is none: its `output` must have this
    /// length, too, and keeps its values.
    ///
    /// ```
    /// use allhands::{Sum, threads};
    ///
    /// // Where the part of each rank begins, if the parts have lengths 3, 1 and 4.
    /// let starts = threads::run(3, |comm| {
    ///     let (length, mut start) = ([3, 1, 4][comm.rank()], [0]);
    ///     comm.exscan(&[length], &mut start, Sum).map(|()| start[0])
    /// })?;
    /// let starts = starts.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(starts, [0, 3, 4]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// [Algorithms](operation#algorithms): `allhands list exscan`; Träff 2025, and distance doubling and a chain, which the field has
    /// always had.
    ///
    /// # Errors
    /// [`Error::Length`] if `input` and `output` are not equally long;
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) on who receives from a rank whose vector has another length.
    /// Otherwise as [`Communicator::run`].
    #[inline]
    pub fn exscan<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::exscan(input, output, &operator))
    }

    /// [`Communicator::exscan`] where the result replaces the input.
    ///
    /// `buffer` is equally long on every rank; that of rank 0 keeps its values.
    ///
    /// ```
    /// use allhands::{Product, threads};
    ///
    /// let products = threads::run(3, |comm| {
    ///     let mut value = [comm.rank() + 2];
    ///     comm.exscan_in_place(&mut value, Product).map(|()| value)
    /// })?;
    /// let products = products.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(products, [[2], [2], [6]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) on who receives from a rank whose `buffer` has another length.
    /// Otherwise as [`Communicator::run`].
    #[inline]
    pub fn exscan_in_place<T: Element>(
        &self,
        buffer: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::exscan_in_place(buffer, &operator))
    }
}
