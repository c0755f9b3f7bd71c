//! Loops for the 16-bit floats: combined as `f32` and rounded to nearest, ties to even.

#[cfg(target_arch = "x86_64")]
mod vector;

use std::marker::PhantomData;

use ::half::{bf16, f16};

use super::lanes::{self, Loop};
use super::{Combine, InstructionSet};
use crate::element::Element;
use crate::operator::{Operator, Product, Sum};

/// Sum or product, which differ in one instruction.
trait Arithmetic: Send + Sync + 'static {
    const PRODUCT: bool;

    #[inline(always)]
    fn apply(left: f32, right: f32) -> f32 {
        if Self::PRODUCT {
            left * right
        } else {
            left + right
        }
    }
}

impl Arithmetic for Sum {
    const PRODUCT: bool = false;
}

impl Arithmetic for Product {
    const PRODUCT: bool = true;
}

/// The loops of `bf16`.
pub(crate) mod bfloat16 {
    use super::{
        Combine, InstructionSet, Larger, Product, Smaller, Sum, arithmetic_bf16, bf16, of_order,
    };

    pub(crate) fn sum(set: InstructionSet) -> Combine {
        arithmetic_bf16::<Sum>(set)
    }

    pub(crate) fn product(set: InstructionSet) -> Combine {
        arithmetic_bf16::<Product>(set)
    }

    pub(crate) fn min(set: InstructionSet) -> Combine {
        of_order::<bf16, Smaller>(set)
    }

    pub(crate) fn max(set: InstructionSet) -> Combine {
        of_order::<bf16, Larger>(set)
    }
}

/// The loops of `f16`.
pub(crate) mod binary16 {
    use super::{
        Combine, InstructionSet, Larger, Product, Smaller, Sum, arithmetic_f16, f16, of_order,
    };

    pub(crate) fn sum(set: InstructionSet) -> Combine {
        arithmetic_f16::<Sum>(set)
    }

    pub(crate) fn product(set: InstructionSet) -> Combine {
        arithmetic_f16::<Product>(set)
    }

    pub(crate) fn min(set: InstructionSet) -> Combine {
        of_order::<f16, Smaller>(set)
    }

    pub(crate) fn max(set: InstructionSet) -> Combine {
        of_order::<f16, Larger>(set)
    }
}

/// Runs an operator that has no state, whatever the context.
struct Stateless<T, O>(PhantomData<(T, O)>);

impl<T: Element, O: Operator<T> + Default> Loop for Stateless<T, O> {
    #[inline(always)]
    unsafe fn run(_: *const (), left: *const u8, right: *const u8, out: *mut u8, elements: usize) {
        // SAFETY: the caller's promises, word for word.
        unsafe { lanes::combine::<T, O>(&O::default(), left, right, out, elements) }
    }
}

/// Sum or product of `bf16`.
fn arithmetic_bf16<A: Arithmetic>(set: InstructionSet) -> Combine {
    match set {
        InstructionSet::Baseline | InstructionSet::Avx2 => lanes::compiled::<BfloatPairs<A>>(set),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 | InstructionSet::Avx512Fp16 => vector::bf16_by_avx512::<A>,
        #[cfg(not(target_arch = "x86_64"))]
        InstructionSet::Avx512 | InstructionSet::Avx512Fp16 => {
            lanes::compiled::<BfloatPairs<A>>(set)
        }
    }
}

/// Adds or multiplies `bf16` two at a time, standing in one `u32`: one in the upper half is an
/// `f32` once the lower is cleared, and one in the lower half once it is shifted, so lanes never
/// change places.
struct BfloatPairs<A>(PhantomData<A>);

impl<A: Arithmetic> Loop for BfloatPairs<A> {
    #[inline(always)]
    unsafe fn run(_: *const (), left: *const u8, right: *const u8, out: *mut u8, elements: usize) {
        let pairs = elements / 2;
        // SAFETY: `pairs` u32 lie within `elements` bf16, aliased in the same way, and any bits
        // are a valid u32.
        unsafe { lanes::combine(&TwoBfloats::<A>(PhantomData), left, right, out, pairs) };
        if elements % 2 == 1 {
            let last = 4 * pairs;
            // SAFETY: the last element starts after all pairs and lies within the promised
            // length. A u16 of its bits goes through the upper half.
            unsafe {
                let upper = |side: *const u8| {
                    u32::from(side.add(last).cast::<u16>().read_unaligned()) << 16
                };
                let value = TwoBfloats::<A>::combine_bits(upper(left), upper(right));
                out.add(last)
                    .cast::<u16>()
                    .write_unaligned((value >> 16) as u16);
            }
        }
    }
}

/// The operator on two `bf16` in one `u32`.
struct TwoBfloats<A>(PhantomData<A>);

impl<A: Arithmetic> TwoBfloats<A> {
    #[inline(always)]
    fn combine_bits(left: u32, right: u32) -> u32 {
        let upper = |pair: u32| f32::from_bits(pair & 0xffff_0000);
        let lower = |pair: u32| f32::from_bits(pair << 16);
        let high = rounded_to_upper_half(A::apply(upper(left), upper(right)));
        let low = rounded_to_upper_half(A::apply(lower(left), lower(right)));
        high & 0xffff_0000 | low >> 16
    }
}

impl<A: Arithmetic> Operator<u32> for TwoBfloats<A> {
    #[inline(always)]
    fn combine(&self, left: &u32, right: &u32) -> u32 {
        Self::combine_bits(*left, *right)
    }

