//! An observer that asks for memory ahead, without waiting for it, where the processor can.

use allhands_core::simulate::Observer;

/// Looks at nothing.
pub struct Soon;

impl Observer for Soon {
    #[inline]
    fn soon<T>(what: &T, _: impl FnOnce(&T) -> usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch is a hint that reads nothing and never faults, and every x86-64 has it.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(what).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = what;
    }
}
