//! Loads: what each rail carries and how fast, as the driver hears from the systems at both ends.

use super::Rank;
use crate::transport::net::tcp::protocol::memory::Memory;
use crate::transport::net::tcp::protocol::rate::Rate;
use crate::transport::net::tcp::protocol::stripe::{Way, next_part, quickest};
use std::time::Duration;

/// A rail with so many bytes under way is busy until some of them are acknowledged.
const BUSY_BYTES: u64 = 16 << 10;

/// How long a rank may sleep until it asks again what has come: while parts wait for room or a rate is not known, and else.
const SOON: Duration = Duration::from_millis(1);
const LATER: Duration = Duration::from_millis(4);

/// What a rail carries, to all ranks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    bytes: u64,
    rate: Rate,
}

impl<M: Memory> Rank<M> {
    /// Counts anew what a connection carries, of which something has changed.
    pub(super) fn settle(&mut self, at: u32) {
        if let Some(connection) = self.connections.get_mut(at) {
            let load = &mut self.loads[connection.rail as usize];
            let outbound = &mut connection.outbound;
            let now_bytes = outbound.load_bytes();
            let before_bytes = load.bytes;
            load.bytes = load.bytes + now_bytes - outbound.counted_bytes;
            outbound.counted_bytes = now_bytes;
            if load.bytes >= BUSY_BYTES {
                load.rate.begin(self.now, before_bytes);
            }
        }
    }

    /// What a connection that is lost has carried goes elsewhere.
    pub(super) fn unload(&mut self, at: u32, rail: u32, counted_bytes: u64) {
        self.loads[rail as usize].bytes -= counted_bytes;
        self.measured.retain(|other| *other != at);
    }

    /// Notes that the driver is to ask what the other end has of a connection, as it carries something and is not the only way.
    pub(super) fn measure(&mut self, at: u32) {
        if self.loads.len() < 2 {
            return;
        }
        if let Some(connection) = self.connections.get_mut(at)
            && connection.peer.is_some()
            && !std::mem::replace(&mut connection.outbound.is_measured, true)
        {
            self.measured.push(at);
        }
    }

    /// A connection of which the driver is to [say](Rank::delivered) what the other end's system has not acknowledged, by its
    /// place in a list of those; from the last place to the first, as that takes out those of which all was.
    #[must_use]
    pub fn measured(&self, place: usize) -> Option<u32> {
        self.measured.get(place).copied()
    }

    /// How many these are.
    #[must_use]
    pub fn count_measured(&self) -> usize {
        self.measured.len()
    }

    /// How long the driver may sleep until it looks after them, if there are any.
    #[must_use]
    pub fn measured_within(&self) -> Option<Duration> {
        let is_new = self
            .loads
            .iter()
            .any(|load| load.rate.bytes_per_s().is_none());
        let waits = |at: &u32| {
            let peer = self.connections.get(*at).and_then(|it| it.peer);
            peer.is_some_and(|peer| !self.peers[peer as usize].cutting.is_empty())
        };
        match self.measured.is_empty() {
            true => None,
            false if is_new || self.measured.iter().any(waits) => Some(SOON),
            false => Some(LATER),
        }
    }

    /// Says how many of the bytes that were written to a connection the other end's system has not acknowledged.
    pub fn delivered(&mut self, at: u32, left_bytes: u64) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(at) else {
            return self.measured.retain(|other| *other != at);
        };
        let (rail, peer) = (connection.rail as usize, connection.peer);
        let delivered = connection.outbound.delivered(left_bytes);
        if left_bytes == 0 {
            connection.outbound.is_measured = false;
            self.measured.retain(|other| *other != at);
        }
        self.settle(at);
        let load = &mut self.loads[rail];
        let is_busy = load.bytes >= BUSY_BYTES;
        load.rate.acknowledge(now, delivered, is_busy);
        if let Some(peer) = peer
            && delivered > 0
        {
            self.schedule(peer);
        }
    }

    /// By rail the connection to a rank that is done first.
    fn collect_ways(&mut self, to: u32) {
        self.ways.clear();
        for at in &self.peers[to as usize].open {
            let Some(connection) = self.connections.get(*at) else {
                continue;
            };
            let (rail, own_bytes) = (connection.rail, connection.outbound.load_bytes());
            let load = self.loads[rail as usize];
            let way = Way {
                connection: *at,
                own_bytes,
                backlog_bytes: load.bytes,
                bytes_per_s: load.rate.bytes_per_s(),
                is_measured: load.rate.is_measured(),
            };
            let place = self.ways.iter().position(|other| {
                let other = self.connections.get(other.connection);
                other.is_some_and(|other| other.rail == rail)
            });
            match place {
                Some(place) if self.ways[place].own_bytes > own_bytes => self.ways[place] = way,
                Some(_) => {}
                None => self.ways.push(way),
            }
        }
    }

    /// The connection over which so many bytes in one piece would be there first.
    pub(super) fn quickest_to(&mut self, to: u32, bytes: u64) -> Option<u32> {
        if let [only] = self.peers[to as usize].open[..] {
            return Some(only);
        }
        self.collect_ways(to);
        let (best, _) = quickest(&self.ways, bytes)?;
        Some(self.ways[best].connection)
    }

    /// The connection over which the next part of a message goes of which so many bytes are left, and how long it is.
    pub(super) fn next_part_to(&mut self, to: u32, bytes: u64, most: u64) -> Option<(u32, u64)> {
        if let [only] = self.peers[to as usize].open[..] {
            return Some((only, bytes.min(most)));
        }
        self.collect_ways(to);
        if let [only] = &self.ways[..] {
            return Some((only.connection, bytes.min(most)));
        }
        let least = self.settings.least_part_bytes();
        next_part(&mut self.ways, bytes, (least, most))
    }
}
