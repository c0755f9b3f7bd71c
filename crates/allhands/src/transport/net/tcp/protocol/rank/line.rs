//! The line: in which long messages stand until it is their turn, so that each leaves before those that were begun after it.
//!
//! Two long messages that leave at once share this rank's rail, and neither is there before both nearly are; who waits for the first
//! to send it on waits twice as long. A message that needs a grant would also be overtaken by those that need none, though its grant
//! comes after one round trip, which is short beside the time that a long message takes:
//!
//! ```text
//!     begun          leaves              without a line
//!     2 MB to 2      2 MB to 2           1 MB to 1
//!     1 MB to 1      1 MB to 1           2 MB to 2, which 2 has to send on
//! ```
//!
//! A receiver that is not there yet must not hold the others up: a message whose grant does not come soon steps out of the line, and
//! leaves when that comes.

use super::Rank;
use crate::transport::net::tcp::protocol::frame::Kind;
use crate::transport::net::tcp::protocol::memory::Memory;
use std::collections::VecDeque;
use std::time::Duration;

/// A grant is waited for this part of the time that the next message in the line will take: no more than that is lost by a receiver
/// that is late.
const PATIENCE: f64 = 0.25;
/// Or so long, while nobody knows what that time is.
const FIRST_PATIENCE: Duration = Duration::from_millis(1);

/// A message's place in the line.
#[derive(Clone, Copy, Debug)]
struct Place {
    send: u32,
    /// The message's own number, as another one may be given that of `send`.
    serial: u64,
    since: Duration,
    bytes: usize,
    /// How it goes, if it may: else it waits for its grant.
    kind: Option<Kind>,
}

/// The long messages that have not begun to leave, in the order in which they were begun.
#[derive(Debug, Default)]
pub(super) struct Line {
    places: VecDeque<Place>,
    serials: u64,
    /// As fast as the fastest of them was.
    bytes_per_s: f64,
}

impl Line {
    /// Says that so many bytes have all arrived in so long.
    pub fn learn(&mut self, bytes: usize, taken: Duration) {
        let bytes_per_s = bytes as f64 / taken.as_secs_f64();
        if bytes_per_s.is_finite() {
            self.bytes_per_s = self.bytes_per_s.max(bytes_per_s);
        }
    }

    /// How long the first one's grant is waited for while one of so many bytes stands behind it.
    fn patience(&self, bytes: usize) -> Duration {
        let patience_s = PATIENCE * bytes as f64 / self.bytes_per_s;
        Duration::try_from_secs_f64(patience_s).unwrap_or(FIRST_PATIENCE)
    }
}

impl<M: Memory> Rank<M> {
    /// Puts a long message at the end of the line; whether it is one, and has to wait there.
    pub(super) fn stand_in_line(&mut self, at: u32, kind: Option<Kind>) -> bool {
        let is_message = matches!(kind, None | Some(Kind::Eager | Kind::Granted));
        let Some(send) = self.sends.get_mut(at) else {
            return false;
        };
        let (copied, short) = (self.settings.copied_bytes, self.settings.unlined_bytes);
        let is_long = send.span.bytes > copied.max(short) as usize;
        if !is_message || !is_long || (kind.is_some() && self.line.places.is_empty()) {
            return false;
        }
        self.line.serials += 1;
        let place = Place {
            send: at,
            serial: self.line.serials,
            since: self.now,
            bytes: send.span.bytes,
            kind,
        };
        (send.kind, send.serial) = (kind, place.serial);
        self.line.places.push_back(place);
        true
    }

    /// Says that a message may go that waited for its grant; whether it stands in the line.
    pub(super) fn granted_in_line(&mut self, at: u32) -> bool {
        let Some(send) = self.sends.get_mut(at) else {
            return false;
        };
        let serial = send.serial;
        let mut places = self.line.places.iter_mut();
        let Some(place) = places.find(|place| (place.send, place.serial) == (at, serial)) else {
            return false;
        };
        (place.kind, send.kind) = (Some(Kind::Granted), Some(Kind::Granted));
        true
    }

    /// Lets those at the front of the line leave that may, or all that may.
    pub(super) fn advance_line(&mut self, is_all: bool) {
        while let Some(first) = self.line.places.front().copied() {
            let send = self.sends.get(first.send);
            let send = send.filter(|send| send.serial == first.serial);
            let peer = send.map(|send| send.peer as usize);
            // One that was cancelled stands there still, or one whose peer is lost.
            let peer = peer.filter(|peer| self.peers[*peer].loss().is_none());
            if let (Some(_), None, false) = (peer, first.kind, is_all) {
                let Some(next) = self.line.places.get(1) else {
                    return;
                };
                let until = first.since + self.line.patience(next.bytes);
                if self.now < until {
                    return self.wake_by(until);
                }
            }
            self.line.places.pop_front();
            if let (Some(peer), Some(kind)) = (peer, first.kind) {
                self.begin_cutting(first.send, kind);
                self.tend(peer as u32);
                self.schedule(peer as u32);
            }
        }
    }
}
