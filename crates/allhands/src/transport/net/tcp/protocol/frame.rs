//! Frames: the fixed header before everything that goes over an established connection.
//!
//! ```text
//! 0     2       3    4   8      16     24     32    36           40        48
//! magic version kind tag number length offset bytes acknowledged signature payload: `bytes` bytes
//! ```
//!
//! All numbers are little-endian. A header is read as it lies, and whatever is wrong with it has a name.

mod error;

pub use error::FrameError;

/// The bytes of a header.
pub const HEADER_BYTES: usize = 48;

/// The bytes of a notice.
pub const NOTICE_BYTES: usize = 256;

/// The longest payload of a frame in bytes.
pub const MOST_PAYLOAD_BYTES: u32 = 1 << 20;

/// The version of the protocol: both ends have the same, or do not talk.
pub const VERSION: u8 = 3;

pub(super) const MAGIC: u16 = u16::from_le_bytes(*b"Ah");

/// Where the field `acknowledged` stands.
const ACKNOWLEDGED: std::ops::Range<usize> = 36..40;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A part of a message for which the sender had credit.
    Eager = 1,
    /// A message of `length` bytes waits at the sender for its grant.
    Ready = 2,
    /// The receiver has room for this message.
    Grant = 3,
    /// A part of a message for which there was a grant.
    Granted = 4,
    /// The receiver has given back `number` bytes of credit since the first connection.
    Credit = 5,
    /// Nothing but the field `acknowledged`.
    Acknowledge = 6,
    /// A word about what went wrong.
    Notice = 7,
    /// The sender makes no further frame, and closes its connections.
    Leave = 8,
    /// A part of what is put into a window.
    Put = 9,
    /// A flag of a window is raised, after all that was put there before.
    Raise = 10,
}

impl Kind {
    const ALL: [Kind; 10] = [
        Kind::Eager,
        Kind::Ready,
        Kind::Grant,
        Kind::Granted,
        Kind::Credit,
        Kind::Acknowledge,
        Kind::Notice,
        Kind::Leave,
        Kind::Put,
        Kind::Raise,
    ];

    /// Whether it carries a part of a message, or of a put.
    #[must_use]
    pub fn is_part(self) -> bool {
        matches!(self, Kind::Eager | Kind::Granted | Kind::Put)
    }

    /// Whether it is about a window, whose number stands in the place of a tag.
    #[must_use]
    pub fn is_of_window(self) -> bool {
        matches!(self, Kind::Put | Kind::Raise)
    }

    /// Whether the receiver counts it, and the sender keeps it until it was counted.
    #[must_use]
    pub fn is_counted(self) -> bool {
        self != Kind::Acknowledge
    }
}

/// What stands before a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the frame is for.
    pub kind: Kind,
    /// The message's tag, or the window's number.
    pub tag: u32,
    /// Which of the sender's messages to this rank with this tag it is, from 0; or which notice. Of a put or raise, how much this
    /// rank has put into the window before, in bytes, where each raise counts one.
    pub number: u64,
    /// The bytes of the whole message, or put. Of a raise, the number of the call.
    pub length: u64,
    /// Where in the message the payload belongs. Of a raise, which flag.
    pub offset: u64,
    /// The bytes of the payload.
    pub bytes: u32,
    /// How many counted frames the sender of this one has had over this connection, modulo 2³².
    pub acknowledged: u32,
    /// The signature of the call that sends the message, which is compared with that of its receive; 0 says nothing. Of a put,
    /// where in the window it begins.
    pub signature: u64,
}

impl Header {
    /// A header of this kind, with nothing else in it.
    #[must_use]
    pub fn new(kind: Kind) -> Header {
        Header {
            kind,
            tag: 0,
            number: 0,
            length: 0,
            offset: 0,
            bytes: 0,
            acknowledged: 0,
            signature: 0,
        }
    }

