//! Reductions of what all ranks have: reduce, allreduce and reduce-scatter.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operation;
use crate::operator::Operator;

/// Collectives that combine the vectors of all ranks element by element: run at once.
///
/// All of them fail as [`Communicator::run`] does.
#[allow(clippy::missing_errors_doc)]
impl Communicator {
    /// The reduction of all inputs reaches the root's `output`.
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
    #[inline]
    pub fn allreduce_in_place<T: Element>(
        &self,
        buffer: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::allreduce_in_place(buffer, &operator))
    }

    /// Block `r` of the reduction of all inputs reaches the `output` of rank `r`.
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
    #[inline]
    pub fn reduce_scatter_in_place<T: Element>(
        &self,
        buffer: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::reduce_scatter_in_place(buffer, &operator))
    }

    /// [`Communicator::reduce_scatter`] with blocks of their own lengths.
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
