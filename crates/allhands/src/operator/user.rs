//! User operators: closures that promise to be associative, and perhaps commutative.
//!
//! A closure by itself is one that need not be commutative: whatever associative operation it is, the result is right.

use super::Operator;
use crate::element::Element;

/// A closure that is associative and commutative: contributions may be combined in any order.
///
/// A panic inside the closure unwinds out of the reduction; elements combined by then hold their
/// results and the others what they held.
///
/// ```
/// use allhands::operator::{Commutative, Operator};
///
/// let hypotenuse = Commutative(|a: &f64, b: &f64| a.hypot(*b));
/// assert_eq!(hypotenuse.combine(&3.0, &4.0), 5.0);
/// assert!(hypotenuse.commutative());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Commutative<F>(
    /// The operation.
    pub F,
);

/// A closure that is associative but not commutative: contributions are combined in rank order.
///
/// ```
/// use allhands::operator::{Operator, Ordered};
///
/// // 2 × 2 matrices, row by row.
/// let matrix_product = Ordered(|a: &[i32; 4], b: &[i32; 4]| {
///     let cell = |row: usize, column: usize| a[row] * b[column] + a[row + 1] * b[column + 2];
///     [cell(0, 0), cell(0, 1), cell(2, 0), cell(2, 1)]
/// });
/// assert_eq!(matrix_product.combine(&[1, 1, 0, 1], &[1, 0, 1, 1]), [2, 1, 1, 1]);
/// assert!(!matrix_product.commutative());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ordered<F>(
    /// The operation; its first argument comes from the lower ranks.
    pub F,
);

impl<T: Element, F: Fn(&T, &T) -> T + Send + Sync> Operator<T> for Commutative<F> {
    #[inline(always)]
    fn combine(&self, left: &T, right: &T) -> T {
        (self.0)(left, right)
    }

    fn commutative(&self) -> bool {
        true
    }
}

impl<T: Element, F: Fn(&T, &T) -> T + Send + Sync> Operator<T> for Ordered<F> {
    #[inline(always)]
    fn combine(&self, left: &T, right: &T) -> T {
        (self.0)(left, right)
    }

    fn commutative(&self) -> bool {
        false
    }
}

/// A closure, or function, is an operator that is associative and need not be commutative: what [`Ordered`] makes of it.
/// Where it is commutative, [`Commutative`] opens more algorithms.
///
/// ```
/// use allhands::threads;
///
/// let product = |a: &[i64; 4], b: &[i64; 4]| {
///     let cell = |row: usize, column: usize| a[row] * b[column] + a[row + 1] * b[column + 2];
///     [cell(0, 0), cell(0, 1), cell(2, 0), cell(2, 1)]
/// };
/// // Fibonacci's numbers.
/// let fifth = threads::run(5, |comm| comm.allreduce_value([1, 1, 1, 0], product))?;
/// assert_eq!(fifth[0].as_ref().unwrap(), &[8, 5, 5, 3]);
/// # Ok::<(), allhands::Error>(())
/// ```
impl<T: Element, F: Fn(&T, &T) -> T + Send + Sync> Operator<T> for F {
    #[inline(always)]
    fn combine(&self, left: &T, right: &T) -> T {
        self(left, right)
    }

    fn commutative(&self) -> bool {
        false
    }
}
