//! A wire: one simulated TCP connection, with a delay, a rate and a capacity of its own.

use super::world::{DOUBTED_AFTER, SILENT_FOR};
use std::collections::VecDeque;
use std::time::Duration;

/// One of its two directions.
#[derive(Debug, Default)]
pub struct Pipe {
    /// What is under way, with the time of its arrival.
    flying: VecDeque<(Duration, Vec<u8>)>,
    /// What has arrived and was not read.
    pub there: VecDeque<u8>,
    bytes: usize,
    last: Duration,
}

impl Pipe {
    /// Lets arrive what has by now.
    pub fn arrive(&mut self, now: Duration) {
        while self.flying.front().is_some_and(|(when, _)| *when <= now) {
            let (_, bytes) = self.flying.pop_front().expect("there is one");
            self.there.extend(bytes);
        }
    }

    /// Takes what has arrived, at most so much.
    pub fn read(&mut self, most: usize) -> Vec<u8> {
        let taken = most.min(self.there.len());
        self.bytes -= taken;
        self.there.drain(..taken).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

/// One end.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub rank: usize,
    /// The connection's number there; none when it was closed.
    pub connection: Option<u32>,
    /// When it notices that the wire is cut, if it is.
    pub notices: Option<Duration>,
    /// Whether its writer found it full.
    pub is_blocked: bool,
}

#[derive(Debug)]
pub struct Wire {
    pub ends: [End; 2],
    /// What goes to each end.
    pub pipes: [Pipe; 2],
    pub delay: Duration,
    pub byte_time: Duration,
    pub capacity: usize,
    /// What each end has written and its system has not heard that it arrived, with the time at which it does.
    pub unheard: [VecDeque<(Duration, usize)>; 2],
    /// Whether the system at one end is gone, which the other finds out, if at all, because nothing answers it.
    pub is_silent: bool,
}

impl Wire {
    /// Whether this end's system can see by now that the other one leaves something unanswered.
    pub fn is_silent_by(&self, end: usize, now: Duration) -> bool {
        let notices = self.ends[end].notices;
        self.is_silent && notices.is_some_and(|when| when <= now + SILENT_FOR - DOUBTED_AFTER)
    }

    /// Whether something has arrived here that was not read, so that the other end was heard.
    pub fn has_moved(&self, end: usize) -> bool {
        !self.pipes[end].there.is_empty()
    }

    /// How much can be written by this end.
    pub fn room(&self, end: usize) -> usize {
        self.capacity - self.pipes[1 - end].bytes.min(self.capacity)
    }

    /// How many bytes that were written by this end the other one's system has not acknowledged.
    pub fn unacknowledged(&mut self, end: usize, now: Duration) -> u64 {
        let unheard = &mut self.unheard[end];
        while unheard.front().is_some_and(|(when, _)| *when <= now) {
            unheard.pop_front();
        }
        unheard.iter().map(|(_, bytes)| *bytes as u64).sum()
    }

    /// Writes from one end.
    pub fn write(&mut self, end: usize, bytes: Vec<u8>, now: Duration) {
        let pipe = &mut self.pipes[1 - end];
        let begin = pipe.last.max(now);
        pipe.last = begin + self.byte_time * bytes.len() as u32;
        pipe.bytes += bytes.len();
        let heard = (pipe.last + 2 * self.delay, bytes.len());
        self.unheard[end].push_back(heard);
        pipe.flying.push_back((pipe.last + self.delay, bytes));
    }

    /// Loses everything that is under way, and lets both ends notice at some time.
    pub fn cut(&mut self, notices: [Duration; 2]) {
        for (end, notices) in self.ends.iter_mut().zip(notices) {
            end.notices.get_or_insert(notices);
        }
        self.pipes = Default::default();
    }

    /// One end loses it and all that would come to it; what it has written still arrives, and then the other notices, too.
    pub fn cut_half(&mut self, end: usize, now: Duration) {
        self.pipes[end] = Pipe::default();
        let last = self.pipes[1 - end].last.max(now) + self.delay;
        self.ends[end].notices.get_or_insert(now);
        self.ends[1 - end].notices.get_or_insert(last);
    }

    /// The system at one end is gone; the other notices when, unless it waits for room: then its own system asks so seldom that it
    /// may as well never.
    pub fn vanish(&mut self, end: usize, notices: Duration) -> bool {
        self.is_silent = true;
        self.ends[end].connection = None;
        let is_full = self.room(1 - end) == 0;
        if !is_full {
            self.ends[1 - end].notices.get_or_insert(notices);
        }
        is_full
    }

    /// One end closes it; what it has written still arrives, and then the other notices.
    pub fn close(&mut self, end: usize, now: Duration) {
        self.ends[end].connection = None;
        self.pipes[end] = Pipe::default();
        let last = self.pipes[1 - end].last.max(now) + self.delay;
        self.ends[1 - end].notices.get_or_insert(last);
    }
}
