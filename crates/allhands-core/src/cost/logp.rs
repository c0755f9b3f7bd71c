//! LogP's family as models of a walk: LogGP, and the extended PLogP model for each level of a machine.
//!
//! ```text
//! sender's processor    os(m)│
//! sender's port              │  g(m)  │ g of the next
//! on its way                 └──────────▶│
//! receiver's port                        │  g(m)  │
//! receiver's processor                            │or(m)
//! ```
//!
//! A message of m bytes is L + g(m) from the moment at which it has its sender's port to the one at which its receiver can take it in, in
//! LogGP with g + mG for g(m) (Alexandrov and others 1995; C 3.1). A sender may use its memory again when its port is done. What is put into a window nobody takes
//! in, and a notification is a message of its own, behind the put.

use super::model::{Deed, Kind, Model, Passage};
use super::plogp::Measured;
use alloc::vec::Vec;

/// A model of LogP's family: times in microseconds, lengths in bytes.
pub trait LogP {
    /// How long the processor of `rank` is busy.
    fn overhead_us(&self, rank: u32, deed: Deed, bytes: f64) -> f64;

    /// How long a message has each port.
    fn gap_us(&self, passage: &Passage) -> f64;

    /// From its sender's port to its receiver's, without the gap.
    fn latency_us(&self, passage: &Passage) -> f64;

    /// [`Model::port`].
    fn port(&self, rank: u32, peer: u32) -> u32 {
        let _ = peer;
        rank
    }

    /// [`Model::port_count`].
    fn port_count(&self, ranks: u32) -> u32 {
        ranks
    }

    /// [`Model::deposits`].
    fn deposits(&self) -> bool {
        false
    }
}

impl<T: LogP> Model for T {
    /// Microseconds since all ranks entered.
    type Path = f64;

    const MEETS: bool = false;

    fn time_us(&self, path: &f64, _: f64) -> f64 {
        *path
    }

    fn worked(&self, path: f64, rank: u32, deed: Deed, (units, unit_bytes): (u64, f64)) -> f64 {
        path + self.overhead_us(rank, deed, units as f64 * unit_bytes)
    }

    fn carried(&self, path: f64, passage: &Passage) -> f64 {
        path + self.gap_us(passage)
    }

    fn travelled(&self, path: f64, passage: &Passage) -> f64 {
        path + self.latency_us(passage)
    }

    fn port(&self, rank: u32, peer: u32) -> u32 {
        LogP::port(self, rank, peer)
    }

    fn port_count(&self, ranks: u32) -> u32 {
        LogP::port_count(self, ranks)
    }

    fn deposits(&self) -> bool {
        LogP::deposits(self)
    }
}

/// LogGP: every pair of ranks is equally far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogGp {
    /// L.
    pub latency_us: f64,
    /// o of a sender.
    pub send_us: f64,
    /// o of a receiver.
    pub receive_us: f64,
    /// g.
    pub gap_us: f64,
    /// G, for each byte.
    pub gap_us_per_byte: f64,
    /// γ: to reduce a byte (T 3).
    pub gamma_us_per_byte: f64,
    /// To copy a byte.
    pub copy_us_per_byte: f64,
    /// Whether packets leave copies where they pass (B 3.1).
    pub deposits: bool,
}

impl LogP for LogGp {
    fn overhead_us(&self, _: u32, deed: Deed, bytes: f64) -> f64 {
        match deed {
            Deed::Send(_) | Deed::Put(_) | Deed::Get(_) | Deed::Notify(_) => self.send_us,
            Deed::Receive(_) => self.receive_us,
            Deed::Copy => bytes * self.copy_us_per_byte,
            Deed::Reduce => bytes * self.gamma_us_per_byte,
        }
    }

    fn gap_us(&self, passage: &Passage) -> f64 {
        self.gap_us + passage.bytes() * self.gap_us_per_byte
    }

    fn latency_us(&self, _: &Passage) -> f64 {
        self.latency_us
    }

    fn deposits(&self) -> bool {
        self.deposits
    }
}

