//! From one rank to all, and from all to one: broadcast, scatter and gather.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operation;

/// Collectives in which one rank, the root, has all the data before or after: run at once.
///
/// Every rank names the same root. Every algorithm of a collective serves it in place, too.
impl Communicator {
    /// The root's `buffer` reaches every rank's.
    ///
    /// `buffer` is equally long on every rank; what it holds on others than the root is overwritten.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let words = threads::run(3, |comm| {
    ///     let mut word = if comm.rank() == 1 { *b"yes" } else { *b"   " };
    ///     comm.broadcast(&mut word, 1).map(|()| word)
    /// })?;
    /// for word in words {
    ///     assert_eq!(&word?, b"yes");
    /// }
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// [Algorithms](operation#algorithms): `allhands list broadcast`; T 4.2, Q 4.2, C 5.2, 6.1 and table 2, B 3.1 and 4, Li, Chou,
    /// Zhang 2005, Sanders, Speck, Träff 2009, Träff 2024.
    ///
    /// # Errors
    /// [`Error::NoSuchRoot`] if `root` is not below [`size`](Communicator::size). A rank whose `buffer` is longer or shorter than the
    /// root's gets [`TransportError::Mismatch`](crate::TransportError::Mismatch). Otherwise as [`Communicator::run`].
    #[inline]
    pub fn broadcast<T: Element>(&self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.run(operation::broadcast(buffer, root))
    }

