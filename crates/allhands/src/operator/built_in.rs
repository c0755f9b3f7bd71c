//! Built-in operators: zero-sized, commutative, implemented for the types where they make sense.

use half::{bf16, f16};
use num_complex::Complex;

use super::{Operator, OperatorSignature};
use crate::element::Pair;
use crate::kernel::{half as half_loops, sealed};

/// Declares the operators and the table of their codes and names.
macro_rules! built_in_operators {
    ($($(#[$doc:meta])* $code:literal $operator:ident $name:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            pub struct $operator;

            impl $operator {
                const CODE: u32 = $code;
                const NAME: &'static str = $name;
            }
        )*

        /// The name of the built-in operator that has this code.
        pub(super) fn name_of_code(code: u32) -> Option<&'static str> {
            match code {
                $($code => Some($name),)*
                _ => None,
            }
        }
    };
}

// A code once given is never given to another operator.
built_in_operators! {
    /// The sum. Integers wrap around; `f16` and `bf16` are added as `f32` and rounded to nearest,
    /// ties to even.
    1 Sum "sum";
    /// The product. Integers wrap around; `f16` and `bf16` are multiplied as `f32` and rounded to
    /// nearest, ties to even.
    2 Product "product";
    /// The smaller one. If either is a NaN so is the result, as of IEEE 754's `minimum`, and -0 is
    /// below +0, so the result depends on no order: which NaN it is does not depend on one either.
    3 Min "min";
    /// The larger one. If either is a NaN so is the result, as of IEEE 754's `maximum`, and +0 is
    /// above -0, so the result depends on no order: which NaN it is does not depend on one either.
    4 Max "max";
    /// Bitwise and.
    5 BitAnd "bitwise and";
    /// Bitwise or.
    6 BitOr "bitwise or";
    /// Bitwise exclusive or.
    7 BitXor "bitwise xor";
    /// Logical and: of integers, 1 if both are non-zero, else 0.
    8 LogicalAnd "logical and";
    /// Logical or: of integers, 1 if at least one is non-zero, else 0.
    9 LogicalOr "logical or";
    /// Logical exclusive or: of integers, 1 if exactly one is non-zero, else 0.
    10 LogicalXor "logical xor";
    /// The [`Pair`] of the smaller value; of equal values that of the lower index. A NaN wins
    /// against every number and equals another NaN; -0 equals +0.
    11 MinLoc "minloc";
    /// The [`Pair`] of the larger value; of equal values that of the lower index. A NaN wins
    /// against every number and equals another NaN; -0 equals +0.
    12 MaxLoc "maxloc";
}

/// Implements an operator for types by an expression, and for a single type perhaps by loops of
/// its own.
macro_rules! combine {
    ($operator:ident for $($type:ty)+: |$left:ident, $right:ident| $value:expr;) => {
        $(combine!(@one $operator, $type, $left, $right, $value,);)+
    };
    ($operator:ident for $type:ty: |$left:ident, $right:ident| $value:expr, $loops:expr;) => {
        combine!(@one $operator, $type, $left, $right, $value, $loops);
    };
    (
        @one $operator:ident, $type:ty, $left:ident, $right:ident, $value:expr,
        $($select_loop:expr)?
    ) => {
        impl Operator<$type> for $operator {
            #[inline(always)]
            fn combine(&self, $left: &$type, $right: &$type) -> $type {
                $value
            }

            fn commutative(&self) -> bool {
                true
            }

            fn name(&self) -> &'static str {
                Self::NAME
            }

            fn signature(&self) -> OperatorSignature {
                OperatorSignature::from_code(Self::CODE)
            }

            $(#[doc(hidden)]
            fn select_loop(_: sealed::Seal) -> sealed::SelectLoop {
                $select_loop
            })?
        }
    };
}

/// The operators of one integer type.
macro_rules! integer {
    ($($type:ident)*) => {$(
        combine!(Sum for $type: |a, b| a.wrapping_add(*b););
        combine!(Product for $type: |a, b| a.wrapping_mul(*b););
        combine!(Min for $type: |a, b| (*a).min(*b););
        combine!(Max for $type: |a, b| (*a).max(*b););
        combine!(BitAnd for $type: |a, b| a & b;);
        combine!(BitOr for $type: |a, b| a | b;);
        combine!(BitXor for $type: |a, b| a ^ b;);
        combine!(LogicalAnd for $type: |a, b| $type::from((*a != 0) & (*b != 0)););
        combine!(LogicalOr for $type: |a, b| $type::from((*a | *b) != 0););
        combine!(LogicalXor for $type: |a, b| $type::from((*a != 0) ^ (*b != 0)););
    )*};
}

