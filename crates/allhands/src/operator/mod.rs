//! Operators: what a reduction does with two elements.

mod built_in;
mod user;

pub use built_in::{
    BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, Max, MaxLoc, Min, MinLoc, Product,
    Sum,
};
pub use user::{Commutative, Ordered};

use std::fmt;

use crate::element::{Element, hash32};
use crate::kernel::sealed::{Seal, SelectLoop};

/// An associative operation on two elements.
///
/// The built-in ones are [`Sum`], [`Product`], [`Min`], [`Max`], [`BitAnd`], [`BitOr`],
/// [`BitXor`], [`LogicalAnd`], [`LogicalOr`], [`LogicalXor`], [`MinLoc`] and [`MaxLoc`]. A
/// closure is one, whose contributions are combined in rank order; in [`Commutative`] they may be combined in any. An
/// operator with a name or with state of its own implements this trait.
///
/// Associativity is the caller's promise: algorithms choose where the brackets go. Sums and
/// products of floating-point numbers count as associative and commutative; the result may
/// differ by rounding between algorithms and numbers of ranks, but is identical on all ranks of
/// one call.
///
/// ```
/// use allhands::operator::Operator;
///
/// /// Composes the affine maps x ↦ slope · x + offset, the left one first.
/// struct Compose;
///
/// impl Operator<[f64; 2]> for Compose {
///     fn combine(&self, left: &[f64; 2], right: &[f64; 2]) -> [f64; 2] {
///         [left[0] * right[0], left[1] * right[0] + right[1]]
///     }
///     fn commutative(&self) -> bool {
///         false
///     }
/// }
///
/// assert_eq!(Compose.combine(&[2.0, 1.0], &[3.0, 5.0]), [6.0, 8.0]);
/// ```
pub trait Operator<T: Element>: Send + Sync {
    /// The operation on one pair: `left` comes from the lower ranks.
    fn combine(&self, left: &T, right: &T) -> T;

    /// Whether `combine(a, b)` equals `combine(b, a)`, so that contributions may be combined out
    /// of rank order.
    fn commutative(&self) -> bool;

    /// The name for messages.
    fn name(&self) -> &'static str {
        std::any::type_name::<Self>()
    }

    /// What ranks compare to learn whether they call with the same operator.
    fn signature(&self) -> OperatorSignature {
        OperatorSignature::user(self.name(), self.commutative())
    }

    /// The loops that run this operator, one for each instruction set. Nobody outside this crate
    /// can name the argument's type, so nobody outside can give loops of another type.
    #[doc(hidden)]
    fn select_loop(_: Seal) -> SelectLoop
    where
        Self: Sized,
    {
        crate::kernel::each_element::<T, Self>
    }
}

/// The bit that marks the code of an operator that is not built in.
const USER: u32 = 1 << 31;
/// The bit that marks a user's operator as commutative.
const COMMUTATIVE: u32 = 1 << 30;

/// What two ranks compare to learn whether they reduce with the same operator.
///
/// A built-in operator is a small number that will not change between versions. Any other is a
/// hash of its name and whether it commutes. Closures that one function makes share a name, so
/// equal signatures of user operators are evidence, not proof.
///
/// ```
/// use allhands::operator::{Commutative, Max, Operator, OperatorSignature, Sum};
///
/// let sum = Operator::<f64>::signature(&Sum);
/// assert_eq!(sum.to_string(), "sum");
/// assert_ne!(sum, Operator::<f64>::signature(&Max));
/// let mine = Commutative(|a: &f64, b: &f64| a.hypot(*b)).signature();
/// assert!(mine.to_string().starts_with("user operator"));
/// assert_eq!(OperatorSignature::from_code(mine.code()), mine);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperatorSignature(u32);

impl OperatorSignature {
    /// The signature of an operator that is not built in.
    #[must_use]
    pub fn user(name: &str, commutative: bool) -> Self {
        let hash = hash32(name.as_bytes(), 0) & (COMMUTATIVE - 1);
        Self(USER | hash | if commutative { COMMUTATIVE } else { 0 })
    }

    /// The number that travels.
    #[must_use]
    pub const fn code(self) -> u32 {
        self.0
    }

    /// Whether the operator is not built in.
    #[must_use]
    pub const fn is_user(self) -> bool {
        self.0 & USER != 0
    }

    /// The signature that a peer's [`code`](Self::code) stands for.
    #[must_use]
    pub const fn from_code(code: u32) -> Self {
        Self(code)
    }
}

/// The human name: the operator's own for a built-in one, else its hash and whether it commutes.
impl fmt::Display for OperatorSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = built_in::name_of_code(self.0) {
            return f.write_str(name);
        }
        if self.0 & USER == 0 {
            return write!(f, "unknown operator {}", self.0);
        }
        let kind = if self.0 & COMMUTATIVE != 0 {
            "commutative"
        } else {
            "ordered"
        };
        write!(
            f,
            "user operator {:08x} ({kind})",
            self.0 & (COMMUTATIVE - 1)
        )
    }
}

impl fmt::Debug for OperatorSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OperatorSignature({self})")
    }
}
