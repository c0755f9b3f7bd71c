//! The likeness: how alike two results of a type must be, where an operator may have rounded them.

use crate::abi::{Class, Coding, Named, Number};

/// How alike results must be.
///
/// Sums and products of floating-point numbers may be combined in another order, so those are compared with the largest
/// magnitude of all: to 1e-4 of it in single and 1e-10 in double and extended precision, which are chosen, not derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// Byte for byte.
    Exact,
    /// Numbers of single precision that may be rounded in another way.
    Single,
    Double,
    /// Numbers of C's `long double`.
    Long,
    /// A `long double`, of whose bytes some mean nothing, and an index.
    LongPair,
    /// What a user's operator makes of numbers in unknown places is its own affair.
    Any,
}

impl Likeness {
    /// That of numbers which a kernel has combined.
    pub(crate) fn of_number(number: Number) -> Likeness {
        match number {
            Number::F32 | Number::C32 => Likeness::Single,
            Number::F64 | Number::C64 => Likeness::Double,
            _ => Likeness::Exact,
        }
    }

    /// That of a predefined type; a user's operator may round also what is inside of a pair.
    pub(crate) fn of_named(named: &Named, bytes: usize, is_users: bool) -> Likeness {
        match (named.coding, named.number(bytes)) {
            _ if is_users && matches!(named.class, Class::Pair) => Likeness::Any,
            (_, Some(number)) => Likeness::of_number(number),
            (Coding::LongFloat, None) => Likeness::Long,
            (Coding::Spread(16), None) => Likeness::LongPair,
            _ => Likeness::Exact,
        }
    }

    /// That of elements of which some are alike in one way, and some in another.
    pub(crate) fn and(self, other: Likeness) -> Likeness {
        if self == other { self } else { Likeness::Any }
    }
}
