//! Sockets: how the ranks of a simulated world connect, read and write.

use super::counts::Event;
use super::wire::{End, Pipe, Wire};
use super::world::{World, micros};
use crate::transport::net::tcp::protocol::frame::VERSION;
use crate::transport::net::tcp::protocol::memory::Memory;
use crate::transport::net::tcp::protocol::peer::Loss;
use crate::transport::net::tcp::protocol::rank::{Action, Piece, Target};
use std::time::Duration;

impl World {
    /// Lets connections be made that were asked for.
    pub(super) fn decide(&mut self, at: usize) -> bool {
        let now = self.now;
        let due = |(when, ..): &(Duration, u32, usize, u32)| *when <= now;
        let asked: Vec<_> = self.nodes[at]
            .asked
            .extract_if(.., |asked| due(asked))
            .collect();
        let is_busy = !asked.is_empty();
        for (_, connection, to, _) in asked {
            if self.nodes[to].vanishes {
                // Nobody says anything; the rank finds that out by itself.
                continue;
            }
            if self.nodes[to].is_dead {
                self.nodes[at].rank.lost(connection, Loss::Refused);
                continue;
            }
            // Where systems answer late, what fails as well would take too long in all.
            if !self.is_slow() && self.chance.one_in(40) {
                self.counts.add(Event::Unreached, 1);
                self.nodes[at].rank.lost(connection, Loss::Silent);
                continue;
            }
            let (mine, theirs) = (self.chance.nonce(), self.chance.nonce());
            let accepted = self.nodes[to].rank.accepted(&theirs);
            self.act(to);
            self.nodes[at].rank.connected(connection, &mine);
            self.join((at, Some(connection)), (to, Some(accepted)));
            self.intrude(to);
        }
        is_busy
    }

    /// A wire between two ends.
    fn join(&mut self, one: (usize, Option<u32>), other: (usize, Option<u32>)) -> &mut Wire {
        let ends = [one, other].map(|(rank, connection)| End {
            rank,
            connection,
            notices: None,
            is_blocked: false,
        });
        self.wires.push(Wire {
            ends,
            pipes: [Pipe::default(), Pipe::default()],
            delay: micros(self.chance.within(1, 3000)),
            byte_time: Duration::from_nanos(self.chance.below(2000)),
            capacity: self.chance.within(100, 5000) as usize,
            unheard: Default::default(),
            is_silent: false,
        });
        self.wires.last_mut().expect("one was added")
    }

    /// Now and then somebody else connects, says something, and goes.
    fn intrude(&mut self, to: usize) {
        if !self.chance.one_in(10) {
            return;
        }
        let nonce = self.chance.nonce();
        let accepted = self.nodes[to].rank.accepted(&nonce);
        self.act(to);
        let length = self.chance.below(100);
        let mut bytes: Vec<u8> = (0..length).map(|_| self.chance.next() as u8).collect();
        if self.chance.one_in(2) {
            let start = [b'A', b'h', VERSION, 0x81];
            bytes.splice(0..0, start);
        }
        let now = self.now;
        let wire = self.join((usize::MAX, None), (to, Some(accepted)));
        wire.write(0, bytes, now);
        wire.close(0, now + micros(500));
        self.counts.add(Event::Stranger, 1);
    }

    pub(super) fn read_all(&mut self, at: usize) -> bool {
        let mut is_busy = false;
        for wire in 0..self.wires.len() {
            for end in 0..2 {
                if self.wires[wire].ends[end].rank == at {
                    is_busy |= self.read(at, wire, end);
                }
            }
        }
        is_busy
    }

    /// Reads what is there, in pieces of any length.
    fn read(&mut self, at: usize, wire: usize, end: usize) -> bool {
        let now = self.now;
        let mut is_busy = false;
        while let Some(connection) = self.wires[wire].ends[end].connection {
            let pipe = &mut self.wires[wire].pipes[end];
            pipe.arrive(now);
            let most = self.chance.within(1, 600) as usize;
            if pipe.there.is_empty() {
                let is_empty = pipe.is_empty();
                let loss = match self.wires[wire].is_silent {
                    true => Loss::Silent,
                    false => Loss::Closed,
                };
                let end = &mut self.wires[wire].ends[end];
                let is_over = is_empty && end.notices.is_some_and(|when| when <= now);
                if is_over {
                    end.connection = None;
                    self.nodes[at].rank.lost(connection, loss);
                    self.act(at);
                    return true;
                }
                return is_busy;
            }
            is_busy = true;
            let rank = &mut self.nodes[at].rank;
            let span = match rank.target(connection) {
                Target::Own(into) => {
                    let bytes = pipe.read(most.min(into.len()));
                    into[..bytes.len()].copy_from_slice(&bytes);
                    rank.landed(connection, bytes.len());
                    None
                }
                Target::Users(span) => Some(span),
                Target::Protocol | Target::Nowhere(_) => {
                    let bytes = pipe.read(most);
                    rank.arrived(connection, &bytes);
                    None
                }
            };
            if let Some(span) = span {
                let bytes = pipe.read(most.min(span.bytes));
                let part = span.part(0, bytes.len());
                rank.memory_mut().write(part, &bytes);
                rank.landed(connection, bytes.len());
            }
            self.act(at);
        }
        is_busy
    }

