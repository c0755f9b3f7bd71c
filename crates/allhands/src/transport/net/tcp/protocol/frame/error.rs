//! Frame errors: what is wrong with a header, or with what it announces.

use super::{Kind, MAGIC, MOST_PAYLOAD_BYTES, VERSION};

/// What is wrong with a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// It is no header of this protocol.
    #[error("a frame begins with {found:#06x} instead of {MAGIC:#06x}")]
    Magic {
        /// What stands there.
        found: u16,
    },
    /// The other end runs another version.
    #[error("a frame has version {found} of the protocol instead of {VERSION}")]
    Version {
        /// What stands there.
        found: u8,
    },
    /// There is no such kind.
    #[error("a frame has kind {found}, which there is not")]
    Kind {
        /// What stands there.
        found: u8,
    },
    /// The payload is longer than any may be.
    #[error("a frame has {bytes} bytes of payload; the most are {MOST_PAYLOAD_BYTES}")]
    TooLong {
        /// Its length.
        bytes: u32,
    },
    /// A part does not lie inside its message.
    #[error("{bytes} bytes at {offset} lie outside a message of {length}")]
    Outside {
        /// Where it would begin.
        offset: u64,
        /// Its length.
        bytes: u32,
        /// The message's length.
        length: u64,
    },
    /// A part without bytes, of a message that has some.
    #[error("an empty part of a message of {length} bytes")]
    EmptyPart {
        /// The message's length.
        length: u64,
    },
    /// A field has a value that frames of this kind do not have there.
    #[error("a frame of kind {kind:?} has {value} as its {field}")]
    Field {
        /// The kind.
        kind: Kind,
        /// The field's name.
        field: &'static str,
        /// What stands there.
        value: u64,
    },
    /// The tag is beyond those of the job.
    #[error("a frame has tag {tag} of {tags}")]
    Tag {
        /// The tag.
        tag: u32,
        /// How many there are.
        tags: u32,
    },
    /// The message has another length than an earlier frame said.
    #[error("a message of {earlier} bytes has {length} now")]
    Length {
        /// What was said first.
        earlier: u64,
        /// What is said now.
        length: u64,
    },
    /// A message came without a grant that was longer than any credit.
    #[error("a message of {length} bytes came without credit")]
    Unpaid {
        /// Its length.
        length: u64,
    },
    /// More frames were acknowledged than sent.
    #[error("{acknowledged} frames are acknowledged of {sent}")]
    Acknowledged {
        /// How many the other end says it has had since it said so last.
        acknowledged: u32,
        /// How many were under way.
        sent: u32,
    },
    /// A part is shorter than any of its message may be, and not its end.
    #[error(
        "{bytes} bytes at {offset} are a part of a message of {length}; parts have {least} at least"
    )]
    ShortPart {
        /// Where it would begin.
        offset: u64,
        /// Its length.
        bytes: u32,
        /// The message's length.
        length: u64,
        /// How long parts are.
        least: u64,
    },
    /// The parts of a message have come with too many gaps between them.
    #[error("the parts of a message of {length} bytes leave more than {most} gaps")]
    Scattered {
        /// The message's length.
        length: u64,
        /// How many there may be.
        most: u32,
    },
    /// More messages wait at the sender than may be announced.
    #[error("more than {most} messages are announced that nobody has asked for")]
    Announced {
        /// How many may be.
        most: u32,
    },
    /// More messages were granted than may be before they are there.
    #[error("more than {most} messages are granted that nobody has sent")]
    Grants {
        /// How many may be.
        most: u32,
    },
    /// More notices came than are ever under way.
    #[error("more than {most} notices came at once")]
    Notices {
        /// How many may.
        most: u32,
    },
    /// The number of a message lies so far ahead that it cannot be one.
    #[error("message {number} is announced where {expected} is next")]
    Number {
        /// The number.
        number: u64,
        /// The next one.
        expected: u64,
    },
    /// There is no such window, and never was.
    #[error("something is put into window {window}, which there never was")]
    Window {
        /// Its number.
        window: u32,
    },
    /// What is put does not lie inside its window.
    #[error("{length} bytes are put at {place} of window {window}, which has {bytes}")]
    OutsideWindow {
        /// The window.
        window: u32,
        /// Where it would begin.
        place: u64,
        /// Its length.
        length: u64,
        /// The length of the window.
        bytes: u64,
    },
    /// A flag is raised that the window does not have.
    #[error("flag {flag} of window {window} is raised, which has {flags}")]
    Flag {
        /// The window.
        window: u32,
        /// The flag.
        flag: u64,
        /// How many there are.
        flags: u16,
    },
    /// Too many flags are raised, or parts have come, while something put before them is missing.
    #[error(
        "more than {most} puts and flags of window {window} have come before what they wait for"
    )]
    AheadOfPuts {
        /// The window.
        window: u32,
        /// How many may.
        most: u32,
    },
}
