//! The communicator's methods: each collective, run at once.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operation;
use crate::operator::Operator;

/// Collectives, run at once. What each does is said at the function of the same name in [`operation`].
///
/// All of them fail as [`Communicator::run`] does.
#[allow(clippy::missing_errors_doc)]
impl Communicator {
    /// No rank leaves before every rank has entered.
    #[inline]
    pub fn barrier(&self) -> Result<(), Error> {
        self.run(operation::barrier())
    }

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

    /// The `input` of rank `r` reaches every rank's `output` as block `r`.
    #[inline]
    pub fn allgather<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<(), Error> {
        self.run(operation::allgather(input, output))
    }

    /// [`Communicator::allgather`] where each rank's block already stands at its place.
    #[inline]
    pub fn allgather_in_place<T: Element>(&self, buffer: &mut [T]) -> Result<(), Error> {
        self.run(operation::allgather_in_place(buffer))
    }

    /// [`Communicator::allgather`] with blocks of their own lengths.
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
    #[inline]
    pub fn alltoall<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<(), Error> {
        self.run(operation::alltoall(input, output))
    }

    /// [`Communicator::alltoall`] where the received blocks replace the sent ones.
    #[inline]
    pub fn alltoall_in_place<T: Element>(&self, buffer: &mut [T]) -> Result<(), Error> {
        self.run(operation::alltoall_in_place(buffer))
    }

    /// [`Communicator::alltoall`] with blocks of their own lengths, packed in rank order.
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

    /// Rank `r` gets the reduction of the inputs of ranks `0..=r`.
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
    #[inline]
    pub fn scan_in_place<T: Element>(
        &self,
        buffer: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::scan_in_place(buffer, &operator))
    }

    /// Rank `r` gets the reduction of the inputs of ranks `0..r`.
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
    #[inline]
    pub fn exscan_in_place<T: Element>(
        &self,
        buffer: &mut [T],
        operator: impl Operator<T>,
    ) -> Result<(), Error> {
        self.run(operation::exscan_in_place(buffer, &operator))
    }
}
