//! Times that grow with a length.

/// A time of so much, and so much a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// For any length, in picoseconds.
    pub fixed_ps: u64,
    /// For each byte, in femtoseconds.
    pub per_byte_fs: u64,
}

impl Linear {
    /// The time for `bytes` bytes, in picoseconds, rounded up.
    #[inline]
    #[must_use]
    pub fn of(&self, bytes: u64) -> u64 {
        self.fixed_ps + (bytes * self.per_byte_fs).div_ceil(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_rounded_up_to_a_picosecond() {
        let time = Linear {
            fixed_ps: 5,
            per_byte_fs: 300,
        };
        assert_eq!([0, 1, 10, 11].map(|bytes| time.of(bytes)), [5, 6, 8, 9]);
    }
}