/// What messages take between ranks of a node, or of two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Level {
    /// os(m).
    pub send: Measured,
    /// or(m).
    pub receive: Measured,
    /// L(m): from the moment at which the sender's processor has done its part to that at which the receiver's can begin.
    pub latency: Measured,
    /// g(m): how long a message has each port; at most L(m), which covers it.
    pub gap: Measured,
    /// What is done to windows, where these are memory that the ranks share; elsewhere it goes in messages.
    pub window: Option<Window>,
}

/// What ranks do to each other's windows by their own processors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// To write so many bytes.
    pub put: Measured,
    /// To read so many.
    pub get: Measured,
    /// To raise a flag.
    pub notify_us: f64,
    /// Until one that is raised is seen.
    pub notice_us: f64,
}

/// The extended PLogP model (C 3.1) with a level inside nodes and one between them. Ranks have ports of their own inside a node; between
/// nodes those of a node share its ports.
///
/// What several messages under way wait for one another but at ports (C's contention) is left to the simulator.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// The node of each rank.
    pub node_of: Vec<u32>,
    /// Between ranks of a node.
    pub inside: Level,
    /// Between ranks of different nodes.
    pub between: Level,
    /// To copy so many bytes.
    pub copy: Measured,
    /// γ(m): to combine two operands of so many bytes each.
    pub reduce: Measured,
}

impl Levels {
    fn is_inside(&self, one: u32, other: u32) -> bool {
        self.node_of.get(one as usize) == self.node_of.get(other as usize)
    }

    fn level(&self, one: u32, other: u32) -> &Level {
        match self.is_inside(one, other) {
            true => &self.inside,
            false => &self.between,
        }
    }

    /// The level of a message, and its window, if it is done there by processors alone.
    fn way(&self, passage: &Passage) -> (&Level, Option<&Window>) {
        let level = self.level(passage.from, passage.to);
        let window = level.window.as_ref();
        (level, window.filter(|_| passage.kind != Kind::Message))
    }
}

impl LogP for Levels {
    fn overhead_us(&self, rank: u32, deed: Deed, bytes: f64) -> f64 {
        match deed {
            Deed::Copy => self.copy.at_us(bytes),
            Deed::Reduce => self.reduce.at_us(bytes),
            Deed::Receive(peer) => self.level(rank, peer).receive.at_us(bytes),
            Deed::Send(peer) => self.level(rank, peer).send.at_us(bytes),
            Deed::Put(peer) => {
                let level = self.level(rank, peer);
                let put = level
                    .window
                    .as_ref()
                    .map_or(&level.send, |window| &window.put);
                put.at_us(bytes)
            }
            // Where it is asked for, the request has nothing of it.
            Deed::Get(peer) => match &self.level(rank, peer).window {
                Some(window) => window.get.at_us(bytes),
                None => self.level(rank, peer).send.at_us(0.0),
            },
            Deed::Notify(peer) => match &self.level(rank, peer).window {
                Some(window) => window.notify_us,
                None => self.level(rank, peer).send.at_us(0.0),
            },
        }
    }

    fn gap_us(&self, passage: &Passage) -> f64 {
        match self.way(passage) {
            (level, None) => level.gap.at_us(passage.bytes()),
            (_, Some(_)) => 0.0,
        }
    }

    fn latency_us(&self, passage: &Passage) -> f64 {
        match (self.way(passage), passage.kind) {
            ((_, Some(window)), Kind::Notice) => window.notice_us,
            ((_, Some(_)), _) => 0.0,
            ((level, None), _) => {
                let bytes = passage.bytes();
                (level.latency.at_us(bytes) - level.gap.at_us(bytes)).max(0.0)
            }
        }
    }

    fn port(&self, rank: u32, peer: u32) -> u32 {
        let ranks = self.node_of.len() as u32;
        match (self.is_inside(rank, peer), self.node_of.get(rank as usize)) {
            (false, Some(node)) => ranks + node,
            _ => rank,
        }
    }

    fn port_count(&self, ranks: u32) -> u32 {
        let nodes = self.node_of.iter().max().map_or(0, |last| last + 1);
        ranks.max(self.node_of.len() as u32) + nodes
    }
}

#[cfg(test)]
mod tests;