    pub(super) fn write_all(&mut self, at: usize) -> bool {
        let mut is_busy = false;
        for wire in &mut self.wires {
            for end in 0..2 {
                let has_room = wire.room(end) > 0;
                let is_silent = wire.is_silent_by(end, self.now);
                let unacknowledged = wire.unacknowledged(end, self.now);
                let is_heard = wire.ends[1 - end].connection.is_some() && wire.has_moved(end);
                let end = &mut wire.ends[end];
                if let (true, Some(connection)) = (end.rank == at, end.connection) {
                    if is_heard {
                        self.nodes[at].rank.answered(connection);
                    }
                    let rank = &mut self.nodes[at].rank;
                    rank.doubted(connection, !has_room || is_silent);
                    rank.delivered(connection, unacknowledged);
                }
                if let (true, true, Some(connection)) =
                    (end.rank == at && end.is_blocked, has_room, end.connection)
                {
                    end.is_blocked = false;
                    self.nodes[at].rank.writable(connection);
                }
            }
        }
        while let Some(connection) = self.nodes[at].rank.transmit() {
            is_busy = true;
            self.write(at, connection);
            self.act(at);
        }
        is_busy
    }

    fn write(&mut self, at: usize, connection: u32) {
        let is_it = |end: &End| (end.rank, end.connection) == (at, Some(connection));
        let ends = |wire: &Wire| wire.ends.iter().position(is_it);
        let mut wires = self
            .wires
            .iter_mut()
            .filter_map(|wire| Some((ends(wire)?, wire)));
        let (end, wire) = wires.next().expect("what is written to has a wire");
        let rank = &mut self.nodes[at].rank;
        let mut bytes = Vec::new();
        let mut spans = Vec::new();
        rank.pieces(connection, |piece| match piece {
            Piece::Own(own) => {
                spans.push((bytes.len(), None));
                bytes.extend_from_slice(own);
            }
            Piece::Users(span) => {
                spans.push((bytes.len(), Some(span)));
                bytes.resize(bytes.len() + span.bytes, 0);
            }
        });
        for (begin, span) in spans {
            if let Some(span) = span {
                let into = &mut bytes[begin..begin + span.bytes];
                rank.memory_mut().read(span, into);
            }
        }
        let all = bytes.len();
        bytes.truncate(wire.room(end).min(self.chance.within(1, 900) as usize));
        let written = bytes.len();
        if wire.ends[end].notices.is_none() && wire.ends[1 - end].connection.is_some() {
            wire.write(end, bytes, self.now);
        }
        if written < all && wire.room(end) == 0 {
            wire.ends[end].is_blocked = true;
            rank.blocked(connection);
        }
        rank.written(connection, written);
    }

    /// Does what a rank asks for.
    pub(super) fn act(&mut self, at: usize) {
        while let Some(action) = self.nodes[at].rank.action() {
            match action {
                Action::Connect {
                    connection,
                    peer,
                    rail,
                } => {
                    let most = self.connects_within.as_micros() as u64;
                    let when = self.now + micros(self.chance.within(10, most));
                    let asked = (when, connection, peer as usize, rail);
                    self.nodes[at].asked.push(asked);
                }
                Action::Close { connection } => {
                    self.nodes[at].asked.retain(|asked| asked.1 != connection);
                    let now = self.now;
                    for wire in &mut self.wires {
                        let is_it =
                            |end: &End| (end.rank, end.connection) == (at, Some(connection));
                        if let Some(end) = wire.ends.iter().position(is_it) {
                            wire.close(end, now);
                        }
                    }
                }
                Action::Warn { .. } => {}
            }
        }
    }
}
