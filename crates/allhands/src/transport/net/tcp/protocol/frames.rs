//! What waits to be sent: messages, and the frames that they are cut into.

use super::buffers::{Buffer, Buffers};
use super::frame::{HEADER_BYTES, Header, Kind};
use super::matching::{End, Key};
use super::memory::Span;
use super::settings::Settings;
use std::time::Duration;

/// A message that is sent, or a put, until that has ended and it was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// To whom.
    pub peer: u32,
    /// Its tag and number; of a put the window, and its place in the stream.
    pub key: Key,
    /// Its memory.
    pub span: Span,
    /// The signature of its call; of a put its place in the window.
    pub signature: u64,
    /// How its parts go; none while it waits for a grant.
    pub kind: Option<Kind>,
    /// Whether the other end was told that it waits.
    pub is_announced: bool,
    /// How much of it is cut into frames, and whether all is.
    pub cut_bytes: usize,
    /// See `cut_bytes`: a message without bytes is a frame, too.
    pub is_cut: bool,
    /// How long the frames are at most.
    pub part_bytes: usize,
    /// How many of its frames are not wholly written.
    pub unwritten: u32,
    /// How many of its frames are not acknowledged.
    pub unacknowledged: u32,
    /// Its number in the line of long messages; 0 of one that has not stood there.
    pub serial: u64,
    /// When it began to leave.
    pub left: Duration,
    /// How it ended.
    pub end: Option<End>,
}

impl Outgoing {
    /// One of which nothing was done yet; without a kind it waits for a grant.
    #[must_use]
    pub fn new(
        peer: u32,
        key: Key,
        (span, signature): (Span, u64),
        kind: Option<Kind>,
    ) -> Outgoing {
        Outgoing {
            peer,
            key,
            span,
            signature,
            kind,
            is_announced: false,
            cut_bytes: 0,
            is_cut: false,
            part_bytes: span.bytes.max(1),
            unwritten: 0,
            unacknowledged: 0,
            serial: 0,
            left: Duration::ZERO,
            end: None,
        }
    }

    /// The bytes that are not cut off.
    #[must_use]
    pub fn left_bytes(&self) -> usize {
        self.span.bytes - self.cut_bytes
    }

    /// Whether it has ended only when it is acknowledged.
    #[must_use]
    pub fn is_awaited(&self, settings: &Settings) -> bool {
        let bytes = self.span.bytes as u64;
        let is_awaited = |kind| settings.is_awaited(kind, bytes);
        settings.resends && self.kind.is_some_and(is_awaited)
    }

    /// Cuts the next part off, as a frame of so many bytes at most.
    pub fn cut(&mut self, number: u32, kind: Kind, most: usize) -> Frame {
        let (offset, bytes) = (self.cut_bytes, self.left_bytes().min(most));
        self.cut_bytes += bytes;
        self.is_cut = self.cut_bytes == self.span.bytes;
        self.unwritten += 1;
        self.unacknowledged += 1;
        let header = Header {
            tag: self.key.0,
            number: self.key.1,
            length: self.span.bytes as u64,
            offset: offset as u64,
            bytes: bytes as u32,
            signature: self.signature,
            ..Header::new(kind)
        };
        let span = self.span.part(offset, bytes);
        let send = number;
        Frame::new(&header, Payload::Users { send, span })
    }
}

/// What stands behind a header.
#[derive(Debug)]
pub enum Payload {
    /// Nothing.
    None,
    /// Memory of the machine.
    Own(Buffer),
    /// Memory of the user's, of this message.
    Users {
        /// The message.
        send: u32,
        /// Where.
        span: Span,
    },
}

/// A frame that is to be sent, or was sent and not acknowledged.
#[derive(Debug)]
pub struct Frame {
    /// The header as it is sent.
    pub header: [u8; HEADER_BYTES],
    /// The payload.
    pub payload: Payload,
    /// Whether the receiver counts it.
    pub is_counted: bool,
    /// Whether it was written and let go, so that it could not be sent again.
    pub is_gone: bool,
}

impl Frame {
    /// A frame of a header and what is behind it.
    #[must_use]
    pub fn new(header: &Header, payload: Payload) -> Frame {
        Frame {
            header: header.encode(),
            payload,
            is_counted: header.kind.is_counted(),
            is_gone: false,
        }
    }

    /// The bytes of header and payload.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let bytes = match &self.payload {
            Payload::None => 0,
            Payload::Own(buffer) => buffer.len(),
            Payload::Users { span, .. } => span.bytes,
        };
        HEADER_BYTES + bytes
    }

    /// The message whose memory it is to be read from.
    #[must_use]
    pub fn send(&self) -> Option<u32> {
        match self.payload {
            Payload::Users { send, .. } => Some(send),
            Payload::None | Payload::Own(_) => None,
        }
    }

    /// Gives its buffer back.
    pub fn recycle(&mut self, buffers: &mut Buffers) {
        if let Payload::Own(buffer) = std::mem::replace(&mut self.payload, Payload::None) {
            buffers.give(buffer);
        }
    }
}
