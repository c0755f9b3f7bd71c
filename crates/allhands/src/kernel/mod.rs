//! Kernels: reduction loops with the element type and the operator erased.

pub(crate) mod half;
mod instruction_set;
mod lanes;
pub mod reference;

pub use instruction_set::InstructionSet;
pub(crate) use lanes::each_element;

use std::fmt;
use std::marker::PhantomData;

use crate::element::Element;
use crate::operator::Operator;

/// The loop of a kernel: `out[i] = left[i] op right[i]` for `i` below the last argument, the
/// number of elements. The first argument is the kernel's context.
///
/// # Safety
///
/// As for [`Kernel::combine`], and the context must be the one the loop was made for.
pub type Combine = unsafe fn(*const (), *const u8, *const u8, *mut u8, usize);

/// What operators tell kernels. The module is private so that other crates, which cannot name
/// its types, cannot hand a kernel a loop of the wrong element type.
pub(crate) mod sealed {
    use super::{Combine, InstructionSet};

    /// Proof that the caller is this crate.
    pub struct Seal(pub(super) ());

    /// Gives the loop for an instruction set that the processor has.
    pub type SelectLoop = fn(InstructionSet) -> Combine;
}

/// Combines two slices by the loop that collectives take: `out[i] = left[i] op right[i]`.
///
/// ```
/// let mut out = [0; 2];
/// allhands::kernel::combine(&allhands::operator::Max, &[1, 5], &[4, 2], &mut out);
/// assert_eq!(out, [4, 5]);
/// ```
///
/// # Panics
///
/// If the slices are not equally long.
pub fn combine<T: Element, O: Operator<T>>(operator: &O, left: &[T], right: &[T], out: &mut [T]) {
    assert!(
        left.len() == out.len() && right.len() == out.len(),
        "slices of {}, {} and {} elements; right would be the same length",
        left.len(),
        right.len(),
        out.len()
    );
    let [left_bytes, right_bytes] = [left, right].map(|side| side.as_ptr().cast());
    // SAFETY: all three have as many elements of the kernel's type, and `out`, which is borrowed mutably, overlaps neither operand.
    unsafe {
        Kernel::of(operator).combine(left_bytes, right_bytes, out.as_mut_ptr().cast(), out.len());
    }
}

/// A reduction loop that knows neither its element type nor its operator.
///
/// Made once for a call by [`Kernel::of`], which also chooses the best instruction set of the
/// processor, so that combining is one indirect call. The lifetime is that of the borrowed
/// operator.
///
/// ```
/// use allhands::kernel::Kernel;
/// use allhands::operator::Sum;
///
/// let kernel = Kernel::of::<f32, _>(&Sum);
/// let (left, mut right) = ([1.0_f32, 2.0, 3.0], [10.0_f32, 20.0, 30.0]);
/// let out = right.as_mut_ptr().cast();
/// // SAFETY: both arrays hold three f32, and `out` is exactly `right`.
/// unsafe { kernel.combine(left.as_ptr().cast(), out, out, 3) };
/// assert_eq!(right, [11.0, 22.0, 33.0]);
/// ```
#[derive(Clone, Copy)]
pub struct Kernel<'a> {
    element_bytes: usize,
    combine: Combine,
    context: *const (),
    operator: PhantomData<&'a ()>,
}

// SAFETY: a kernel gives access to its operator by shared reference only. `of` takes operators
// that are Sync, as the trait demands, and `from_raw_parts` has its caller promise the same.
unsafe impl Send for Kernel<'_> {}
// SAFETY: as for Send.
unsafe impl Sync for Kernel<'_> {}

impl<'a> Kernel<'a> {
    /// The kernel of an operator on elements of type `T`, in the best instruction set that this
    /// processor has.
    #[must_use]
    pub fn of<T: Element, O: Operator<T>>(operator: &'a O) -> Self {
        Self::in_set::<T, O>(operator, InstructionSet::best())
    }

    /// The same kernel in a given instruction set, to compare them; `None` if this processor
    /// does not have it.
    #[must_use]
    pub fn with_instruction_set<T: Element, O: Operator<T>>(
        operator: &'a O,
        set: InstructionSet,
    ) -> Option<Self> {
        set.available().then(|| Self::in_set::<T, O>(operator, set))
    }

    /// Only for sets that the processor has.
    fn in_set<T: Element, O: Operator<T>>(operator: &'a O, set: InstructionSet) -> Self {
        Self {
            element_bytes: size_of::<T>(),
            combine: O::select_loop(sealed::Seal(()))(set),
            context: std::ptr::from_ref(operator).cast(),
            operator: PhantomData,
        }
    }

    /// A kernel from a foreign loop, such as the reduction function of another library.
    ///
    /// # Safety
    ///
    /// For as long as `'a`, and from any thread, `combine` called with `context` must be sound
    /// whenever the conditions of [`Kernel::combine`] hold for elements of `element_bytes` bytes
    /// of the type that this kernel is used with.
    #[must_use]
    pub const unsafe fn from_raw_parts(
        element_bytes: usize,
        combine: Combine,
        context: *const (),
    ) -> Self {
        Self {
            element_bytes,
            combine,
            context,
            operator: PhantomData,
        }
    }

    /// The kernel without its lifetime, for transports.
    ///
    /// # Safety
    ///
    /// The operator that the kernel borrows outlives every use of the result.
    #[must_use]
    pub(crate) unsafe fn erase(self) -> crate::transport::Combine {
        // SAFETY: the loop is sound on any runs of valid elements, aligned or not, with the context it was made for,
        // from any thread as operators are Sync; it goes element by element. The caller keeps the operator alive.
        unsafe { crate::transport::Combine::new(self.element_bytes, self.combine, self.context) }
    }

    /// Bytes of one element.
    #[must_use]
    pub const fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    /// Combines `elements` elements: `out[i] = left[i] op right[i]`.
    ///
    /// Nothing needs to be aligned, and nothing is touched when `elements` is 0. A panic inside a
    /// user's operator unwinds out of this call and leaves in `out` some results and otherwise
    /// what stood there.
    ///
    /// # Safety
    ///
    /// - `left` and `right` are readable and `out` is writable for `elements` ×
    ///   [`element_bytes`](Self::element_bytes) bytes, and nobody else writes what is read or
    ///   touches what is written during the call.
    /// - `out` is exactly `left`, exactly `right`, both, or overlaps neither.
    /// - `left` and `right` hold valid values of the element type; see
    ///   [`arrival_check`](crate::element::arrival_check).
    #[inline]
    pub unsafe fn combine(&self, left: *const u8, right: *const u8, out: *mut u8, elements: usize) {
        // SAFETY: the caller's promises are those that the loop asks for, and the context is the
        // loop's own operator, which `'a` keeps alive.
        unsafe { (self.combine)(self.context, left, right, out, elements) }
    }
}

impl fmt::Debug for Kernel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("element_bytes", &self.element_bytes)
            .finish_non_exhaustive()
    }
}
