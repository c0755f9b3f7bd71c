//! The reference: one element after the other, to compare the kernels with.

use crate::element::Element;
use crate::operator::Operator;

/// Combines slices element by element, as [`Operator::combine`] says, without any cleverness.
/// The result has the length of the shorter slice.
///
/// ```
/// use allhands::kernel::reference;
/// use allhands::operator::Max;
///
/// assert_eq!(reference::combine(&Max, &[1, 5, 3], &[4, 2, 3]), [4, 5, 3]);
/// ```
#[must_use]
pub fn combine<T: Element, O: Operator<T>>(operator: &O, left: &[T], right: &[T]) -> Vec<T> {
    left.iter()
        .zip(right)
        .map(|(left, right)| operator.combine(left, right))
        .collect()
}
