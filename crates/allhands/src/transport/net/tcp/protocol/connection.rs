//! A connection: what goes over it in both directions.

use super::buffers::{Buffer, Buffers};
use super::frame::{FrameError, HEADER_BYTES, Header, NOTICE_BYTES, set_acknowledged};
use super::frames::{Frame, Payload};
use super::handshake::{Handshake, Message};
use super::memory::{Memory, Span};
use std::collections::VecDeque;
use std::time::Duration;

/// The most frames that are written at once.
const MOST_FRAMES: usize = 16;

/// A connection, from the moment at which it is asked for.
#[derive(Debug)]
pub struct Connection {
    /// The rank at the other end, if it is known.
    pub peer: Option<u32>,
    /// The rail.
    pub rail: u32,
    /// How far it is.
    pub phase: Phase,
    /// Whether this end makes it.
    pub is_own: bool,
    /// Whether it is made to watch over another that is doubted.
    pub is_watch: bool,
    /// When it was asked for, or accepted.
    pub begun: Duration,
    /// When it is given up if it is not open by then.
    pub deadline: Duration,
    /// What goes out.
    pub outbound: Outbound,
    /// What comes in.
    pub inbound: Inbound,
}

/// How far a connection is.
#[derive(Debug)]
pub enum Phase {
    /// The driver makes it.
    Connecting,
    /// Both ends prove who they are.
    Greeting(Handshake),
    /// Nothing is ever said over it: it only shows whether the other end's system answers.
    Watching,
    /// Frames go over it.
    Open,
}

/// A piece of what is to be written.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// Bytes of the machine.
    Own(&'a [u8]),
    /// Bytes of the user's.
    Users(Span),
}

/// What goes out over a connection.
#[derive(Debug, Default)]
pub struct Outbound {
    /// A message of the handshake, and how much of it is written.
    greeting: Option<(Message, usize)>,
    /// Frames: first those that are written and not acknowledged, and then those to be written.
    frames: VecDeque<Frame>,
    /// The first frame that is not wholly written, and how much of it is.
    next: usize,
    written: usize,
    unwritten_bytes: usize,
    /// Bytes that were not acknowledged, written or not.
    backlog_bytes: u64,
    /// The counted frames that are written and not acknowledged, and those that are acknowledged, modulo 2³².
    unacknowledged: u32,
    acknowledged: u32,
    /// The bytes that were written, and that the other end's system is not known to have.
    in_kernel_bytes: u64,
    /// What its rail's load has of it.
    pub counted_bytes: u64,
    /// Whether it is in the list of those whose systems are asked how much the other end's have.
    pub is_measured: bool,
    /// Whether the socket takes nothing now.
    pub is_blocked: bool,
    /// Since when the other end's system has left something unanswered, or has had no room for more, if it does.
    pub doubted_since: Option<Duration>,
    /// Whether it is in the list of those that have something to write.
    pub is_listed: bool,
}

/// A frame that comes in.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its header.
    pub header: Header,
    /// Where its payload goes.
    pub landing: Landing,
    /// How much of it is there.
    pub done: usize,
}

/// Where a payload goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landing {
    /// To a message.
    Message(u32),
    /// To the window that its header names.
    Window,
    /// It is a notice.
    Notice,
    /// Nobody wants it.
    Nowhere,
}

/// What comes in over a connection.
#[derive(Debug)]
pub struct Inbound {
    /// A header of which not everything is there.
    pub header: [u8; HEADER_BYTES],
    /// How much of it is.
    pub have: usize,
    /// The frame that comes.
    pub part: Option<Part>,
    /// Where a notice lands.
    pub notice: [u8; NOTICE_BYTES],
    /// The counted frames that came, modulo 2³².
    pub frames: u32,
    /// What of it was not said.
    pub unsaid_frames: u32,
    /// And in bytes.
    pub unsaid_bytes: u64,
}

