//! Tags: what the bits of a message's tag say, so that each meets its receive.
//!
//! ```text
//! high                                                                          low
//!   whether it is a signal, where there are windows │ sender's rank │ tag │ number, where there is no order │ signature
//!   │ whether it is cut, where there are several rails
//! ```
//!
//! A receive ignores the signature, and compares it when the message is there; so it does with the last bit, in which a part says
//! that the rest of its message goes over other rails. Where messages of a sender and a tag may overtake one another, as the
//! provider keeps no order or there are several rails, the n-th receive waits for the n-th message by its number.

use super::capabilities::Capabilities;
use super::error::OfiError;
use std::collections::HashMap;
use std::ops::Range;

/// How many bits a tag has at most, and at least: enough for 256 calls in each of 4,096 communicators, and for two calls.
const TAG_BITS: (u32, u32) = (27, 8);
/// Bits of a signature: at most, and how many are worth a shorter tag.
const SIGNATURE_BITS: (u32, u32) = (32, 16);
/// Bits of a number: as many messages of a sender and a tag can be under way.
const NUMBER_BITS: u32 = 12;

/// Where everything is in a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TagLayout {
    tag_bits: u32,
    number_bits: u32,
    signature_bits: u32,
    cut_bits: u32,
    /// The bit of signals, above all others, where there are such.
    signal: u64,
}

/// How many messages of each peer and tag there were.
#[derive(Debug, Default)]
pub(super) struct Numbers(HashMap<(u32, u32), u64>);

impl Numbers {
    /// Begins anew with these tags.
    pub(super) fn forget(&mut self, tags: &Range<u32>) {
        self.0.retain(|(_, tag), _| !tags.contains(tag));
    }
}

impl TagLayout {
    /// For so many ranks and rails, with what the provider has, and with a bit for signals or without.
    pub(super) fn new(
        capabilities: &Capabilities,
        ranks: u32,
        rails: usize,
        has_signals: bool,
    ) -> Result<TagLayout, OfiError> {
        let signal_bits = u32::from(has_signals);
        let rank_bits = u32::BITS - ranks.saturating_sub(1).leading_zeros();
        let cut_bits = u32::from(rails > 1);
        let number_bits = match capabilities.is_ordered && rails <= 1 {
            true => 0,
            false => NUMBER_BITS,
        };
        let (most, least) = TAG_BITS;
        let bits = capabilities.tag_bits;
        let others = signal_bits + rank_bits + number_bits + cut_bits;
        let rest = bits.saturating_sub(others);
        if rest < least {
            return Err(OfiError::FewTagBits {
                provider: capabilities.provider.clone(),
                bits,
                least: others + least,
                ranks,
            });
        }
        let tag_bits = rest.saturating_sub(SIGNATURE_BITS.1).clamp(least, most);
        let signature_bits = (rest - tag_bits).min(SIGNATURE_BITS.0);
        let all = rank_bits + tag_bits + number_bits + signature_bits + cut_bits;
        Ok(TagLayout {
            tag_bits,
            number_bits,
            signature_bits,
            cut_bits,
            signal: u64::from(has_signals) << (all % u64::BITS),
        })
    }

    /// The tag of every signal, and the bits that a receive for one ignores.
    pub(super) fn signals(&self) -> (u64, u64) {
        (self.signal, self.signal.saturating_sub(1))
    }

    /// How many tags there are.
    pub(super) fn tags(&self) -> u32 {
        1 << self.tag_bits
    }

    /// The bits that a receive ignores.
    pub(super) fn ignored(&self) -> u64 {
        (1 << (self.signature_bits + self.cut_bits)) - 1
    }

    /// The tag of a part: it says that its message is cut.
    pub(super) fn of_part(&self, tag: u64) -> u64 {
        tag | u64::from(self.cut_bits)
    }

    /// Whether a tag that came says that its message is cut.
    pub(super) fn is_part(&self, tag: u64) -> bool {
        tag & u64::from(self.cut_bits) != 0
    }

    /// What is left of a signature: nothing alone of none.
    pub(super) fn fold(&self, signature: u64) -> u64 {
        if signature == 0 || self.signature_bits == 0 {
            return 0;
        }
        // All bits count: those of a hash are alike, those of a test's small number are not.
        let mixed = signature.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (u64::BITS - self.signature_bits)).max(1)
    }

    /// The tag of a message of rank `from`.
    pub(super) fn pack(&self, from: u32, tag: u32, number: u64, folded: u64) -> u64 {
        let number = number & ((1 << self.number_bits) - 1);
        let above = u64::from(from) << self.tag_bits | u64::from(tag);
        ((above << self.number_bits | number) << self.signature_bits | folded) << self.cut_bits
    }

    /// Whether the signature in a tag that came differs from that in the receive's.
    pub(super) fn differ(&self, came: u64, wanted: u64) -> bool {
        let signature = |tag: u64| (tag & self.ignored()) >> self.cut_bits;
        let (came, wanted) = (signature(came), signature(wanted));
        came != wanted && came != 0 && wanted != 0
    }

    /// The number of the next message with a peer, where numbers are needed.
    pub(super) fn next(&self, numbers: &mut Numbers, peer: u32, tag: u32) -> u64 {
        if self.number_bits == 0 {
            return 0;
        }
        let next = numbers.0.entry((peer, tag)).or_default();
        *next += 1;
        *next
    }
}