    /// Block `r` of the root's `input` reaches the `output` of rank `r`.
    ///
    /// `output` is one block, of the same length on every rank. The root's `input` is one block for each rank, in rank order, its own
    /// among them; other ranks have nothing to send and give `&[]`.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let pairs = threads::run(3, |comm| {
    ///     let input: &[u8] = if comm.rank() == 0 { b"aabbcc" } else { &[] };
    ///     let mut pair = [0; 2];
    ///     comm.scatter(input, &mut pair, 0).map(|()| pair)
    /// })?;
    /// let pairs = pairs.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(pairs, [*b"aa", *b"bb", *b"cc"]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// [Algorithms](operation#algorithms): `allhands list scatter`; T 1, Q 4.2 and 5.1.1.
    ///
    /// # Errors
    /// [`Error::Length`] if the root's `input` is not [`size`](Communicator::size) times as long as its `output`, or another rank's is
    /// not empty; [`Error::NoSuchRoot`]; [`TransportError::Mismatch`](crate::TransportError::Mismatch) if a rank receives a block of
    /// another length than its `output`. Otherwise as [`Communicator::run`].
    #[inline]
    pub fn scatter<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        root: usize,
    ) -> Result<(), Error> {
        self.run(operation::scatter(input, output, root))
    }

    /// [`Communicator::scatter`] where the root's own block stays in its buffer.
    ///
    /// The root's `buffer` is one block for each rank and is left as it is; that of another rank is the one block that it receives.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let buffers = threads::run(2, |comm| {
    ///     let mut buffer = if comm.rank() == 0 { vec![1, 2, 3, 4] } else { vec![0; 2] };
    ///     comm.scatter_in_place(&mut buffer, 0).map(|()| buffer)
    /// })?;
    /// let buffers = buffers.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(buffers, [vec![1, 2, 3, 4], vec![3, 4]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if the root's `buffer` cannot be divided into [`size`](Communicator::size) blocks; [`Error::NoSuchRoot`];
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) if another rank's `buffer` is not as long as one of them.
    /// Otherwise as [`Communicator::run`].
    #[inline]
    pub fn scatter_in_place<T: Element>(&self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.run(operation::scatter_in_place(buffer, root))
    }

    /// [`Communicator::scatter`] with blocks of their own lengths.
    ///
    /// On the root `counts` has a number for each rank and `input` is `counts[r]` elements for each rank `r`, packed in rank order;
    /// other ranks give `&[]` for both. The `output` of rank `r` is `counts[r]` elements long: each rank must know its own length,
    /// and no other.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let words = threads::run(3, |comm| {
    ///     let mut word = vec![0; [1, 0, 3][comm.rank()]];
    ///     let ended = match comm.rank() {
    ///         0 => comm.scatter_v(b"abcd", &[1, 0, 3], &mut word, 0),
    ///         _ => comm.scatter_v(&[], &[], &mut word, 0),
    ///     };
    ///     ended.map(|()| word)
    /// })?;
    /// let words = words.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(words, [&b"a"[..], b"", b"bcd"]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// Algorithms are those of [`Communicator::scatter`]; one that sends blocks by way of other ranks first tells them the counts.
    /// [`Communicator::scatter_v_at`] takes blocks that do not follow one another.
    ///
    /// # Errors
    /// [`Error::Length`] if `counts` has not one number for each rank, or the root's `input` or `output` has another length than
    /// they say; [`Error::NoSuchRoot`]. If another rank's `output` is not as long as the root's count, [`Error::CountsDiffer`] or, by
    /// an algorithm that sends straight from the root, [`TransportError::Length`](crate::TransportError::Length). Otherwise as
    /// [`Communicator::run`].
    #[inline]
    pub fn scatter_v<T: Element>(
        &self,
        input: &[T],
        counts: &[usize],
        output: &mut [T],
        root: usize,
    ) -> Result<(), Error> {
        self.run(operation::scatter_v(input, counts, output, root))
    }

    /// The `input` of rank `r` reaches the root's `output` as block `r`.
    ///
    /// `input` is one block, of the same length on every rank, the root among them. The root's `output` has room for one block of each
    /// rank; other ranks receive nothing and give `&mut []`.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let gathered = threads::run(3, |comm| {
    ///     let mine = [comm.rank(), 10 * comm.rank()];
    ///     let mut all = vec![0; if comm.rank() == 2 { 6 } else { 0 }];
    ///     comm.gather(&mine, &mut all, 2).map(|()| all)
    /// })?;
    /// let gathered = gathered.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(gathered, [vec![], vec![], vec![0, 0, 1, 10, 2, 20]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// [Algorithms](operation#algorithms): `allhands list gather`; T 1, Q 3.1, 4.2, 5.1.1 and 5.2.1.
    ///
    /// # Errors
    /// [`Error::Length`] if the root's `output` is not [`size`](Communicator::size) times as long as its `input`, or another rank's is
    /// not empty; [`Error::NoSuchRoot`]; [`TransportError::Mismatch`](crate::TransportError::Mismatch) on who receives an `input` of
    /// another length than its own. Otherwise as [`Communicator::run`].
    #[inline]
    pub fn gather<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        root: usize,
    ) -> Result<(), Error> {
        self.run(operation::gather(input, output, root))
    }

    /// [`Communicator::gather`] where the root's own block already stands in its buffer.
    ///
    /// The root's `buffer` is one block for each rank, of which it fills all but its own; that of another rank is the one block that
    /// it sends.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let buffers = threads::run(2, |comm| {
    ///     let mut buffer = if comm.rank() == 0 { vec![1, 2, 0, 0] } else { vec![3, 4] };
    ///     comm.gather_in_place(&mut buffer, 0).map(|()| buffer)
    /// })?;
    /// let buffers = buffers.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(buffers, [vec![1, 2, 3, 4], vec![3, 4]]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Length`] if the root's `buffer` cannot be divided into [`size`](Communicator::size) blocks; [`Error::NoSuchRoot`];
    /// [`TransportError::Mismatch`](crate::TransportError::Mismatch) where a block arrives that is not as long as one of them.
    /// Otherwise as [`Communicator::run`].
    #[inline]
    pub fn gather_in_place<T: Element>(&self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.run(operation::gather_in_place(buffer, root))
    }

    /// [`Communicator::gather`] with blocks of their own lengths.
    ///
    /// The `input` of rank `r` is as long as the root's `counts[r]`. On the root `counts` has a number for each rank and `output` room
    /// for their sum, where the blocks come to stand packed in rank order; other ranks give `&[]` and `&mut []`.
    ///
    /// ```
    /// use allhands::threads;
    ///
    /// let gathered = threads::run(3, |comm| {
    ///     let mine = vec![b'a' + comm.rank() as u8; comm.rank()];
    ///     let (mut all, counts) = if comm.rank() == 0 { (vec![0; 3], vec![0, 1, 2]) } else { (vec![], vec![]) };
    ///     comm.gather_v(&mine, &mut all, &counts, 0).map(|()| all)
    /// })?;
    /// let gathered = gathered.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(gathered, [&b"bcc"[..], b"", b""]);
    /// # Ok::<(), allhands::Error>(())
    /// ```
    ///
    /// Algorithms are those of [`Communicator::gather`]; one that sends blocks by way of other ranks first tells them the counts. A
    /// root that does not know the lengths finds them by [`Communicator::gather_vec`].
    ///
    /// # Errors
    /// [`Error::Length`] if `counts` has not one number for each rank, or the root's `input` or `output` has another length than
    /// they say; [`Error::NoSuchRoot`]. If another rank's `input` is not as long as the root's count, [`Error::CountsDiffer`] or, by
    /// an algorithm that sends straight to the root, [`TransportError::Length`](crate::TransportError::Length). Otherwise as
    /// [`Communicator::run`].
    #[inline]
    pub fn gather_v<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        counts: &[usize],
        root: usize,
    ) -> Result<(), Error> {
        self.run(operation::gather_v(input, output, counts, root))
    }
}
