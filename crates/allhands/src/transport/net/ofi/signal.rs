//! The signal: the small message in which ranks tell one another of windows.

use crate::transport::net::SignedCall;

/// The length in bytes: few enough to be copied by every provider that copies anything.
pub(super) const SIGNAL_BYTES: usize = 40;

/// What is told of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Who has put into it raises this flag, for the n-th time, in so many signals: all is there that went before each, its way.
    Raised {
        flag: u16,
        number: u64,
        parts: u8,
        by: SignedCall,
    },
    /// Its owner wants no more of it, nor of any with a number below `least`.
    Withdrawn { least: u64 },
    /// Nothing comes any more of who has put into it, as so many signals say.
    Gone { parts: u8 },
}

/// What one rank tells another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    pub(super) from: u32,
    pub(super) window: u64,
    pub(super) news: News,
}

impl Signal {
    pub(super) fn encode(&self) -> [u8; SIGNAL_BYTES] {
        let (kind, parts, flag, [first, second, third]) = match self.news {
            News::Raised {
                flag,
                number,
                parts,
                by,
            } => (1_u8, parts, flag, [number, by.call, by.signature]),
            News::Withdrawn { least } => (2, 0, 0, [least, 0, 0]),
            News::Gone { parts } => (3, parts, 0, [0; 3]),
        };
        let small = u64::from(self.from)
            | u64::from(flag) << 32
            | u64::from(kind) << 48
            | u64::from(parts) << 56;
        let mut bytes = [0; SIGNAL_BYTES];
        let words = [self.window, small, first, second, third];
        for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        bytes
    }

    /// The signal in these bytes; `None` if they are none.
    pub(super) fn decode(bytes: &[u8; SIGNAL_BYTES]) -> Option<Signal> {
        let mut words = [0; SIGNAL_BYTES / 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [window, small, first, call, signature] = words;
        let (flag, kind, parts) = (
            (small >> 32) as u16,
            (small >> 48) as u8,
            (small >> 56) as u8,
        );
        let news = match (kind, parts) {
            (1, 1..) => News::Raised {
                flag,
                number: first,
                parts,
                by: SignedCall { call, signature },
            },
            (2, _) => News::Withdrawn { least: first },
            (3, 1..) => News::Gone { parts },
            _ => return None,
        };
        Some(Signal {
            from: small as u32,
            window,
            news,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_survives_encoding_and_nothing_else_does() {
        let by = SignedCall {
            call: 1 << 60,
            signature: u64::MAX - 3,
        };
        let raised = News::Raised {
            flag: 0xabcd,
            number: 77,
            parts: 16,
            by,
        };
        for news in [
            raised,
            News::Withdrawn { least: 5 },
            News::Gone { parts: 2 },
        ] {
            let signal = Signal {
                from: u32::MAX - 1,
                window: 1 << 39,
                news,
            };
            let bytes = signal.encode();
            assert_eq!(Signal::decode(&bytes), Some(signal));
            let mut other = bytes;
            other[14] = 9;
            assert_eq!(Signal::decode(&other), None);
        }
        assert_eq!(Signal::decode(&[0; SIGNAL_BYTES]), None);
    }
}
