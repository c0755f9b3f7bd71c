//! Vectors of 16-bit floats in the instructions of x86-64.

use std::arch::x86_64::{
    __m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128,
    _mm256_add_ps, _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_loadu_si256, _mm256_mul_ps,
    _mm256_storeu_si256, _mm512_add_ph, _mm512_add_ps, _mm512_and_si512, _mm512_castph_si512,
    _mm512_castps_si512, _mm512_castsi512_ph, _mm512_castsi512_ps, _mm512_cmpge_epu16_mask,
    _mm512_cvtph_ps, _mm512_cvtps_ph, _mm512_loadu_si512, _mm512_mask_blend_epi16,
    _mm512_mask_sub_epi16, _mm512_mul_ph, _mm512_mul_ps, _mm512_set1_epi16, _mm512_set1_epi32,
    _mm512_slli_epi32, _mm512_srli_epi32, _mm512_storeu_si512, _mm512_ternarylogic_epi32,
};

use super::Arithmetic;
use crate::kernel::lanes::unaligned_elements;

/// Combines vectors of `BYTES` bytes of 16-bit elements, and what is left over through copies.
///
/// # Safety
///
/// As for [`Combine`](crate::kernel::Combine) on 16-bit elements. `combine` reads a vector at
/// each of its first two arguments, and then writes one at the third; it needs no alignment.
#[inline(always)]
unsafe fn each_vector<const BYTES: usize>(
    left: *const u8,
    right: *const u8,
    out: *mut u8,
    elements: usize,
    combine: impl Fn(*const u8, *const u8, *mut u8),
) {
    let partial = |at: usize, bytes: usize| {
        if bytes == 0 {
            return; // The pointers may be null.
        }
        let mut operands = [[0_u8; BYTES]; 2];
        let mut result = [0_u8; BYTES];
        // SAFETY: called below with parts of the promised length of less than BYTES; the arrays
        // are new, so nothing overlaps.
        unsafe {
            operands[0]
                .as_mut_ptr()
                .copy_from_nonoverlapping(left.add(at), bytes);
            operands[1]
                .as_mut_ptr()
                .copy_from_nonoverlapping(right.add(at), bytes);
            combine(
                operands[0].as_ptr(),
                operands[1].as_ptr(),
                result.as_mut_ptr(),
            );
            out.add(at).copy_from_nonoverlapping(result.as_ptr(), bytes);
        }
    };
    let bytes = 2 * elements;
    let head = 2 * unaligned_elements::<u16>(out.addr(), BYTES, elements);
    partial(0, head);
    let whole = (bytes - head) / BYTES;
    for vector in 0..whole {
        let at = head + vector * BYTES;
        // SAFETY: the vector lies within the promised length. As both operands are read before
        // it is written, `out` may be an operand.
        unsafe { combine(left.add(at), right.add(at), out.add(at)) };
    }
    let at = head + whole * BYTES;
    partial(at, bytes - at);
}

/// Defines a loop by what it does with one vector.
macro_rules! vector_loop {
    (
        $(#[$doc:meta])* $name:ident, $bytes:literal, $features:literal, $load:ident, $store:ident,
        |$left:ident, $right:ident| $combined:expr
    ) => {
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// As for [`Combine`](crate::kernel::Combine) on the 16-bit type, on a processor with
        /// these instructions.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<A: Arithmetic>(
            _: *const (),
            left: *const u8,
            right: *const u8,
            out: *mut u8,
            elements: usize,
        ) {
            let combine = |left: *const u8, right: *const u8, out: *mut u8| {
                // SAFETY: called with addresses of whole vectors.
                let ($left, $right) = unsafe { ($load(left.cast()), $load(right.cast())) };
                let combined = $combined;
                // SAFETY: as above.
                unsafe { $store(out.cast(), combined) };
            };
            // SAFETY: the caller's promises; the closure reads and writes as it must.
            unsafe { each_vector::<$bytes>(left, right, out, elements, combine) }
        }
    };
}

vector_loop!(
    /// `f16` by way of `f32`, eight at a time.
    f16_by_f16c, 16, "avx2,fma,f16c", _mm_loadu_si128, _mm_storeu_si128,
    |left, right| {
        let (left, right) = (_mm256_cvtph_ps(left), _mm256_cvtph_ps(right));
        let wide =
            if A::PRODUCT { _mm256_mul_ps(left, right) } else { _mm256_add_ps(left, right) };
        _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide)
    }
);

vector_loop!(
    /// `f16` by way of `f32`, sixteen at a time.
    f16_by_avx512, 32, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c",
    _mm256_loadu_si256, _mm256_storeu_si256,
    |left, right| {
        let (left, right) = (_mm512_cvtph_ps(left), _mm512_cvtph_ps(right));
        let wide =
            if A::PRODUCT { _mm512_mul_ps(left, right) } else { _mm512_add_ps(left, right) };
        _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(wide)
    }
);

vector_loop!(
    /// `f16` in its own arithmetic. Sums and products rounded once equal those rounded to `f32`
    /// first, as `f32` has at least twice the digits and two (S. A. Figueroa, When is double
    /// rounding innocuous?, 1995).
    f16_by_avx512fp16, 64, "avx512fp16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c",
    _mm512_loadu_si512, _mm512_storeu_si512,
    |left, right| {
        let (left, right) = (_mm512_castsi512_ph(left), _mm512_castsi512_ph(right));
        let rounded =
            if A::PRODUCT { _mm512_mul_ph(left, right) } else { _mm512_add_ph(left, right) };
        _mm512_castph_si512(rounded)
    }
);

vector_loop!(
    /// `bf16` by way of `f32`: those of odd and of even place apart, rounded together.
    bf16_by_avx512, 64, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c",
    _mm512_loadu_si512, _mm512_storeu_si512,
    |left, right| {
        let odd = |pairs| _mm512_and_si512(pairs, _mm512_set1_epi32(0xffff_0000_u32.cast_signed()));
        let even = |pairs| _mm512_slli_epi32::<16>(pairs);
        let apply = |left: __m512i, right: __m512i| {
            let (left, right) = (_mm512_castsi512_ps(left), _mm512_castsi512_ps(right));
            _mm512_castps_si512(
                if A::PRODUCT { _mm512_mul_ps(left, right) } else { _mm512_add_ps(left, right) },
            )
        };
        let (odd, even) = (apply(odd(left), odd(right)), apply(even(left), even(right)));
        // The upper halves are the results cut off, the lower halves what was cut off.
        let in_odd_places = 0xaaaa_aaaa;
        let upper = _mm512_mask_blend_epi16(in_odd_places, _mm512_srli_epi32::<16>(even), odd);
        let lower = _mm512_mask_blend_epi16(in_odd_places, even, _mm512_slli_epi32::<16>(odd));
        // Rounded up from 0x8000, one half, if the result cut off is odd, else from 0x8001.
        let up_from = _mm512_ternarylogic_epi32::<ROUND_UP_FROM>(
            upper,
            _mm512_set1_epi16(1),
            _mm512_set1_epi16(0x8000_u16.cast_signed()),
        );
        let up = _mm512_cmpge_epu16_mask(lower, up_from);
        // A NaN of arithmetic on bf16 has nothing cut off, so it stays one.
        _mm512_mask_sub_epi16(upper, up, upper, _mm512_set1_epi16(-1))
    }
);

/// The truth table of (not a and b) or c: bit 4a + 2b + c says what the operands a, b, c give.
const ROUND_UP_FROM: i32 = 0b1010_1110;
