//! Headers: what stands before the bytes of a message that goes to another node, and what is told without any.

use crate::transport::endpoint::nodes::cluster::LANES;
use crate::transport::endpoint::point_to_point::credit::Total;
use crate::transport::endpoint::point_to_point::matching::Envelope;

/// Words of a header.
const WORDS: usize = 8;
/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 8 * WORDS;
/// Bytes of a frame: a header, and the longest message that goes with one.
pub(crate) const FRAME_BYTES: usize = 8 << 10;
/// The longest message that goes with its header.
pub(crate) const EAGER_MOST: usize = FRAME_BYTES - HEADER_BYTES;

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// A message, whose bytes follow.
    Eager { tag: u32, element: u64, bytes: u64 },
    /// A message that waits at its sender, where it has this number.
    Announced {
        tag: u32,
        element: u64,
        bytes: u64,
        number: u64,
    },
    /// A message that follows on this lane.
    Sent {
        tag: u32,
        element: u64,
        bytes: u64,
        lane: u8,
    },
    /// The message on this lane was taken back, if it has met no receive yet.
    TakenBack { lane: u8 },
    /// The message with this number is wanted: its receiver is ready; or, if not, nobody will look at its bytes.
    Wanted { number: u64, is_ready: bool },
    /// Nothing but what has been returned.
    Credit,
}

/// A word, and what its teller has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) word: Word,
    pub(crate) returned: Total,
    /// The lanes that were given back.
    pub(crate) lanes: u64,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let (kind, words) = match self.word {
            Word::Eager {
                tag,
                element,
                bytes,
            } => (1, [tag.into(), element, bytes, 0]),
            Word::Announced {
                tag,
                element,
                bytes,
                number,
            } => (2, [tag.into(), element, bytes, number]),
            Word::Wanted { number, is_ready } => (3, [number, is_ready.into(), 0, 0]),
            Word::Credit => (4, [0; 4]),
            Word::Sent {
                tag,
                element,
                bytes,
                lane,
            } => (5, [tag.into(), element, bytes, lane.into()]),
            Word::TakenBack { lane } => (6, [lane.into(), 0, 0, 0]),
        };
        let Total { messages, bytes } = self.returned;
        let [a, b, c, d] = words;
        let words: [u64; WORDS] = [kind, a, b, c, d, messages, bytes, self.lanes];
        let mut encoded = [0; HEADER_BYTES];
        for (place, word) in encoded.as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        encoded
    }

    /// The header of a frame of so many bytes, and what follows it; none if it is no frame of ours.
    pub(crate) fn decode(frame: &[u8]) -> Option<(Header, &[u8])> {
        let (header, rest) = frame.split_first_chunk::<HEADER_BYTES>()?;
        let mut words = [0; WORDS];
        for (word, place) in words.iter_mut().zip(header.as_chunks().0) {
            *word = u64::from_le_bytes(*place);
        }
        let [kind, a, b, c, d, messages, bytes, lanes] = words;
        let tag = || u32::try_from(a).ok();
        let lane = |word: u64| Some(word as u8).filter(|_| word < u64::from(LANES));
        let word = match kind {
            1 if c == rest.len() as u64 => Word::Eager {
                tag: tag()?,
                element: b,
                bytes: c,
            },
            2 => Word::Announced {
                tag: tag()?,
                element: b,
                bytes: c,
                number: d,
            },
            3 => Word::Wanted {
                number: a,
                is_ready: b != 0,
            },
            4 => Word::Credit,
            5 => Word::Sent {
                tag: tag()?,
                element: b,
                bytes: c,
                lane: lane(d)?,
            },
            6 => Word::TakenBack { lane: lane(a)? },
            _ => return None,
        };
        let returned = Total { messages, bytes };
        let header = Header {
            word,
            returned,
            lanes,
        };
        Some((header, rest))
    }
}

impl Word {
    /// The envelope of a message of `source`, if it says that there is one.
    pub(crate) fn envelope(&self, source: u32) -> Option<Envelope> {
        match *self {
            Word::Eager {
                tag,
                element,
                bytes,
            }
            | Word::Announced {
                tag,
                element,
                bytes,
                ..
            }
            | Word::Sent {
                tag,
                element,
                bytes,
                ..
            } => Some(Envelope {
                source,
                tag,
                element,
                bytes,
            }),
            Word::Wanted { .. } | Word::Credit | Word::TakenBack { .. } => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_out_of_its_frame() {
        let words = [
            Word::Eager {
                tag: u32::MAX,
                element: 7,
                bytes: 3,
            },
            Word::Announced {
                tag: 1,
                element: u64::MAX,
                bytes: 1 << 40,
                number: 9,
            },
            Word::Wanted {
                number: 1 << 33,
                is_ready: true,
            },
            Word::Wanted {
                number: 0,
                is_ready: false,
            },
            Word::Credit,
            Word::Sent {
                tag: 2,
                element: 8,
                bytes: 1 << 20,
                lane: 63,
            },
            Word::TakenBack { lane: 5 },
        ];
        for word in words {
            let returned = Total {
                messages: 5,
                bytes: 6,
            };
            let header = Header {
                word,
                returned,
                lanes: 1 << 63 | 1,
            };
            let mut frame = header.encode().to_vec();
            frame.extend([1, 2, 3]);
            assert_eq!(Header::decode(&frame), Some((header, &[1, 2, 3][..])));
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert_eq!(Header::decode(&[1; HEADER_BYTES - 1]), None);
        assert_eq!(Header::decode(&[255; FRAME_BYTES]), None);
        let word = Word::Eager {
            tag: 0,
            element: 0,
            bytes: 9,
        };
        let returned = Total::default();
        let lanes = 0;
        let header = |word| Header {
            word,
            returned,
            lanes,
        };
        let short = header(word).encode();
        assert_eq!(
            Header::decode(&short),
            None,
            "of its bytes some are missing"
        );
        let far = header(Word::TakenBack { lane: 64 }).encode();
        assert_eq!(Header::decode(&far), None, "there is no such lane");
    }
}
