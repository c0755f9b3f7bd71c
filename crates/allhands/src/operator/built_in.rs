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
    /// The smaller one. A NaN loses against a number, and -0 is below +0, so the result depends
    /// on no order; of two NaNs the result is a NaN.
    3 Min "min";
    /// The larger one. A NaN loses against a number, and +0 is above -0, so the result depends on
    /// no order; of two NaNs the result is a NaN.
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
    /// The [`Pair`] of the smaller value; of equal values that of the lower index. A NaN loses
    /// against a number and equals another NaN; -0 equals +0.
    11 MinLoc "minloc";
    /// The [`Pair`] of the larger value; of equal values that of the lower index. A NaN loses
    /// against a number and equals another NaN; -0 equals +0.
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
macro_rules! float_extremes {
    ($($float:ident $min:ident $max:ident;)*) => {$(
        #[inline(always)]
        fn $min(a: $float, b: $float) -> $float {
            let smaller = if (a < b) | b.is_nan() { a } else { b };
            // Equal numbers have equal bits but for the sign of zero; or keeps a minus.
            if a == b { $float::from_bits(a.to_bits() | b.to_bits()) } else { smaller }
        }

        #[inline(always)]
        fn $max(a: $float, b: $float) -> $float {
            let larger = if (a > b) | b.is_nan() { a } else { b };
            // Equal numbers have equal bits but for the sign of zero; and drops a minus.
            if a == b { $float::from_bits(a.to_bits() & b.to_bits()) } else { larger }
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

/// Minloc and maxloc of pairs, where `$nan` says whether a value loses against any number.
macro_rules! locations {
    ($($value:ident $index:ident, |$v:ident| $nan:expr;)*) => {$(
        combine!(
            MinLoc for Pair<$value, $index>: |a, b| {
                let nan = |$v: $value| $nan;
                let a_wins = (a.value < b.value) | (nan(b.value) & !nan(a.value));
                let b_wins = (b.value < a.value) | (nan(a.value) & !nan(b.value));
                if a_wins | (!b_wins & (a.index <= b.index)) { *a } else { *b }
            };
        );
        combine!(
            MaxLoc for Pair<$value, $index>: |a, b| {
                let nan = |$v: $value| $nan;
                let a_wins = (a.value > b.value) | (nan(b.value) & !nan(a.value));
                let b_wins = (b.value > a.value) | (nan(a.value) & !nan(b.value));
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
