//! Reductions of what the ranks up to one have: scan and exscan.

use crate::communicator::Communicator;
use crate::element::Element;
use crate::error::Error;
use crate::operation;
use crate::operator::Operator;

/// Prefix reductions, element by element: run at once.
///
/// All of them fail as [`Communicator::run`] does.
#[allow(clippy::missing_errors_doc)]
impl Communicator {
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
