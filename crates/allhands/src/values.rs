//! Values: the communicator's methods that take and give single values and vectors, and find the lengths by themselves.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operator::Operator;
use bytemuck::Zeroable;

/// What ranks gave, one block after another in the order of ranks, and how long each block is.
///
/// ```
/// use allhands::threads;
///
/// let words = threads::run(3, |comm| {
///     // Rank r has r letters.
///     comm.allgather_vec(&vec![b'a' + comm.rank() as u8; comm.rank()])
/// })?;
/// let words = words[0].as_ref().unwrap();
/// assert_eq!(words.counts(), [0, 1, 2]);
/// assert_eq!(words.block(2), b"cc");
/// assert_eq!(words.elements(), b"bcc");
/// # Ok::<(), allhands::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks<T> {
    elements: Vec<T>,
    counts: Vec<usize>,
}

impl<T> Blocks<T> {
    /// The block of one rank.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn block(&self, rank: usize) -> &[T] {
        let start: usize = self.counts[..rank].iter().sum();
        &self.elements[start..start + self.counts[rank]]
    }

    /// The blocks of all ranks.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> {
        let mut rest = self.elements.as_slice();
        self.counts.iter().map(move |count| {
            let (block, others) = rest.split_at(*count);
            rest = others;
            block
        })
    }

    /// The number of elements of each block.
    #[must_use]
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// All elements, block after block.
    #[must_use]
    pub fn elements(&self) -> &[T] {
        &self.elements
    }

    /// All elements, block after block, and the number of elements of each.
    #[must_use]
    pub fn into_parts(self) -> (Vec<T>, Vec<usize>) {
        (self.elements, self.counts)
    }
}

/// Collectives on single values, and on vectors whose lengths the ranks need not know of one another.
///
/// Algorithms are those of the collectives that they are made of.
impl Communicator {
    /// The root's value, on every rank. What the others give is not looked at.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// for got in threads::run(3, |comm| comm.broadcast_value(10 * comm.rank(), 2))? {
    ///     assert_eq!(got?, 20);
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is a [`Communicator::broadcast`] of one element.
    ///
    /// # Errors
    /// [`Error::NoSuchRoot`]; otherwise as [`Communicator::run`].
    pub fn broadcast_value<T: Element>(&self, value: T, root: usize) -> Result<T, Error> {
        let mut buffer = [value];
        self.broadcast(&mut buffer, root)?;
        Ok(buffer[0])
    }

    /// The root's vector, on every rank. What the others give is not looked at, and may be `vec![]`.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let words = threads::run(3, |comm| {
    ///     let word = if comm.rank() == 0 { b"word".to_vec() } else { vec![] };
    ///     comm.broadcast_vec(word, 0)
    /// })?;
    /// for word in words {
    ///     assert_eq!(word?, b"word");
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is two broadcasts, the first one of the length.
    ///
    /// # Errors
    /// [`Error::NoSuchRoot`]; otherwise as [`Communicator::run`].
    pub fn broadcast_vec<T: Element + Zeroable>(
        &self,
        values: Vec<T>,
        root: usize,
    ) -> Result<Vec<T>, Error> {
        let length = self.broadcast_value(values.len(), root)?;
        if self.rank() == root {
            let mut values = values;
            self.broadcast(&mut values, root)?;
            return Ok(values);
        }
        let mut values = vec![T::zeroed(); length];
        self.broadcast(&mut values, root)?;
        Ok(values)
    }

    /// The reduction of all values, on the root; `None` elsewhere.
    ///
    /// ```
    /// use allhands::{Max, threads};
    ///
    /// let largest = threads::run(4, |comm| comm.reduce_value(comm.rank() as u32, Max, 0))?;
    /// assert_eq!(largest[0].as_ref().unwrap(), &Some(3));
    /// assert_eq!(largest[1].as_ref().unwrap(), &None);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is a [`Communicator::reduce_in_place`] of one element.
    ///
    /// # Errors
    /// [`Error::NoSuchRoot`]; otherwise as [`Communicator::run`].
    pub fn reduce_value<T: Element>(
        &self,
        value: T,
        operator: impl Operator<T>,
        root: usize,
    ) -> Result<Option<T>, Error> {
        let mut buffer = [value];
        self.reduce_in_place(&mut buffer, operator, root)?;
        Ok((self.rank() == root).then_some(buffer[0]))
    }

