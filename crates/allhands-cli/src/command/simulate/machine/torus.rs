//! Machines that are a mesh or torus: what their files say.

use super::{MOST, Times, linear, picoseconds};
use allhands_core::algorithm::Layer;
use allhands_core::machine::{Fabrics, Torus};
use allhands_core::simulate::{Beginning, Linear, TorusSettings, Tree};
use anyhow::{Context, ensure};
use serde::Deserialize;

/// The nodes of the largest machine, up to which trees and wires grow.
const FULL: f64 = 65_536.0;

/// The partitions of B's table 1.
const PARTITIONS: [&str; 8] = [
    "4x4x2", "8x4x2", "8x4x4", "8x8x4", "8x8x8", "8x8x16", "8x16x16", "8x32x16",
];

/// A mesh or torus of packets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TorusFile {
    routing: Routing,
    ranks_per_node: u32,
    payload_mb_s: f64,
    hop_ns: f64,
    packet_bytes: u32,
    header_bytes: u32,
    buffer_bytes: u32,
    injection_queues: u32,
    injection_bytes: u32,
    reception_bytes: u32,
    packets_a_turn: u32,
    inject_us: f64,
    inject_byte_ns: f64,
    take_us: f64,
    take_byte_ns: f64,
    direct: Option<Direct>,
    random: Option<Random>,
    point_to_point: Option<PointToPoint>,
    tree: Option<TreeFile>,
    interrupt: Option<InterruptFile>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Routing {
    Adaptive,
    Deterministic,
}

/// What messages take that do not go through point-to-point messages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Direct {
    message_us: f64,
}

/// What packets take of processors.
#[derive(Clone, Debug)]
struct Packets {
    inject_us: f64,
    inject_byte_ns: f64,
    take_us: f64,
    take_byte_ns: f64,
}

/// What messages of MPI take.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PointToPoint {
    /// Whether a rank puts in all of a message before the next.
    #[serde(default)]
    one_at_a_time: bool,
    /// What it takes to look at a posted receive that is for another message.
    #[serde(default)]
    match_us: f64,
    inject_us: f64,
    inject_byte_ns: f64,
    take_us: f64,
    take_byte_ns: f64,
}