integer! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

combine!(LogicalAnd for bool: |a, b| a & b;);
combine!(LogicalOr for bool: |a, b| a | b;);
combine!(LogicalXor for bool: |a, b| a ^ b;);

combine!(Sum for f32 f64 Complex<f32> Complex<f64>: |a, b| a + b;);
combine!(Product for f32 f64: |a, b| a * b;);
combine!(
    Product for Complex<f32> Complex<f64>:
    |a, b| Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
);

/// Min and max of a floating-point type: selects and bit operations, so that loops vectorise.
///
/// Every NaN becomes the same one, whatever the operands' were: ranks that combine in different orders get the same bits.
macro_rules! float_extremes {
    ($($float:ident $min:ident $max:ident;)*) => {$(
        #[inline(always)]
        fn $min(a: $float, b: $float) -> $float {
            let smaller = if a < b { a } else { b };
            // Equal numbers have equal bits but for the sign of zero; or keeps a minus.
            let bits = if a == b { a.to_bits() | b.to_bits() } else { smaller.to_bits() };
            if a.is_nan() | b.is_nan() { $float::NAN } else { $float::from_bits(bits) }
        }

        #[inline(always)]
        fn $max(a: $float, b: $float) -> $float {
            let larger = if a > b { a } else { b };
            // Equal numbers have equal bits but for the sign of zero; and drops a minus.
            let bits = if a == b { a.to_bits() & b.to_bits() } else { larger.to_bits() };
            if a.is_nan() | b.is_nan() { $float::NAN } else { $float::from_bits(bits) }
        }

        combine!(Min for $float: |a, b| $min(*a, *b););
        combine!(Max for $float: |a, b| $max(*a, *b););
    )*};
}

float_extremes! { f32 min_f32 max_f32; f64 min_f64 max_f64; }

/// The 16-bit floats: here through `f32`, in the kernels by loops of their own.
macro_rules! half_precision {
    ($($half:ident $loops:ident;)*) => {$(
        combine!(
            Sum for $half: |a, b| $half::from_f32(a.to_f32() + b.to_f32()),
            half_loops::$loops::sum;
        );
        combine!(
            Product for $half: |a, b| $half::from_f32(a.to_f32() * b.to_f32()),
            half_loops::$loops::product;
        );
        combine!(
            Min for $half: |a, b| $half::from_f32(min_f32(a.to_f32(), b.to_f32())),
            half_loops::$loops::min;
        );
        combine!(
            Max for $half: |a, b| $half::from_f32(max_f32(a.to_f32(), b.to_f32())),
            half_loops::$loops::max;
        );
    )*};
}

half_precision! { f16 binary16; bf16 bfloat16; }

/// Minloc and maxloc of pairs, where `$nan` says whether a value wins against any number.
macro_rules! locations {
    ($($value:ident $index:ident, |$v:ident| $nan:expr;)*) => {$(
        combine!(
            MinLoc for Pair<$value, $index>: |a, b| {
                let nan = |$v: $value| $nan;
                let a_wins = (a.value < b.value) | (nan(a.value) & !nan(b.value));
                let b_wins = (b.value < a.value) | (nan(b.value) & !nan(a.value));
                if a_wins | (!b_wins & (a.index <= b.index)) { *a } else { *b }
            };
        );
        combine!(
            MaxLoc for Pair<$value, $index>: |a, b| {
                let nan = |$v: $value| $nan;
                let a_wins = (a.value > b.value) | (nan(a.value) & !nan(b.value));
                let b_wins = (b.value > a.value) | (nan(b.value) & !nan(a.value));
                if a_wins | (!b_wins & (a.index <= b.index)) { *a } else { *b }
            };
        );
    )*};
}