    /// The reduction of all values, on every rank.
    ///
    /// ```
    /// use allhands::{Sum, threads};
    ///
    /// let totals = threads::run(4, |comm| comm.allreduce_value(comm.rank() as u64, Sum))?;
    /// assert_eq!(totals[3].as_ref().unwrap(), &6);
    /// // A closure is an operator, too.
    /// let gcd = |a: &u64, b: &u64| {
    ///     let (mut a, mut b) = (*a, *b);
    ///     while b != 0 {
    ///         (a, b) = (b, a % b);
    ///     }
    ///     a
    /// };
    /// let divisors = threads::run(2, |comm| comm.allreduce_value([12, 18][comm.rank()], gcd))?;
    /// assert_eq!(divisors[1].as_ref().unwrap(), &6);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is a [`Communicator::allreduce_in_place`] of one element.
    ///
    /// # Errors
    /// There is nothing of its own to give wrongly; it fails as [`Communicator::run`] does.
    pub fn allreduce_value<T: Element>(
        &self,
        value: T,
        operator: impl Operator<T>,
    ) -> Result<T, Error> {
        let mut buffer = [value];
        self.allreduce_in_place(&mut buffer, operator)?;
        Ok(buffer[0])
    }

    /// The reduction of the values of ranks `0..=r`, on rank `r`.
    ///
    /// ```
    /// use allhands::{Sum, threads};
    ///
    /// let sums = threads::run(3, |comm| comm.scan_value(comm.rank() + 1, Sum))?;
    /// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [1, 3, 6]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is a [`Communicator::scan_in_place`] of one element.
    ///
    /// # Errors
    /// There is nothing of its own to give wrongly; it fails as [`Communicator::run`] does.
    pub fn scan_value<T: Element>(&self, value: T, operator: impl Operator<T>) -> Result<T, Error> {
        let mut buffer = [value];
        self.scan_in_place(&mut buffer, operator)?;
        Ok(buffer[0])
    }

    /// The reduction of the values of ranks `0..r`, on rank `r`; `None` on rank 0, before which there is none.
    ///
    /// ```
    /// use allhands::{Sum, threads};
    ///
    /// let sums = threads::run(3, |comm| comm.exscan_value(comm.rank() + 1, Sum))?;
    /// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [None, Some(1), Some(3)]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is a [`Communicator::exscan_in_place`] of one element.
    ///
    /// # Errors
    /// There is nothing of its own to give wrongly; it fails as [`Communicator::run`] does.
    pub fn exscan_value<T: Element>(
        &self,
        value: T,
        operator: impl Operator<T>,
    ) -> Result<Option<T>, Error> {
        let mut buffer = [value];
        self.exscan_in_place(&mut buffer, operator)?;
        Ok((self.rank() > 0).then_some(buffer[0]))
    }

    /// The values of all ranks in rank order, on the root; `None` elsewhere.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let gathered = threads::run(3, |comm| comm.gather_value(comm.rank() * comm.rank(), 1))?;
    /// let gathered = gathered.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(gathered, [None, Some(vec![0, 1, 4]), None]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is a [`Communicator::gather`] with blocks of one element.
    ///
    /// # Errors
    /// [`Error::NoSuchRoot`]; otherwise as [`Communicator::run`].
    pub fn gather_value<T: Element>(&self, value: T, root: usize) -> Result<Option<Vec<T>>, Error> {
        let is_root = self.rank() == root;
        let mut all = vec![value; if is_root { self.size() } else { 0 }];
        self.gather(&[value], &mut all, root)?;
        Ok(is_root.then_some(all))
    }

    /// The values of all ranks in rank order, on every rank.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// for all in threads::run(3, |comm| comm.allgather_value(comm.rank() * comm.rank()))? {
    ///     assert_eq!(all?, [0, 1, 4]);
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is a [`Communicator::allgather`] with blocks of one element.
    ///
    /// # Errors
    /// There is nothing of its own to give wrongly; it fails as [`Communicator::run`] does.
    pub fn allgather_value<T: Element>(&self, value: T) -> Result<Vec<T>, Error> {
        let mut all = vec![value; self.size()];
        self.allgather(&[value], &mut all)?;
        Ok(all)
    }

    /// One of the root's values for each rank: the root gives [`size`](Communicator::size) of them, and value `r` reaches rank `r`. What the
    /// others give is not looked at, and may be `&[]`.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let letters = threads::run(3, |comm| comm.scatter_value(if comm.rank() == 0 { b"abc" } else { &[] }, 0))?;
    /// assert_eq!(letters.into_iter().collect::<Result<Vec<_>, _>>()?, *b"abc");
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is a [`Communicator::scatter`] with blocks of one element.
    ///
    /// # Errors
    /// [`Error::Length`] on a root that gives more or fewer values; [`Error::NoSuchRoot`]; otherwise as [`Communicator::run`].
    pub fn scatter_value<T: Element + Zeroable>(
        &self,
        values: &[T],
        root: usize,
    ) -> Result<T, Error> {
        let values = if self.rank() == root { values } else { &[] };
        let mut own = [T::zeroed()];
        self.scatter(values, &mut own, root)?;
        Ok(own[0])
    }

