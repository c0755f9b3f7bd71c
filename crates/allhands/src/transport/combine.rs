//! The reduction kernel as transports see it: type and operator erased to one function.

/// Combines two runs of elements, `out[i] = left[i] ⊕ right[i]`.
///
/// The arguments are the context, left, right, out and the number of elements.
pub type CombineFn = unsafe fn(*const (), *const u8, *const u8, *mut u8, usize);

/// An operator on elements of one type, erased.
#[derive(Clone, Copy, Debug)]
pub struct Combine {
    element_bytes: usize,
    function: CombineFn,
    context: *const (),
}

// SAFETY: whoever makes a value promises that it may be used from whatever thread (see `new`).
unsafe impl Send for Combine {}
// SAFETY: as above.
unsafe impl Sync for Combine {}

impl Combine {
    /// An operator on elements of `element_bytes` bytes.
    ///
    /// # Safety
    /// For as long as the value or a copy of it is used, and from whatever thread, `function` called
    /// with `context` must be sound on any three runs of that many elements that are aligned for the
    /// element: left and right readable, out writable and either apart from each of them or the same.
    /// It must not depend on the lengths of the runs into which a vector is cut.
    #[must_use]
    pub const unsafe fn new(
        element_bytes: usize,
        function: CombineFn,
        context: *const (),
    ) -> Combine {
        Combine {
            element_bytes,
            function,
            context,
        }
    }

    /// The size of an element in bytes.
    pub(crate) fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    /// Writes left ⊕ right to `out`, `bytes` bytes of each.
    ///
    /// # Safety
    /// `bytes` is a whole number of elements; `left` and `right` are readable and `out` writable for
    /// that many, aligned for the element; `out` is apart from each of them or the same.
    #[inline]
    pub(crate) unsafe fn run(&self, left: *const u8, right: *const u8, out: *mut u8, bytes: usize) {
        debug_assert_eq!(bytes % self.element_bytes, 0, "whole elements");
        // SAFETY: the caller's promise about the runs is what the maker of this value asked for.
        unsafe { (self.function)(self.context, left, right, out, bytes / self.element_bytes) }
    }
}