impl Default for Inbound {
    fn default() -> Inbound {
        Inbound {
            header: [0; HEADER_BYTES],
            have: 0,
            part: None,
            notice: [0; NOTICE_BYTES],
            frames: 0,
            unsaid_frames: 0,
            unsaid_bytes: 0,
        }
    }
}

impl Outbound {
    /// Puts a message of the handshake in.
    pub fn greet(&mut self, message: Message) {
        self.greeting = Some((message, 0));
    }

    /// Puts a frame in; `had` counted frames came over this connection.
    pub fn push(&mut self, mut frame: Frame, had: u32) {
        set_acknowledged(&mut frame.header, had);
        self.unwritten_bytes += frame.bytes();
        if frame.is_counted {
            self.backlog_bytes += frame.bytes() as u64;
        }
        self.frames.push_back(frame);
    }

    /// Whether there is something to write.
    #[must_use]
    pub fn has_something(&self) -> bool {
        self.greeting.is_some() || self.next < self.frames.len()
    }

    /// The message whose memory is written next, unless that is something else.
    #[must_use]
    pub fn next_send(&self) -> Option<u32> {
        match self.greeting {
            None => self.frames.get(self.next)?.send(),
            Some(_) => None,
        }
    }

    /// The bytes that wait to be written.
    #[must_use]
    pub fn unwritten_bytes(&self) -> usize {
        self.unwritten_bytes
    }

    /// The bytes that are written, and not acknowledged, and how many frames that are.
    #[must_use]
    pub fn unacknowledged(&self) -> (u64, u32) {
        let unwritten = self.unwritten_bytes as u64;
        let bytes = self.backlog_bytes.saturating_sub(unwritten);
        (bytes, self.unacknowledged)
    }

    /// What a part would wait for here: what is not written, or not known to be with the other end's system.
    #[must_use]
    pub fn load_bytes(&self) -> u64 {
        let (unacknowledged, _) = self.unacknowledged();
        self.unwritten_bytes as u64 + self.in_kernel_bytes.min(unacknowledged)
    }

    /// Says how many of the bytes that were written the other end's system has not acknowledged; how many it has since that was
    /// said last.
    pub fn delivered(&mut self, left_bytes: u64) -> u64 {
        let before = std::mem::replace(&mut self.in_kernel_bytes, left_bytes);
        before.saturating_sub(left_bytes)
    }

    /// Shows what is to be written next, in order, but no more than is well written at once.
    pub fn pieces<'a>(&'a self, mut show: impl FnMut(Piece<'a>)) {
        if let Some((message, written)) = &self.greeting {
            show(Piece::Own(&message.bytes()[*written..]));
        }
        let mut skip = self.written;
        for frame in self.frames.range(self.next..).take(MOST_FRAMES) {
            if skip < HEADER_BYTES {
                show(Piece::Own(&frame.header[skip..]));
            }
            let skipped = skip.saturating_sub(HEADER_BYTES);
            match &frame.payload {
                Payload::Own(buffer) => show(Piece::Own(&buffer[skipped..])),
                Payload::Users { span, .. } => {
                    show(Piece::Users(span.part(skipped, span.bytes - skipped)));
                }
                Payload::None => {}
            }
            skip = 0;
        }
    }

    /// Says that so many bytes were written; `done` is told of each frame that is now wholly written.
    pub fn written(&mut self, mut bytes: usize, mut done: impl FnMut(&mut Frame)) {
        if let Some((message, written)) = &mut self.greeting {
            let now = bytes.min(message.bytes().len() - *written);
            *written += now;
            bytes -= now;
            if *written == message.bytes().len() {
                self.greeting = None;
            }
        }
        self.in_kernel_bytes += bytes as u64;
        while bytes > 0 {
            let Some(frame) = self.frames.get_mut(self.next) else {
                break;
            };
            let now = bytes.min(frame.bytes() - self.written);
            self.written += now;
            self.unwritten_bytes -= now;
            bytes -= now;
            if self.written == frame.bytes() {
                self.unacknowledged += u32::from(frame.is_counted);
                (self.next, self.written) = (self.next + 1, 0);
                done(frame);
            }
        }
        self.drop_uncounted();
    }