#[cfg(test)]
pub(super) fn some_capabilities() -> Capabilities {
    Capabilities {
        provider: "some".into(),
        protocol: 1,
        address_format: 2,
        mr_mode: 0,
        key_bytes: 8,
        is_ordered: true,
        inject_bytes: 64,
        most_bytes: usize::MAX,
        tag_bits: 64,
        windows: None,
        breaks_when_closed: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(tag_bits: u32, is_ordered: bool, ranks: u32) -> Result<TagLayout, OfiError> {
        on_rails(1, tag_bits, is_ordered, ranks)
    }

    fn on_rails(
        rails: usize,
        tag_bits: u32,
        is_ordered: bool,
        ranks: u32,
    ) -> Result<TagLayout, OfiError> {
        let capabilities = Capabilities {
            tag_bits,
            is_ordered,
            ..some_capabilities()
        };
        TagLayout::new(&capabilities, ranks, rails, false)
    }

    #[test]
    fn tags_have_the_bits_that_there_are() {
        for (bits, is_ordered, ranks, right) in [
            (64, true, 65536, (27, 0, 21)),
            (64, false, 65536, (20, 12, 16)),
            (48, true, 1000, (22, 0, 16)),
            (48, false, 65536, (8, 12, 12)),
            (32, true, 256, (8, 0, 16)),
            (16, true, 2, (8, 0, 7)),
            (64, true, 1, (27, 0, 32)),
        ] {
            let layout = layout(bits, is_ordered, ranks).unwrap();
            let TagLayout {
                tag_bits,
                number_bits,
                signature_bits,
                cut_bits: 0,
                signal: 0,
            } = layout
            else {
                panic!("there is one rail");
            };
            assert_eq!((tag_bits, number_bits, signature_bits), right);
            let last = layout.pack(ranks - 1, layout.tags() - 1, u64::MAX, layout.ignored());
            assert!(bits == 64 || last < 1 << bits, "{bits}");
        }
        let said = layout(24, false, 300).unwrap_err().to_string();
        assert_eq!(
            said,
            "the provider some has tags of 24 bits, where 29 are needed for 300 ranks"
        );
    }

    #[test]
    fn signatures_differ_unless_there_is_none() {
        for bits in [64, 32, 16] {
            let layout = layout(bits, true, 4).unwrap();
            let tag = |signature| layout.pack(3, 7, 0, layout.fold(signature));
            assert!(layout.differ(tag(1), tag(2)) && layout.differ(tag(u64::MAX), tag(5)));
            assert!(!layout.differ(tag(9), tag(9)));
            assert!(!layout.differ(tag(0), tag(9)) && !layout.differ(tag(9), tag(0)));
            assert_eq!(tag(1) & !layout.ignored(), tag(2) & !layout.ignored());
        }
    }

    #[test]
    fn on_several_rails_messages_are_numbered_and_parts_say_what_they_are() {
        for (bits, is_ordered, ranks) in [(64, true, 65536), (48, false, 8), (24, true, 8)] {
            let layout = on_rails(2, bits, is_ordered, ranks).unwrap();
            assert_eq!(layout.number_bits, NUMBER_BITS);
            let last = layout.pack(ranks - 1, layout.tags() - 1, u64::MAX, layout.fold(77));
            let part = layout.of_part(last);
            assert!(!layout.is_part(last) && layout.is_part(part));
            assert_eq!(last & !layout.ignored(), part & !layout.ignored());
            assert!(!layout.differ(part, last) && !layout.differ(last, part));
            assert!(bits == 64 || part < 1 << bits);
        }
        assert!(on_rails(2, 23, true, 8).is_err() && layout(23, true, 8).is_ok());
        let one = layout(64, true, 8).unwrap();
        assert!(!one.is_part(one.of_part(u64::MAX)));
    }

    #[test]
    fn no_message_is_taken_for_a_signal() {
        for (bits, ranks, rails) in [(64, 65536, 1), (64, 65536, 16), (48, 7, 2), (18, 300, 1)] {
            let capabilities = Capabilities {
                tag_bits: bits,
                ..some_capabilities()
            };
            let layout = TagLayout::new(&capabilities, ranks, rails, true).unwrap();
            let (signal, ignored) = layout.signals();
            let last = layout.pack(ranks - 1, layout.tags() - 1, u64::MAX, layout.fold(5));
            assert!(bits == 64 || signal < 1 << bits);
            assert_eq!((signal.count_ones(), last & signal), (1, 0));
            assert_ne!((last ^ signal) & !ignored, 0);
            assert_eq!(
                signal & layout.ignored(),
                0,
                "no message's receive takes it"
            );
        }
        let few = Capabilities {
            tag_bits: 17,
            ..some_capabilities()
        };
        assert!(TagLayout::new(&few, 300, 1, true).is_err());
        assert!(TagLayout::new(&few, 300, 1, false).is_ok());
    }

    #[test]
    fn messages_are_numbered_where_they_may_overtake() {
        let mut numbers = Numbers::default();
        let layout = layout(64, false, 4).unwrap();
        let mut next = |peer, tag| layout.next(&mut numbers, peer, tag);
        assert_eq!(
            (next(1, 0), next(1, 0), next(1, 1), next(2, 0)),
            (1, 2, 1, 1)
        );
        assert_ne!(layout.pack(1, 0, 1, 0), layout.pack(1, 0, 2, 0));
    }
}
