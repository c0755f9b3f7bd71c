//! The target: where a window is for those that put into it, as its descriptor says.
//!
//! ```text
//! number │ first rail │ rails      length      where it begins      keys
//! ```
//!
//! A window has a key on every rail. They stand in one word, one behind the other, where they are short enough for that; where not, the
//! window is on one rail alone.

use crate::transport::net::Descriptor;

/// The bits of a window's number.
const NUMBER_BITS: u32 = 48;

/// What a descriptor says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) number: u64,
    pub(super) bytes: u64,
    /// What its provider counts as the address of its first byte.
    base: u64,
    first_rail: u8,
    rails: u8,
    keys: u64,
}

impl Target {
    /// A window that has these keys, on all rails from the first on; nothing if they do not fit.
    pub(super) fn on_all(
        number: u64,
        (base, bytes): (u64, u64),
        keys: impl ExactSizeIterator<Item = u64>,
    ) -> Option<Target> {
        let rails = keys.len() as u8;
        let bits = key_bits(rails);
        let mut all = 0;
        for (at, key) in (0..).zip(keys) {
            if bits < u64::BITS && key >> bits != 0 {
                return None;
            }
            all |= key << (at * bits);
        }
        Some(Target {
            number,
            bytes,
            base,
            first_rail: 0,
            rails,
            keys: all,
        })
    }

    /// A window on one rail.
    pub(super) fn on_one(number: u64, (base, bytes): (u64, u64), rail: usize, key: u64) -> Target {
        Target {
            number,
            bytes,
            base,
            first_rail: rail as u8,
            rails: 1,
            keys: key,
        }
    }

    pub(super) fn descriptor(&self) -> Descriptor {
        let rails = u64::from(self.first_rail) << NUMBER_BITS | u64::from(self.rails) << 56;
        Descriptor::of_words([self.number | rails, self.bytes, self.base, self.keys])
    }

    /// What a descriptor says; `None` if it is none for so many rails.
    pub(super) fn of(descriptor: &Descriptor, rails: usize) -> Option<Target> {
        let [first, bytes, base, keys] = descriptor.words();
        let target = Target {
            number: first & ((1 << NUMBER_BITS) - 1),
            bytes,
            base,
            first_rail: (first >> NUMBER_BITS) as u8,
            rails: (first >> 56) as u8,
            keys,
        };
        let is_one = target.rails == 1 && usize::from(target.first_rail) < rails;
        let is_all = usize::from(target.rails) == rails && target.first_rail == 0;
        (is_one || is_all).then_some(target)
    }

    /// Its only rail, if it is on one of several.
    pub(super) fn only_rail(&self) -> Option<usize> {
        (self.rails == 1).then_some(self.first_rail.into())
    }

    /// Where a byte of it is, for its provider.
    pub(super) fn address(&self, offset: usize) -> u64 {
        self.base.wrapping_add(offset as u64)
    }

    pub(super) fn key(&self, rail: usize) -> u64 {
        let bits = key_bits(self.rails);
        match self.rails {
            1 => self.keys,
            _ => self.keys >> (rail as u32 * bits) & ((1 << bits) - 1),
        }
    }
}

/// How long a key may be of each of so many.
fn key_bits(rails: u8) -> u32 {
    u64::BITS / u32::from(rails.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_again_on_as_many_rails_as_they_fit() {
        let base = 0xffff_8000_0000_0000;
        for keys in [&[u64::MAX][..], &[u32::MAX.into(), 7], &[1, 2, 3], &[9; 16]] {
            let all = Target::on_all(5, (base, 100), keys.iter().copied()).unwrap();
            let said = Target::of(&all.descriptor(), keys.len()).unwrap();
            assert_eq!(said, all);
            for (rail, key) in keys.iter().enumerate() {
                assert_eq!(said.key(rail), *key);
            }
            assert_eq!(said.address(100), base + 100);
            assert_eq!(said.only_rail(), (keys.len() == 1).then_some(0));
        }
        assert_eq!(Target::on_all(5, (0, 1), [1 << 32, 7].into_iter()), None);
        assert_eq!(Target::on_all(5, (0, 1), [16; 16].into_iter()), None);
        let one = Target::on_one((1 << NUMBER_BITS) - 1, (0, 1), 2, u64::MAX);
        let said = Target::of(&one.descriptor(), 3).unwrap();
        assert_eq!(
            (said, said.only_rail(), said.key(2)),
            (one, Some(2), u64::MAX)
        );
        assert_eq!(Target::of(&one.descriptor(), 2), None);
        let three = Target::on_all(0, (0, 1), [1; 3].into_iter()).unwrap();
        assert_eq!(Target::of(&three.descriptor(), 2), None);
        assert_eq!(Target::of(&Descriptor([0; Descriptor::BYTES]), 1), None);
    }
}
