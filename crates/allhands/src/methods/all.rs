//! From all ranks to all: barrier, allgather and alltoall.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operation;

/// Collectives in which every rank has the same part and nothing is combined: run at once.
///
/// All of them fail as [`Communicator::run`] does.
#[allow(clippy::missing_errors_doc)]
impl Communicator {
    /// No rank leaves before every rank has entered.
    #[inline]
    pub fn barrier(&self) -> Result<(), Error> {
        self.run(operation::barrier())
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
}