    /// Value `d` of rank `s` becomes value `s` of rank `d`; every rank gives [`size`](Communicator::size) values and gets as many.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let columns = threads::run(2, |comm| comm.alltoall_values([&[1, 2], &[3, 4]][comm.rank()]))?;
    /// assert_eq!(columns.into_iter().collect::<Result<Vec<_>, _>>()?, [[1, 3], [2, 4]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is a [`Communicator::alltoall`]. Twice as many values, or any multiple of [`size`](Communicator::size), are blocks of two, or of more.
    ///
    /// # Errors
    /// [`Error::Length`] if the number of values is no multiple of [`size`](Communicator::size); otherwise as [`Communicator::run`].
    pub fn alltoall_values<T: Element>(&self, values: &[T]) -> Result<Vec<T>, Error> {
        let mut received = values.to_vec();
        self.alltoall(values, &mut received)?;
        Ok(received)
    }

    /// The vectors of all ranks, of any lengths, on the root; `None` elsewhere.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let gathered = threads::run(3, |comm| comm.gather_vec(&vec![comm.rank(); comm.rank()], 0))?;
    /// let blocks = gathered.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// let root = blocks[0].as_ref().unwrap();
    /// assert_eq!((root.elements(), root.counts()), (&[1, 2, 2][..], &[0, 1, 2][..]));
    /// assert_eq!(blocks[1..], [None, None]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// It is two gathers, the first one of the lengths; [`Communicator::gather_v`] is one, for a root that knows them.
    ///
    /// # Errors
    /// [`Error::NoSuchRoot`]; otherwise as [`Communicator::run`].
    pub fn gather_vec<T: Element + Zeroable>(
        &self,
        values: &[T],
        root: usize,
    ) -> Result<Option<Blocks<T>>, Error> {
        let Some(counts) = self.gather_value(values.len(), root)? else {
            self.gather_v(values, &mut [], &[], root)?;
            return Ok(None);
        };
        let mut elements = vec![T::zeroed(); counts.iter().sum()];
        self.gather_v(values, &mut elements, &counts, root)?;
        Ok(Some(Blocks { elements, counts }))
    }

    /// The vectors of all ranks, of any lengths, on every rank; [`Blocks`] has an example.
    ///
    /// It is two allgathers, the first one of the lengths; [`Communicator::allgather_v`] is one, for ranks that know them.
    ///
    /// # Errors
    /// There is nothing of its own to give wrongly; it fails as [`Communicator::run`] does.
    pub fn allgather_vec<T: Element + Zeroable>(&self, values: &[T]) -> Result<Blocks<T>, Error> {
        let counts = self.allgather_value(values.len())?;
        let mut elements = vec![T::zeroed(); counts.iter().sum()];
        self.allgather_v(values, &mut elements, &counts)?;
        Ok(Blocks { elements, counts })
    }

    /// Vector `d` of rank `s`, of any length, becomes block `s` of rank `d`; every rank gives [`size`](Communicator::size) vectors.
    ///
    /// It is two alltoalls, the first one of the lengths; [`Communicator::alltoall_v`] is one, for ranks that know them.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let got = threads::run(2, |comm| {
    ///     // Rank r sends r + d letters to rank d.
    ///     let words: Vec<Vec<u8>> = (0..2).map(|d| vec![b'a' + d as u8; comm.rank() + d]).collect();
    ///     comm.alltoall_vec(&words)
    /// })?;
    /// let got = got[1].as_ref().unwrap();
    /// assert_eq!(got.block(0), b"b");
    /// assert_eq!(got.block(1), b"bb");
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if there are not as many vectors as ranks; otherwise as [`Communicator::run`].
    pub fn alltoall_vec<T: Element + Zeroable>(
        &self,
        vectors: &[impl AsRef<[T]>],
    ) -> Result<Blocks<T>, Error> {
        let send: Vec<usize> = vectors.iter().map(|vector| vector.as_ref().len()).collect();
        let counts = self.alltoall_values(&send)?;
        let input: Vec<T> = vectors.iter().flat_map(|v| v.as_ref()).copied().collect();
        let mut elements = vec![T::zeroed(); counts.iter().sum()];
        self.alltoall_v(&input, &send, &mut elements, &counts)?;
        Ok(Blocks { elements, counts })
    }
}