locations! {
    f32 i32, |v| v.is_nan();
    f32 u32, |v| v.is_nan();
    f64 i64, |v| v.is_nan();
    f64 u64, |v| v.is_nan();
    i32 i32, |_v| false;
    u32 u32, |_v| false;
    i64 i64, |_v| false;
    u64 u64, |_v| false;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn integers_wrap_and_logic_gives_zero_or_one() {
        assert_eq!(Sum.combine(&250_u8, &10), 4);
        assert_eq!(Product.combine(&i32::MIN, &-1), i32::MIN);
        assert_eq!(LogicalAnd.combine(&6_i16, &-3), 1);
        assert_eq!(LogicalOr.combine(&0_u64, &0), 0);
        assert_eq!(LogicalOr.combine(&0_u64, &9), 1);
        assert_eq!(LogicalXor.combine(&7_i8, &2), 0);
        assert_eq!(LogicalXor.combine(&0_i8, &-128), 1);
        assert!(LogicalXor.combine(&true, &false) && !LogicalAnd.combine(&true, &false));
        assert_eq!(BitXor.combine(&0b1100_u8, &0b1010), 0b0110);
    }

    #[test]
    fn complex_numbers_multiply_as_they_should() {
        let product = Product.combine(&Complex::new(1.0, 2.0), &Complex::new(3.0_f64, -1.0));
        assert_eq!(product, Complex::new(5.0, 5.0));
    }

    #[test]
    fn half_precision_rounds_once_to_even() {
        let eps = f16::EPSILON; // The distance from 1 to the next number.
        let half_eps = f16::from_f32(eps.to_f32() / 2.0);
        assert_eq!(Sum.combine(&f16::ONE, &half_eps), f16::ONE);
        let next = f16::from_f32(1.0 + eps.to_f32());
        assert_eq!(
            Sum.combine(&next, &half_eps).to_f32(),
            1.0 + 2.0 * eps.to_f32()
        );
        assert_eq!(
            Product.combine(&f16::MAX, &f16::from_f32(2.0)),
            f16::INFINITY
        );
        assert_eq!(
            Sum.combine(&bf16::from_f32(256.0), &bf16::ONE).to_f32(),
            256.0
        );
    }

    /// Min and max of every pair of specials give the same bits in either order.
    #[test]
    fn extremes_hand_nan_on_and_order_zeros() {
        macro_rules! check {
            ($($type:ident)*) => {$({
                let numbers =
                    [$type::NEG_INFINITY, $type::MIN, -0.0, 0.0, $type::MAX, $type::INFINITY];
                for (i, a) in numbers.iter().enumerate() {
                    for (j, b) in numbers.iter().enumerate() {
                        let (low, high) = (numbers[i.min(j)], numbers[i.max(j)]);
                        assert_eq!(Min.combine(a, b).to_bits(), low.to_bits());
                        assert_eq!(Max.combine(a, b).to_bits(), high.to_bits());
                    }
                    for nan in [$type::NAN, -$type::NAN] {
                        let same = $type::NAN.to_bits();
                        for (a, b) in [(*a, nan), (nan, *a), (nan, -nan)] {
                            assert_eq!(Min.combine(&a, &b).to_bits(), same);
                            assert_eq!(Max.combine(&a, &b).to_bits(), same);
                        }
                    }
                }
            })*};
        }
        check!(f32 f64);
    }

    #[test]
    fn locations_take_the_lower_index_of_equal_values() {
        let pair = |value: f64, index: i64| Pair { value, index };
        let cases = [
            // left, right, minloc, maxloc
            (pair(1.0, 5), pair(2.0, 0), 5, 0),
            (pair(1.0, 5), pair(1.0, -3), -3, -3),
            (pair(-0.0, 4), pair(0.0, 2), 2, 2),
            (pair(f64::NAN, 9), pair(f64::INFINITY, 0), 9, 9),
            (pair(-f64::NAN, 9), pair(f64::NEG_INFINITY, 0), 9, 9),
            (pair(f64::NAN, 8), pair(-f64::NAN, 7), 7, 7),
        ];
        for (a, b, min, max) in cases {
            for (left, right) in [(a, b), (b, a)] {
                assert_eq!(
                    MinLoc.combine(&left, &right).index,
                    min,
                    "{left:?} {right:?}"
                );
                assert_eq!(
                    MaxLoc.combine(&left, &right).index,
                    max,
                    "{left:?} {right:?}"
                );
            }
        }
    }

    #[test]
    fn signatures_differ_and_survive_the_wire() {
        let signatures = [
            Operator::<i32>::signature(&Sum),
            Operator::<i32>::signature(&Product),
            Operator::<i32>::signature(&Min),
            Operator::<i32>::signature(&LogicalXor),
            Operator::<Pair<i32, i32>>::signature(&MaxLoc),
            OperatorSignature::user("gcd", true),
            OperatorSignature::user("gcd", false),
            OperatorSignature::user("lcm", true),
        ];
        assert_eq!(
            signatures.iter().collect::<BTreeSet<_>>().len(),
            signatures.len()
        );
        assert_eq!(signatures[4].to_string(), "maxloc");
        assert!(signatures[6].to_string().ends_with("(ordered)"));
        assert_eq!(
            OperatorSignature::from_code(99).to_string(),
            "unknown operator 99"
        );
        for signature in signatures {
            assert_eq!(OperatorSignature::from_code(signature.code()), signature);
        }
    }
}