    /// Lets frames at the front go that nobody acknowledges.
    fn drop_uncounted(&mut self) {
        while self.next > 0 && self.frames.front().is_some_and(|frame| !frame.is_counted) {
            self.frames.pop_front();
            self.next -= 1;
        }
    }

    /// Lets go what the other end has: so many frames since the connection was made, modulo 2³². For each of them that is read from
    /// a message's memory, that is added to `sends`.
    ///
    /// # Errors
    /// If that is more than were written.
    pub fn acknowledge(
        &mut self,
        total: u32,
        buffers: &mut Buffers,
        sends: &mut Vec<u32>,
    ) -> Result<(), FrameError> {
        let acknowledged = total.wrapping_sub(self.acknowledged);
        if acknowledged == 0 {
            return Ok(());
        }
        if acknowledged > self.unacknowledged {
            let sent = self.unacknowledged;
            return Err(FrameError::Acknowledged { acknowledged, sent });
        }
        let mut bytes = 0;
        for _ in 0..acknowledged {
            self.drop_uncounted();
            if let Some(mut frame) = self.frames.pop_front() {
                self.next -= 1;
                // One that was let go has no payload any more.
                bytes += frame.counted_bytes();
                sends.extend(frame.send());
                frame.recycle(buffers);
            }
        }
        self.drop_uncounted();
        self.acknowledged = total;
        self.unacknowledged -= acknowledged;
        self.backlog_bytes -= bytes;
        Ok(())
    }

    /// Copies what it has of a message that is the user's again.
    pub fn keep(&mut self, send: u32, memory: &impl Memory, buffers: &mut Buffers) {
        for frame in &mut self.frames {
            if frame.send() == Some(send) {
                frame.keep(memory, buffers);
            }
        }
    }

    /// Lets go what it has of a message that is not wanted any more: what is not begun is not sent, the rest is copied.
    pub fn cancel(&mut self, send: u32, memory: &impl Memory, buffers: &mut Buffers) {
        let begun = self.next + usize::from(self.written > 0);
        let mut at = begun;
        while let Some(frame) = self.frames.get(at) {
            if frame.send() != Some(send) {
                at += 1;
                continue;
            }
            let bytes = frame.bytes();
            self.unwritten_bytes -= bytes;
            self.backlog_bytes -= bytes as u64;
            self.frames.remove(at);
        }
        self.keep(send, memory, buffers);
    }

    /// Takes all frames out that were not acknowledged, each with whether it was wholly written.
    pub fn take_unacknowledged(&mut self) -> impl Iterator<Item = (Frame, bool)> + '_ {
        let next = std::mem::take(&mut self.next);
        let frames = self.frames.drain(..).enumerate();
        let counted = frames.filter(|(_, frame)| frame.is_counted);
        counted.map(move |(at, frame)| (frame, at < next))
    }

    /// Whether everything was written.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        !self.has_something()
    }
}

impl Frame {
    /// Its bytes by its header, also when its payload was let go.
    fn counted_bytes(&self) -> u64 {
        let bytes = [32, 33, 34, 35].map(|at| self.header[at]);
        HEADER_BYTES as u64 + u64::from(u32::from_le_bytes(bytes))
    }

    /// Copies the payload, if it is the user's.
    pub fn keep(&mut self, memory: &impl Memory, buffers: &mut Buffers) {
        if let Payload::Users { span, .. } = self.payload {
            if span.bytes == 0 {
                self.payload = Payload::None;
                return;
            }
            let mut buffer: Buffer = buffers.take(span.bytes);
            memory.read(span, &mut buffer);
            self.payload = Payload::Own(buffer);
        }
    }
}
