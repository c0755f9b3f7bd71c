//! Aligned memory: zeroed bytes that start on a cache line.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// The alignment in bytes: a cache line, and more than any element type or vector register asks for.
const ALIGN: usize = 64;

/// Owned bytes that start on a cache line; used through raw addresses, as peers may write them.
///
/// Pages come from the system when they are first touched, by the rank that touches them.
#[derive(Debug)]
pub struct AlignedBytes {
    address: NonNull<u8>,
    bytes: usize,
}

// SAFETY: plain bytes; the address only says where. Accesses through it are each caller's argument.
unsafe impl Send for AlignedBytes {}
// SAFETY: as above.
unsafe impl Sync for AlignedBytes {}

impl AlignedBytes {
    /// `bytes` zeros.
    #[must_use]
    pub fn zeroed(bytes: usize) -> AlignedBytes {
        let Some(layout) = layout(bytes) else {
            let address = NonNull::without_provenance(ALIGN_NONZERO);
            return AlignedBytes { address, bytes: 0 };
        };
        // SAFETY: the layout's size is not zero.
        let address = unsafe { alloc_zeroed(layout) };
        let address = NonNull::new(address).unwrap_or_else(|| handle_alloc_error(layout));
        AlignedBytes { address, bytes }
    }

    /// The first byte; all of them may be written through it while the value lives.
    #[must_use]
    pub fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    /// How many bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

const ALIGN_NONZERO: std::num::NonZeroUsize = std::num::NonZeroUsize::new(ALIGN).unwrap();

/// The allocation for `bytes` bytes; `None` for none.
fn layout(bytes: usize) -> Option<Layout> {
    let layout = Layout::from_size_align(bytes, ALIGN);
    (bytes > 0).then(|| layout.unwrap_or_else(|_| handle_alloc_error(Layout::new::<u8>())))
}

impl Drop for AlignedBytes {
    fn drop(&mut self) {
        if let Some(layout) = layout(self.bytes) {
            // SAFETY: allocated in `zeroed` with this very layout.
            unsafe { dealloc(self.address.as_ptr(), layout) };
        }
    }
}
