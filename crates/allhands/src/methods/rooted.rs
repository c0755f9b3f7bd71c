//! From one rank to all, and from all to one: broadcast, scatter and gather.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operation;

/// Collectives in which one rank, the root, has all the data before or after: run at once.
///
/// All of them fail as [`Communicator::run`] does.
#[allow(clippy::missing_errors_doc)]
impl Communicator {
    /// The root's `buffer` reaches every rank's.
    #[inline]
    pub fn broadcast<T: Element>(&self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.run(operation::broadcast(buffer, root))
    }

    /// Block `r` of the root's `input` reaches the `output` of rank `r`.
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
    #[inline]
    pub fn scatter_in_place<T: Element>(&self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.run(operation::scatter_in_place(buffer, root))
    }

    /// [`Communicator::scatter`] with blocks of their own lengths.
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
    #[inline]
    pub fn gather_in_place<T: Element>(&self, buffer: &mut [T], root: usize) -> Result<(), Error> {
        self.run(operation::gather_in_place(buffer, root))
    }

    /// [`Communicator::gather`] with blocks of their own lengths.
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