    /// The header as it goes over a connection.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut encoded = [0; HEADER_BYTES];
        encoded[0..2].copy_from_slice(&MAGIC.to_le_bytes());
        (encoded[2], encoded[3]) = (VERSION, self.kind as u8);
        encoded[4..8].copy_from_slice(&self.tag.to_le_bytes());
        encoded[8..16].copy_from_slice(&self.number.to_le_bytes());
        encoded[16..24].copy_from_slice(&self.length.to_le_bytes());
        encoded[24..32].copy_from_slice(&self.offset.to_le_bytes());
        encoded[32..36].copy_from_slice(&self.bytes.to_le_bytes());
        encoded[ACKNOWLEDGED].copy_from_slice(&self.acknowledged.to_le_bytes());
        encoded[40..48].copy_from_slice(&self.signature.to_le_bytes());
        encoded
    }

    /// What a header says.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn decode(encoded: &[u8; HEADER_BYTES]) -> Result<Header, FrameError> {
        let two = |at: usize| u16::from_le_bytes([encoded[at], encoded[at + 1]]);
        let four = |at: usize| u32::from(two(at)) | u32::from(two(at + 2)) << 16;
        let eight = |at: usize| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        if two(0) != MAGIC {
            return Err(FrameError::Magic { found: two(0) });
        }
        let [version, kind] = [encoded[2], encoded[3]];
        if version != VERSION {
            return Err(FrameError::Version { found: version });
        }
        let known = Kind::ALL.into_iter().find(|known| *known as u8 == kind);
        let header = Header {
            kind: known.ok_or(FrameError::Kind { found: kind })?,
            tag: four(4),
            number: eight(8),
            length: eight(16),
            offset: eight(24),
            bytes: four(32),
            acknowledged: four(36),
            signature: eight(40),
        };
        header.check().map(|()| header)
    }

    /// Whether the fields fit one another.
    fn check(&self) -> Result<(), FrameError> {
        let Header {
            kind,
            length,
            offset,
            bytes,
            ..
        } = *self;
        if bytes > MOST_PAYLOAD_BYTES {
            return Err(FrameError::TooLong { bytes });
        }
        if kind.is_part() {
            let end = offset.checked_add(u64::from(bytes));
            if end.is_none_or(|end| end > length) {
                return Err(FrameError::Outside {
                    offset,
                    bytes,
                    length,
                });
            }
            return match bytes == 0 && length > 0 {
                true => Err(FrameError::EmptyPart { length }),
                false => Ok(()),
            };
        }
        let notice = NOTICE_BYTES as u64;
        let (bytes, tag) = (u64::from(bytes), u64::from(self.tag));
        // What each field must be, where that is said.
        let right: [Option<u64>; 4] = match kind {
            Kind::Ready => [None, None, Some(0), Some(0)],
            Kind::Grant => [None, Some(0), Some(0), Some(0)],
            Kind::Credit => [Some(0), Some(0), Some(0), Some(0)],
            Kind::Notice => [Some(0), Some(notice), Some(0), Some(notice)],
            Kind::Acknowledge | Kind::Leave => [Some(0), Some(0), Some(0), Some(0)],
            Kind::Raise => [None, None, None, Some(0)],
            Kind::Eager | Kind::Granted | Kind::Put => [None; 4],
        };
        let fields = ["tag", "length", "offset", "bytes"];
        let values = [tag, length, offset, bytes];
        for ((field, value), right) in fields.into_iter().zip(values).zip(right) {
            if right.is_some_and(|right| right != value) {
                return Err(FrameError::Field { kind, field, value });
            }
        }
        Ok(())
    }
}

