//! Instruction sets: which vector instructions a kernel's loop is compiled for.

/// The vector instructions that a kernel's loop is compiled for, from narrow to wide.
///
/// All give the same bits; they differ in speed. On processors other than x86-64 there is the
/// baseline only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    /// What every processor of the compiled target has.
    Baseline,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL, and all of [`Avx2`](Self::Avx2).
    Avx512,
    /// x86-64 with AVX-512 FP16, and all of [`Avx512`](Self::Avx512).
    Avx512Fp16,
}

impl InstructionSet {
    /// All of them, from narrow to wide.
    pub const ALL: [Self; 4] = [Self::Baseline, Self::Avx2, Self::Avx512, Self::Avx512Fp16];

    /// The widest that this processor has.
    #[must_use]
    #[inline]
    pub fn best() -> Self {
        use std::sync::atomic::{AtomicU8, Ordering};
        /// One more than its place in `ALL`; 0: not looked for yet.
        static BEST: AtomicU8 = AtomicU8::new(0);
        match BEST.load(Ordering::Relaxed) {
            0 => {
                let available = |set: &Self| set.available();
                let place = Self::ALL.iter().rposition(available).unwrap_or(0);
                BEST.store(place as u8 + 1, Ordering::Relaxed);
                Self::ALL[place]
            }
            place => Self::ALL[usize::from(place) - 1],
        }
    }

    /// Whether this processor has it. The answer is remembered by the standard library.
    #[must_use]
    #[cfg(target_arch = "x86_64")]
    pub fn available(self) -> bool {
        use std::arch::is_x86_feature_detected as has;
        match self {
            Self::Baseline => true,
            Self::Avx2 => has!("avx2") && has!("fma") && has!("f16c"),
            Self::Avx512 => {
                Self::Avx2.available()
                    && has!("avx512f")
                    && has!("avx512bw")
                    && has!("avx512dq")
                    && has!("avx512vl")
            }
            Self::Avx512Fp16 => Self::Avx512.available() && has!("avx512fp16"),
        }
    }

    /// Whether this processor has it.
    #[must_use]
    #[cfg(not(target_arch = "x86_64"))]
    pub fn available(self) -> bool {
        self == Self::Baseline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_baseline_is_always_there_and_wider_sets_include_narrower_ones() {
        assert!(InstructionSet::Baseline.available());
        for set in InstructionSet::ALL {
            assert_eq!(set.available(), set <= InstructionSet::best());
        }
    }
}