/// What messages take of algorithms that turn from peer to peer at random.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Random {
    call_us: f64,
    message_us: f64,
    short_bytes: u64,
    short_byte_ns: f64,
    byte_ns: f64,
    peers: u32,
    growth: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeFile {
    payload_mb_s: f64,
    call_us: f64,
    full_us: f64,
    convert_byte_ns: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InterruptFile {
    full_us: f64,
}

impl TorusFile {
    /// Whether all numbers can be.
    ///
    /// # Errors
    /// The first one that cannot.
    pub fn check(&self) -> anyhow::Result<()> {
        let mut times = vec![
            ("hop_ns", self.hop_ns),
            ("inject_us", self.inject_us),
            ("inject_byte_ns", self.inject_byte_ns),
            ("take_us", self.take_us),
            ("take_byte_ns", self.take_byte_ns),
        ];
        let direct = self.direct.iter();
        times.extend(direct.map(|direct| ("direct.message_us", direct.message_us)));
        if let Some(packets) = &self.point_to_point {
            times.extend([
                ("point_to_point.inject_us", packets.inject_us),
                ("point_to_point.inject_byte_ns", packets.inject_byte_ns),
                ("point_to_point.take_us", packets.take_us),
                ("point_to_point.take_byte_ns", packets.take_byte_ns),
                ("point_to_point.match_us", packets.match_us),
            ]);
        }
        let mut rates = vec![("payload_mb_s", self.payload_mb_s)];
        if let Some(tree) = &self.tree {
            rates.push(("tree.payload_mb_s", tree.payload_mb_s));
            times.extend([
                ("tree.call_us", tree.call_us),
                ("tree.full_us", tree.full_us),
                ("tree.convert_byte_ns", tree.convert_byte_ns),
            ]);
        }
        if let Some(wires) = &self.interrupt {
            times.extend([("interrupt.full_us", wires.full_us)]);
        }
        super::check_times(&times)?;
        for (name, value) in rates {
            ensure!(
                value > 0.0 && value <= MOST,
                "{name} = {value}: a rate, above 0 and up to {MOST}"
            );
        }
        if let Some(random) = &self.random {
            random.check()?;
        }
        self.settings("8x8x8".parse()?, Layer::default(), &Times::default())
            .check()?;
        Ok(())
    }

    /// Where `ranks` ranks are, if nobody says: a partition of B's table 1.
    ///
    /// # Errors
    /// When none has so many ranks.
    pub fn partition(&self, ranks: u32) -> anyhow::Result<Torus> {
        let parsed = PARTITIONS.iter().filter_map(|text| text.parse().ok());
        let mut fits = parsed.filter(|torus: &Torus| torus.ranks() * self.ranks_per_node == ranks);
        fits.next().with_context(|| {
            format!(
                "there is no usual partition with {ranks} ranks; right would be one of {}, or its shape behind the machine's name, such as bluegene-l:5x3x2",
                PARTITIONS.join(", ")
            )
        })
    }

    /// The ranks of a machine with these nodes.
    pub fn ranks(&self, torus: Torus) -> u32 {
        torus.ranks().saturating_mul(self.ranks_per_node)
    }

    /// What hardware all ranks meet in.
    pub fn fabrics(&self, torus: Torus) -> Fabrics {
        let nodes = torus.ranks();
        // B 4.
        let wired = [32, 128].contains(&nodes) || nodes.is_multiple_of(512);
        Fabrics {
            tree: self.tree.is_some(),
            interrupt: self.interrupt.is_some() && wired,
        }
    }

    /// The network for messages of algorithms of a layer.
    pub fn settings(&self, torus: Torus, layer: Layer, times: &Times) -> TorusSettings {
        let chunk_us = f64::from(self.packet_bytes.saturating_sub(self.header_bytes))
            / self.payload_mb_s
            / f64::from(self.packet_bytes / 32).max(1.0);
        let (direct, random) = match layer {
            Layer::PointToPoint => (None, None),
            Layer::Packets => (self.direct.as_ref(), None),
            Layer::PacketsInRandomOrder => (self.direct.as_ref(), self.random.as_ref()),
        };
        let message_us = [times.send_us, times.receive_us].map(|us| us.unwrap_or(0.0));
        let [send, receive] = match (direct, random) {
            (_, Some(random)) => [self.beginning(random, torus); 2],
            (Some(direct), None) => [fixed(direct.message_us); 2],
            (None, None) => message_us.map(fixed),
        };
        let messages = self.point_to_point.as_ref();
        let messages = messages.filter(|_| direct.is_none() && random.is_none());
        let packets = messages.map_or_else(|| self.packets(), PointToPoint::packets);
        let call_us = random.map_or(0.0, |random| random.call_us);
        let fabrics = self.fabrics(torus);
        TorusSettings {
            torus,
            ranks_per_node: self.ranks_per_node,
            chunk_ps: picoseconds(chunk_us),
            hop_ps: picoseconds(self.hop_ns / 1000.0),
            packet_bytes: self.packet_bytes,
            header_bytes: self.header_bytes,
            buffer_bytes: self.buffer_bytes,
            injection_queues: self.injection_queues,
            injection_bytes: self.injection_bytes,
            reception_bytes: self.reception_bytes,
            adaptive: self.routing == Routing::Adaptive,
            packets_a_turn: match messages {
                Some(messages) if messages.one_at_a_time => u32::MAX,
                Some(_) | None => self.packets_a_turn,
            },
            inject: linear(packets.inject_us, packets.inject_byte_ns),
            take: linear(packets.take_us, packets.take_byte_ns),
            send,
            receive,
            match_ps: picoseconds(messages.map_or(0.0, |messages| messages.match_us)),
            agreement: [message_us[0], message_us[1] + times.reduce_us].map(fixed),
            copy: linear(0.0, times.copy_byte_ns),
            reduce: linear(times.reduce_us, times.reduce_byte_ns),
            start_ps: picoseconds(call_us),
            tree: self
                .tree
                .as_ref()
                .map(|tree| tree.of(torus, &self.packets())),
            interrupt_ps: self
                .interrupt
                .as_ref()
                .filter(|_| fabrics.interrupt)
                .map(|wires| wires.of(torus)),
        }
    }

    /// Has messages begin for nothing, of algorithms that turn from peer to peer at random.
    pub fn begin_for_nothing(&mut self) {
        if let Some(random) = &mut self.random {
            (random.call_us, random.message_us) = (0.0, 0.0);
            (random.short_byte_ns, random.byte_ns) = (0.0, 0.0);
        }
    }

    /// What packets take that are no part of point-to-point messages.
    fn packets(&self) -> Packets {
        Packets {
            inject_us: self.inject_us,
            inject_byte_ns: self.inject_byte_ns,
            take_us: self.take_us,
            take_byte_ns: self.take_byte_ns,
        }
    }

    /// Half of what it takes to begin with a message: the sender's part, or the receiver's.
    fn beginning(&self, random: &Random, torus: Torus) -> Beginning {
        let peers = f64::from(self.ranks(torus)) / f64::from(random.peers.max(1));
        let byte_half = peers.powf(random.growth) / 2.0;
        let payload = self.packet_bytes.saturating_sub(self.header_bytes);
        Beginning {
            fixed_ps: picoseconds(random.message_us / 2.0),
            short_bytes: random.short_bytes,
            short_byte_fs: picoseconds(byte_half * random.short_byte_ns),
            first_bytes: u64::from(payload) * u64::from(self.packets_a_turn),
            byte_fs: picoseconds(byte_half * random.byte_ns),
        }
    }
}

impl PointToPoint {
    fn packets(&self) -> Packets {
        Packets {
            inject_us: self.inject_us,
            inject_byte_ns: self.inject_byte_ns,
            take_us: self.take_us,
            take_byte_ns: self.take_byte_ns,
        }
    }
}

impl Random {
    fn check(&self) -> anyhow::Result<()> {
        super::check_times(&[
            ("random.call_us", self.call_us),
            ("random.message_us", self.message_us),
            ("random.short_byte_ns", self.short_byte_ns),
            ("random.byte_ns", self.byte_ns),
        ])?;
        let growth = self.growth;
        ensure!(
            (0.0..=100.0).contains(&growth),
            "random.growth = {growth}: from 0 to 100"
        );
        ensure!(self.peers > 0, "random.peers = 0: 1 or more");
        Ok(())
    }
}

impl TreeFile {
    /// A packet's bytes are put in and taken out as those of the torus are.
    fn of(&self, torus: Torus, packets: &Packets) -> Tree {
        Tree {
            latency_ps: picoseconds(self.call_us + self.full_us * height(torus)),
            packet_ps: picoseconds(256.0 / self.payload_mb_s),
            first_byte_fs: picoseconds(packets.inject_byte_ns + packets.take_byte_ns),
            convert: Linear {
                fixed_ps: 0,
                per_byte_fs: picoseconds(self.convert_byte_ns),
            },
        }
    }
}

impl InterruptFile {
    fn of(&self, torus: Torus) -> u64 {
        picoseconds(self.full_us * height(torus))
    }
}

/// The height of a tree of these nodes, by that of the largest machine's.
fn height(torus: Torus) -> f64 {
    f64::from(torus.ranks()).log2() / FULL.log2()
}

fn fixed(us: f64) -> Beginning {
    Beginning {
        fixed_ps: picoseconds(us),
        ..Beginning::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Machine;

    #[test]
    fn shapes_are_read_and_mistakes_named() {
        let found = |name: &str| Machine::find(name).map(|machine| machine.ranks());
        assert_eq!(found("bluegene-l").expect("it is there"), None);
        assert_eq!(
            found("bluegene-l:5x3x2:torus").expect("it is there"),
            Some(30)
        );
        let said = |name: &str| format!("{:#}", Machine::find(name).unwrap_err());
        assert!(said("bluegene-l:5x3x2:ring").contains("8x8x8:mesh"));
        assert!(said("hockney:4x4").contains("no torus"));
    }
}
