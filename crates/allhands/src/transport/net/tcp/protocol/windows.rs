//! Windows: memory that other ranks put into without asking, and what of that has come.
//!
//! What a rank puts into a window is one stream, in which a raise of a flag has a place, too, one byte long:
//!
//! ```text
//! put 0..600   put 600..700   raise 700   put 701..900   raise 900
//! ```
//!
//! Parts come over any connection, in any order. A raise is heard when all before it has landed, and what comes twice is known by its
//! place. Numbers of windows only grow, so that what still comes for one that was withdrawn is told from what no window was ever
//! exposed for: the first is thrown away, the second is a fault of its sender.

use super::frame::{FrameError, Header};
use super::matching::Map;
use super::memory::Span;
use super::stripe::Extents;
use std::collections::VecDeque;

/// How far a stream may run ahead of what has landed, in bytes.
const MOST_AHEAD_BYTES: u64 = 1 << 48;

/// How many raises of a stream may wait for puts, and how many gaps it may have.
const MOST_WAITING: u32 = 1 << 16;

/// A flag that another rank has raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Who.
    pub from: u32,
    /// Of which window.
    pub window: u32,
    /// Which.
    pub flag: u16,
    /// The number of the call in which that was.
    pub call: u64,
    /// And its signature.
    pub signature: u64,
}

/// What one rank has put into a window.
#[derive(Debug, Default)]
struct Stream {
    landed: Extents,
    /// Raises that wait for what was put before them, by their places.
    waiting: Vec<(u64, Raised)>,
}

/// A window.
#[derive(Debug)]
struct Window {
    span: Span,
    flags: u16,
    /// By rank.
    streams: Map<u32, Stream>,
}

/// A rank's windows.
#[derive(Debug, Default)]
pub struct Windows {
    exposed: Map<u32, Window>,
    /// The number of the next one.
    next: u32,
    raised: VecDeque<Raised>,
}

impl Windows {
    /// Lets others put into memory and raise so many flags; the number of the window, unless all numbers are used up.
    pub fn expose(&mut self, span: Span, flags: u16) -> Option<u32> {
        let number = self.next;
        self.next = number.checked_add(1)?;
        let streams = Map::default();
        let window = Window {
            span,
            flags,
            streams,
        };
        self.exposed.insert(number, window);
        Some(number)
    }

    /// Lets nobody do so any more: the memory is not touched from now on.
    pub fn withdraw(&mut self, window: u32) {
        self.exposed.remove(&window);
        self.raised.retain(|raised| raised.window != window);
    }

    /// The next flag that was raised.
    pub fn raised(&mut self) -> Option<Raised> {
        self.raised.pop_front()
    }

    /// A window that there is, and nothing if there was one.
    fn find(&mut self, window: u32) -> Result<Option<&mut Window>, FrameError> {
        match self.exposed.get_mut(&window) {
            None if window >= self.next => Err(FrameError::Window { window }),
            found => Ok(found),
        }
    }

