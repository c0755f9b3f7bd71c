//! Loops over elements, shaped so that the compiler turns them into vector code.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

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

/// Combines in one of four loops. Each case of aliasing has its own, as a compiler that must
/// fear overlap gives up on vectors exactly when `out` is an operand.
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
    if elements == 0 {
        return; // The pointers may be null.
    }
    let left = left.cast::<Unaligned<T>>();
    let right = right.cast::<Unaligned<T>>();
    let out = out.cast::<Unaligned<T>>();
    let in_left = left.addr() == out.addr();
    let in_right = right.addr() == out.addr();
    if in_left && in_right {
        for i in 0..elements {
            // SAFETY: `i` is within the promised length, and `out` holds a valid element.
            unsafe {
                let value = out.add(i).read().0;
                out.add(i)
                    .write(Unaligned(operator.combine(&value, &value)));
            }
        }
    } else if in_left {
        // SAFETY: `out` holds valid elements as `left` does, and `right` does not overlap it, so
        // the unique and the shared slice are apart. Unaligned<T> has alignment 1.
        let (out, right) = unsafe { slices(out, right, elements) };
        for (out, &Unaligned(right)) in out.iter_mut().zip(right) {
            *out = Unaligned(operator.combine(&{ out.0 }, &right));
        }
    } else if in_right {
        // SAFETY: as above with the sides exchanged.
        let (out, left) = unsafe { slices(out, left, elements) };
        for (out, &Unaligned(left)) in out.iter_mut().zip(left) {
            *out = Unaligned(operator.combine(&left, &{ out.0 }));
        }
    } else {
        // SAFETY: `out` overlaps neither operand; it may be uninitialised, which MaybeUninit
        // allows. Both operands are only read, so they may overlap each other.
        let (out, left) = unsafe { slices(out.cast::<MaybeUninit<_>>(), left, elements) };
        // SAFETY: `right` is readable for this length.
        let right = unsafe { std::slice::from_raw_parts(right, elements) };
        for ((out, &Unaligned(left)), &Unaligned(right)) in out.iter_mut().zip(left).zip(right) {
            out.write(Unaligned(operator.combine(&left, &right)));
        }
    }
}

/// Two slices of one length.
///
/// # Safety
///
/// `out` is valid for writes and `operand` for reads of `elements` valid values, and they do not
/// overlap.
#[inline(always)]
unsafe fn slices<'a, W, R>(
    out: *mut W,
    operand: *const R,
    elements: usize,
) -> (&'a mut [W], &'a [R]) {
    // SAFETY: the caller's promise.
    unsafe {
        (
            std::slice::from_raw_parts_mut(out, elements),
            std::slice::from_raw_parts(operand, elements),
        )
    }
}