/// Says in an encoded header how many frames were had.
pub(super) fn set_acknowledged(encoded: &mut [u8; HEADER_BYTES], acknowledged: u32) {
    encoded[ACKNOWLEDGED].copy_from_slice(&acknowledged.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> Header {
        Header {
            tag: 0x0102_0304,
            number: u64::MAX - 2,
            length: 1 << 40,
            offset: (1 << 40) - 77,
            bytes: 77,
            acknowledged: u32::MAX - 1,
            signature: 0xfeed_beef_0123_4567,
            ..Header::new(Kind::Granted)
        }
    }

    #[test]
    fn a_header_comes_out_as_it_went_in() {
        let notice = NOTICE_BYTES as u32;
        let headers = [
            part(),
            Header::new(Kind::Eager),
            Header {
                length: 1 << 50,
                tag: 9,
                ..Header::new(Kind::Ready)
            },
            Header {
                tag: 3,
                ..Header::new(Kind::Grant)
            },
            Header {
                number: 12,
                ..Header::new(Kind::Credit)
            },
            Header::new(Kind::Acknowledge),
            Header {
                bytes: notice,
                length: u64::from(notice),
                ..Header::new(Kind::Notice)
            },
            Header::new(Kind::Leave),
            Header {
                kind: Kind::Put,
                ..part()
            },
            Header {
                tag: u32::MAX,
                number: 77,
                length: u64::MAX,
                offset: 3,
                signature: 9,
                ..Header::new(Kind::Raise)
            },
        ];
        for header in headers {
            let mut encoded = header.encode();
            assert_eq!(Header::decode(&encoded), Ok(header));
            set_acknowledged(&mut encoded, 7);
            let acknowledged = 7;
            let changed = Header {
                acknowledged,
                ..header
            };
            assert_eq!(Header::decode(&encoded), Ok(changed));
        }
    }

    fn broken(change: impl FnOnce(&mut [u8; HEADER_BYTES])) -> FrameError {
        let mut encoded = part().encode();
        change(&mut encoded);
        Header::decode(&encoded).expect_err("it is broken")
    }

    #[test]
    fn what_is_no_frame_is_named() {
        assert_eq!(
            broken(|b| b[..4].copy_from_slice(b"GET ")),
            FrameError::Magic { found: 0x4547 }
        );
        assert_eq!(broken(|b| b[2] = 9), FrameError::Version { found: 9 });
        for found in [0, 11, 255] {
            assert_eq!(broken(|b| b[3] = found), FrameError::Kind { found });
        }
        let bytes = MOST_PAYLOAD_BYTES + 1;
        let long = broken(|b| b[32..36].copy_from_slice(&bytes.to_le_bytes()));
        assert_eq!(long, FrameError::TooLong { bytes });
    }

    #[test]
    fn a_part_that_does_not_fit_its_message_is_named() {
        let of = |length: u64, offset: u64, bytes: u32| {
            let header = Header {
                length,
                offset,
                bytes,
                ..Header::new(Kind::Eager)
            };
            Header::decode(&header.encode())
        };
        for (length, offset, bytes) in [(10, 8, 3), (10, u64::MAX, 1), (0, 0, 1), (5, 6, 0)] {
            let outside = FrameError::Outside {
                offset,
                bytes,
                length,
            };
            assert_eq!(of(length, offset, bytes), Err(outside));
        }
        assert_eq!(of(5, 5, 0), Err(FrameError::EmptyPart { length: 5 }));
        assert!(of(5, 4, 1).is_ok() && of(0, 0, 0).is_ok());
    }

    #[test]
    fn fields_that_a_kind_does_not_use_must_be_empty() {
        let wrong = |header: Header| match Header::decode(&header.encode()) {
            Err(FrameError::Field { field, value, .. }) => (field, value),
            other => panic!("{header:?}: {other:?}"),
        };
        let of = Header::new;
        for kind in [
            Kind::Ready,
            Kind::Grant,
            Kind::Credit,
            Kind::Acknowledge,
            Kind::Leave,
        ] {
            let (offset, bytes) = (4, 5);
            assert_eq!(wrong(Header { offset, ..of(kind) }), ("offset", 4));
            assert_eq!(wrong(Header { bytes, ..of(kind) }), ("bytes", 5));
        }
        for kind in [Kind::Credit, Kind::Acknowledge, Kind::Leave] {
            let (tag, length) = (2, 3);
            assert_eq!(wrong(Header { tag, ..of(kind) }), ("tag", 2));
            assert_eq!(wrong(Header { length, ..of(kind) }), ("length", 3));
        }
        let (offset, bytes) = (4, 5);
        assert_eq!(
            wrong(Header {
                offset,
                bytes,
                ..of(Kind::Raise)
            }),
            ("bytes", 5)
        );
        assert_eq!(wrong(of(Kind::Notice)), ("length", 0));
        let length = NOTICE_BYTES as u64;
        assert_eq!(
            wrong(Header {
                length,
                ..of(Kind::Notice)
            }),
            ("bytes", 0)
        );
    }
}