    /// Whether a part of a put goes to a window, and has not come before.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn admit(&mut self, from: u32, header: &Header) -> Result<bool, FrameError> {
        let (window, place, length) = (header.tag, header.signature, header.length);
        let Some(found) = self.find(window)? else {
            return Ok(false);
        };
        let bytes = found.span.bytes as u64;
        if place.checked_add(length).is_none_or(|end| end > bytes) {
            return Err(FrameError::OutsideWindow {
                window,
                place,
                length,
                bytes,
            });
        }
        let stream = found.streams.entry(from).or_default();
        stream.is_near(header.number)?;
        let (begin, end) = extent(header);
        Ok(!stream.landed.covers(begin, end))
    }

    /// Where the rest of a part goes of which so much is there; nowhere if the window is withdrawn.
    #[must_use]
    pub fn span(&self, header: &Header, done: usize) -> Option<Span> {
        let window = self.exposed.get(&header.tag)?;
        let begin = header.signature + header.offset + done as u64;
        Some(
            window
                .span
                .part(begin as usize, header.bytes as usize - done),
        )
    }

    /// Notes that a part has landed; whether all of its put has by that.
    ///
    /// # Errors
    /// If what has landed leaves too many gaps.
    pub fn land(&mut self, from: u32, header: &Header) -> Result<bool, FrameError> {
        let window = header.tag;
        let Some(found) = self.exposed.get_mut(&window) else {
            return Ok(true);
        };
        let stream = found.streams.entry(from).or_default();
        let (begin, end) = extent(header);
        if begin < end {
            stream.insert(window, (begin, end))?;
        }
        stream.let_hear(&mut self.raised);
        let all = header.number..header.number + header.length;
        Ok(stream.landed.covers(all.start, all.end))
    }

    /// Notes that a flag is raised, which is heard when all that was put before has landed.
    ///
    /// # Errors
    /// What is wrong with that.
    pub fn raise(&mut self, from: u32, header: &Header) -> Result<(), FrameError> {
        let (window, number) = (header.tag, header.number);
        if self.find(window)?.is_none() {
            return Ok(());
        }
        let Some(found) = self.exposed.get_mut(&window) else {
            return Ok(());
        };
        let (flag, flags) = (header.offset, found.flags);
        if flag >= u64::from(flags) {
            return Err(FrameError::Flag {
                window,
                flag,
                flags,
            });
        }
        let stream = found.streams.entry(from).or_default();
        stream.is_near(number)?;
        if !stream.insert(window, (number, number + 1))? {
            return Ok(());
        }
        let raised = Raised {
            from,
            window,
            flag: flag as u16,
            call: header.length,
            signature: header.signature,
        };
        let at = stream
            .waiting
            .partition_point(|(before, _)| *before < number);
        stream.waiting.insert(at, (number, raised));
        stream.let_hear(&mut self.raised);
        match stream.waiting.len() > MOST_WAITING as usize {
            true => Err(FrameError::AheadOfPuts {
                window,
                most: MOST_WAITING,
            }),
            false => Ok(()),
        }
    }
}

impl Stream {
    /// Whether a place is no further ahead than any may be.
    fn is_near(&self, number: u64) -> Result<(), FrameError> {
        let expected = self.landed.whole_to();
        match number.saturating_sub(expected) > MOST_AHEAD_BYTES {
            true => Err(FrameError::Number { number, expected }),
            false => Ok(()),
        }
    }

    /// Adds what has come; whether any of it is new.
    fn insert(&mut self, window: u32, (begin, end): (u64, u64)) -> Result<bool, FrameError> {
        let is_new = self.landed.insert(begin, end);
        match self.landed.count() > MOST_WAITING as usize {
            true => Err(FrameError::AheadOfPuts {
                window,
                most: MOST_WAITING,
            }),
            false => Ok(is_new),
        }
    }

    /// Lets those raises be heard before which all has landed.
    fn let_hear(&mut self, heard: &mut VecDeque<Raised>) {
        let whole_to = self.landed.whole_to();
        let due = self.waiting.partition_point(|(place, _)| *place < whole_to);
        heard.extend(self.waiting.drain(..due).map(|(_, raised)| raised));
    }
}

