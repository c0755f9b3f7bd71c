//! Loops over elements, shaped so that the compiler turns them into vector code.

use std::marker::PhantomData;

use super::{Combine, InstructionSet};
use crate::element::Element;
use crate::operator::Operator;

/// An element that may stand at any address.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Unaligned<T>(T);

/// A loop that can be compiled for any instruction set.
pub(super) trait Loop {
    /// # Safety
    ///
    /// As for [`Combine`].
    unsafe fn run(
        context: *const (),
        left: *const u8,
        right: *const u8,
        out: *mut u8,
        elements: usize,
    );
}

/// A loop, compiled for an instruction set.
pub(super) fn compiled<L: Loop>(set: InstructionSet) -> Combine {
    match set {
        InstructionSet::Baseline => baseline::<L>,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx2 => avx2::<L>,
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Avx512 | InstructionSet::Avx512Fp16 => avx512::<L>,
        #[cfg(not(target_arch = "x86_64"))]
        InstructionSet::Avx2 | InstructionSet::Avx512 | InstructionSet::Avx512Fp16 => baseline::<L>,
    }
}

macro_rules! compiled_for {
    ($($(#[$feature:meta])* $name:ident;)*) => {$(
        /// # Safety
        ///
        /// As for [`Combine`], on a processor with these instructions.
        $(#[$feature])*
        unsafe fn $name<L: Loop>(
            context: *const (),
            left: *const u8,
            right: *const u8,
            out: *mut u8,
            elements: usize,
        ) {
            // SAFETY: the caller's promises, word for word.
            unsafe { L::run(context, left, right, out, elements) }
        }
    )*};
}

compiled_for! {
    baseline;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    avx2;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
    avx512;
}

/// The loop over single elements for any operator, compiled for an instruction set.
pub(crate) fn each_element<T: Element, O: Operator<T>>(set: InstructionSet) -> Combine {
    compiled::<EachElement<T, O>>(set)
}

/// The loop over single elements of type `T`, whose context is an operator `O`.
struct EachElement<T, O>(PhantomData<(T, O)>);

impl<T: Element, O: Operator<T>> Loop for EachElement<T, O> {
    #[inline(always)]
    unsafe fn run(
        context: *const (),
        left: *const u8,
        right: *const u8,
        out: *mut u8,
        elements: usize,
    ) {
        // SAFETY: the caller promises that the context is an operator `O` that outlives the call.
        let operator = unsafe { &*context.cast::<O>() };
        // SAFETY: the caller's promises, word for word.
        unsafe { combine(operator, left, right, out, elements) }
    }
}

/// Bytes of a cache line, and of the widest vector.
const LINE_BYTES: usize = 64;

/// Operands of fewer bytes are combined where they stand: aligning would cost more than it gains.
const WORTH_ALIGNING_BYTES: usize = 2048;

/// Combines elements of type `T`.
///
/// # Safety
///
/// As for [`Kernel::combine`](super::Kernel::combine) with elements of type `T`.
#[inline(always)]
pub(super) unsafe fn combine<T: Element, O: Operator<T>>(
    operator: &O,
    left: *const u8,
    right: *const u8,
    out: *mut u8,
    elements: usize,
) {
    let left = left.cast::<Unaligned<T>>();
    let right = right.cast::<Unaligned<T>>();
    let out = out.cast::<Unaligned<T>>();
    let head = unaligned_elements::<T>(out.addr(), LINE_BYTES, elements);
    for (first, count) in [(0, head), (head, elements - head)] {
        if count == 0 {
            continue; // The pointers may be null.
        }
        // SAFETY: both parts lie within the promised length and are aliased as the whole is.
        unsafe {
            let (left, right, out) = (left.add(first), right.add(first), out.add(first));
            each_aliasing(operator, left, right, out, count);
        }
    }
}

/// How many elements to combine apart, so that the others are stored at multiples of so many
/// bytes and no store splits a cache line.
#[inline(always)]
pub(super) fn unaligned_elements<T>(
    address: usize,
    multiple_bytes: usize,
    elements: usize,
) -> usize {
    let bytes = size_of::<T>();
    if bytes == 0 || elements < WORTH_ALIGNING_BYTES.div_ceil(bytes) {
        return 0;
    }
    let head_bytes = address.wrapping_neg() % multiple_bytes;
    // If this does not divide, no element starts at such a multiple.
    if head_bytes.is_multiple_of(bytes) {
        head_bytes / bytes
    } else {
        0
    }
}

/// Combines in one of four loops. Each case of aliasing has its own, in which the compiler sees
/// that an element is stored where it was loaded; otherwise it would have to fear overlap, and
/// give up on vectors, exactly when `out` is an operand.
///
/// # Safety
///
/// As for [`each`], where `out` may be an operand.
#[inline(always)]
unsafe fn each_aliasing<T: Element, O: Operator<T>>(
    operator: &O,
    left: *const Unaligned<T>,
    right: *const Unaligned<T>,
    out: *mut Unaligned<T>,
    elements: usize,
) {
    let same = out.cast_const();
    // SAFETY: in each case the pointers are equal to those promised.
    unsafe {
        match (left.addr() == out.addr(), right.addr() == out.addr()) {
            (true, true) => each(operator, same, same, out, elements),
            (true, false) => each(operator, same, right, out, elements),
            (false, true) => each(operator, left, same, out, elements),
            (false, false) => each(operator, left, right, out, elements),
        }
    }
}

/// The loop.
///
/// # Safety
///
/// `left` and `right` are readable for `elements` valid values and `out` is writable for as many;
/// it is an operand or overlaps neither.
#[inline(always)]
unsafe fn each<T: Element, O: Operator<T>>(
    operator: &O,
    left: *const Unaligned<T>,
    right: *const Unaligned<T>,
    out: *mut Unaligned<T>,
    elements: usize,
) {
    for i in 0..elements {
        // SAFETY: `i` is within the promised length, and as an element is written only where it
        // was just read, if anywhere in an operand, those still to be read are as they were.
        // Unaligned<T> has alignment 1.
        unsafe {
            let (left, right) = (left.add(i).read().0, right.add(i).read().0);
            out.add(i).write(Unaligned(operator.combine(&left, &right)));
        }
    }
}