    fn commutative(&self) -> bool {
        true
    }
}

/// The bits of a result of arithmetic on `bf16`, rounded so that the upper half is a `bf16`.
#[inline(always)]
fn rounded_to_upper_half(value: f32) -> u32 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    // A NaN that arithmetic makes or hands on here has a lower half of zeros on these processors,
    // so rounding leaves its upper half alone. Elsewhere it could carry and turn into a number.
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) || !value.is_nan() {
        rounded
    } else {
        bits | 0x0040_0000
    }
}

/// A 16-bit float: a sign, an exponent and a fraction, from the top.
trait Bits16: Element {
    /// The bits of plus infinity, the largest that are no NaN.
    const INFINITY: u16;
    fn bits(self) -> u16;
}

impl Bits16 for f16 {
    const INFINITY: u16 = f16::INFINITY.to_bits();
    #[inline(always)]
    fn bits(self) -> u16 {
        self.to_bits()
    }
}

impl Bits16 for bf16 {
    const INFINITY: u16 = bf16::INFINITY.to_bits();
    #[inline(always)]
    fn bits(self) -> u16 {
        self.to_bits()
    }
}

fn of_order<T, O>(set: InstructionSet) -> Combine
where
    T: Element,
    O: Operator<T> + Default,
{
    lanes::compiled::<Stateless<T, O>>(set)
}

/// The bits as an integer in the order of the numbers: -0 is just below +0.
#[inline(always)]
fn ordered(bits: u16) -> u16 {
    let negative = (bits.cast_signed() >> 15).cast_unsigned();
    bits ^ negative & 0x7fff
}

/// Min by integers: counted down from infinity, a NaN of either sign comes last, and wins.
#[derive(Default)]
struct Smaller;

impl<T: Bits16> Operator<T> for Smaller {
    #[inline(always)]
    fn combine(&self, left: &T, right: &T) -> T {
        let rank = |value: &T| ordered(T::INFINITY).wrapping_sub(ordered(value.bits()));
        if rank(left) >= rank(right) {
            *left
        } else {
            *right
        }
    }

    fn commutative(&self) -> bool {
        true
    }
}

/// Max by integers: counted up from minus infinity, a NaN of either sign comes last, and wins.
#[derive(Default)]
struct Larger;

impl<T: Bits16> Operator<T> for Larger {
    #[inline(always)]
    fn combine(&self, left: &T, right: &T) -> T {
        let rank = |value: &T| ordered(value.bits()).wrapping_sub(ordered(T::INFINITY | 0x8000));
        if rank(left) >= rank(right) {
            *left
        } else {
            *right
        }
    }

    fn commutative(&self) -> bool {
        true
    }
}

/// Sum or product of `f16` by the conversions, or the arithmetic, that the processor has.
fn arithmetic_f16<A: Arithmetic>(set: InstructionSet) -> Combine {
    match set {
        InstructionSet::Baseline => lanes::compiled::<Stateless<f16, ByBits<A>>>(set),
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => vector::f16_by_f16c::<A>,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 => vector::f16_by_avx512::<A>,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512Fp16 => vector::f16_by_avx512fp16::<A>,
        #[cfg(not(target_arch = "x86_64"))]
        InstructionSet::Avx2 | InstructionSet::Avx512 | InstructionSet::Avx512Fp16 => {
            lanes::compiled::<Stateless<f16, ByBits<A>>>(set)
        }
    }
}

/// Sum or product of `f16` with conversions in integer instructions, without branches.
struct ByBits<A>(PhantomData<A>);

impl<A> Default for ByBits<A> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<A: Arithmetic> Operator<f16> for ByBits<A> {
    #[inline(always)]
    fn combine(&self, left: &f16, right: &f16) -> f16 {
        f16_of(A::apply(f32_of(*left), f32_of(*right)))
    }

    fn commutative(&self) -> bool {
        true
    }
}

/// Widens exactly: the exponent is corrected by a multiplication, which is right for subnormals
/// too.
#[inline(always)]
fn f32_of(half: f16) -> f32 {
    let bits = u32::from(half.to_bits());
    let magnitude = (bits & 0x7fff) << 13;
    // The exponents' biases differ by 127 - 15 = 112.
    let two_to_112 = f32::from_bits((127 + 112) << 23);
    let finite = (f32::from_bits(magnitude) * two_to_112).to_bits();
    let special = if magnitude >= 0x7c00 << 13 {
        0xff << 23
    } else {
        0
    };
    f32::from_bits(finite | special | (bits & 0x8000) << 16)
}

/// Narrows to nearest, ties to even.
#[inline(always)]
fn f16_of(value: f32) -> f16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let normal = magnitude
        .wrapping_sub(112 << 23)
        .wrapping_add(0xfff + (magnitude >> 13 & 1))
        >> 13;
    // Below the smallest normal f16, 2^-14: a unit in the last place of one half is 2^-24, that
    // of a subnormal f16, so the addition rounds to a whole number of them.
    let subnormal = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0.5_f32.to_bits());
    let finite = if magnitude < 113 << 23 {
        subnormal
    } else {
        normal
    };
    let special = if magnitude > 0xff << 23 {
        0x7e00
    } else {
        0x7c00
    };
    // From 2^16 on; what rounds up to 2^16 carried into infinity above.
    let narrowed = if magnitude >= (127 + 16) << 23 {
        special
    } else {
        finite
    };
    f16::from_bits((narrowed | bits >> 16 & 0x8000) as u16)
}