/// The place of a part in its stream.
fn extent(header: &Header) -> (u64, u64) {
    let begin = header.number + header.offset;
    (begin, begin + u64::from(header.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::net::tcp::protocol::frame::Kind;

    const SPAN: Span = Span {
        address: 5000,
        bytes: 100,
    };

    fn put(window: u32, number: u64, (place, length): (u64, u64)) -> Header {
        Header {
            tag: window,
            number,
            length,
            bytes: length as u32,
            signature: place,
            ..Header::new(Kind::Put)
        }
    }

    fn raise(window: u32, number: u64, flag: u64) -> Header {
        Header {
            tag: window,
            number,
            offset: flag,
            length: 9,
            ..Header::new(Kind::Raise)
        }
    }

    fn heard(windows: &mut Windows) -> Vec<u16> {
        std::iter::from_fn(|| windows.raised())
            .map(|raised| raised.flag)
            .collect()
    }

    #[test]
    fn a_flag_is_heard_when_all_that_was_put_before_has_landed() {
        let mut windows = Windows::default();
        let at = windows.expose(SPAN, 4).unwrap();
        // 0..30, 30, 31..41, 41, 42
        let (first, second) = (put(at, 0, (10, 30)), put(at, 31, (90, 10)));
        for (number, flag) in [(42, 2), (30, 0), (41, 1), (41, 1)] {
            windows.raise(1, &raise(at, number, flag)).unwrap();
        }
        assert_eq!(windows.admit(1, &second), Ok(true));
        assert_eq!(windows.span(&second, 4), Some(SPAN.part(94, 6)));
        assert_eq!(windows.land(1, &second), Ok(true));
        assert_eq!(heard(&mut windows), []);
        let halves = [0, 15].map(|offset| Header {
            offset,
            bytes: 15,
            ..first
        });
        assert_eq!(windows.land(1, &halves[1]), Ok(false));
        assert_eq!(windows.admit(1, &halves[1]), Ok(false), "it came before");
        assert_eq!(heard(&mut windows), []);
        assert_eq!(windows.land(1, &halves[0]), Ok(true));
        assert_eq!(heard(&mut windows), [0, 1, 2]);
        windows.raise(1, &raise(at, 30, 0)).unwrap();
        assert_eq!(heard(&mut windows), [], "it came before");
        // Another rank's stream is another matter.
        windows.raise(2, &raise(at, 0, 3)).unwrap();
        assert_eq!(heard(&mut windows), [3]);
    }

    #[test]
    fn what_comes_for_a_withdrawn_window_is_thrown_away() {
        let mut windows = Windows::default();
        let [one, other] = [(); 2].map(|()| windows.expose(SPAN, 1).unwrap());
        windows.raise(1, &raise(one, 0, 0)).unwrap();
        windows.raise(1, &raise(other, 0, 0)).unwrap();
        windows.withdraw(one);
        assert_eq!(windows.raised().map(|raised| raised.window), Some(other));
        assert_eq!(windows.admit(1, &put(one, 1, (0, 200))), Ok(false));
        assert_eq!(windows.span(&put(one, 1, (0, 5)), 0), None);
        assert_eq!(windows.raise(1, &raise(one, 1, 7)), Ok(()));
        assert_eq!(heard(&mut windows), []);
        let window = other + 1;
        let never = FrameError::Window { window };
        assert_eq!(windows.admit(1, &put(window, 0, (0, 1))), Err(never));
        assert_eq!(windows.raise(1, &raise(window, 0, 0)), Err(never));
    }

    #[test]
    fn what_does_not_fit_its_window_is_named() {
        let mut windows = Windows::default();
        let window = windows.expose(SPAN, 2).unwrap();
        for (place, length) in [(0, 101), (100, 1), (u64::MAX, 1), (1, u64::MAX)] {
            let outside = FrameError::OutsideWindow {
                window,
                place,
                length,
                bytes: 100,
            };
            let header = Header {
                bytes: 1,
                ..put(window, 0, (place, length))
            };
            assert_eq!(windows.admit(1, &header), Err(outside));
        }
        assert_eq!(windows.admit(1, &put(window, 0, (0, 100))), Ok(true));
        let (flag, flags) = (2, 2);
        let wrong = FrameError::Flag {
            window,
            flag,
            flags,
        };
        assert_eq!(windows.raise(1, &raise(window, 0, flag)), Err(wrong));
        let number = MOST_AHEAD_BYTES + 1;
        let far = FrameError::Number {
            number,
            expected: 0,
        };
        assert_eq!(windows.raise(1, &raise(window, number, 0)), Err(far));
        assert_eq!(windows.admit(1, &put(window, number, (0, 1))), Err(far));
        let most = MOST_WAITING;
        let many = (1..).find_map(|at| windows.raise(1, &raise(window, 2 * at, 0)).err());
        assert_eq!(many, Some(FrameError::AheadOfPuts { window, most }));
    }
}
