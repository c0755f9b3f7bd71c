//! What a torus is made of: its shape, its links and buffers, and what its processors take.

use crate::machine::Torus;
use crate::simulate::time::Linear;
use core::fmt;

/// The bytes of which packets have a multiple.
pub(super) const CHUNK_BYTES: u32 = 32;

/// The most chunks of a packet.
pub(super) const MOST_CHUNKS: u32 = 8;

/// The longest dimension.
const LONGEST: u32 = 64;

/// The most nodes.
const MOST_NODES: u32 = 65_536;

/// A mesh or torus, and what its processors take (B 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TorusSettings {
    /// Its nodes.
    pub torus: Torus,
    /// Ranks of a node, one after another.
    pub ranks_per_node: u32,
    /// How long 32 bytes of a packet occupy a link.
    pub chunk_ps: u64,
    /// From the start of a packet on a link to the moment when it can leave its next node.
    pub hop_ps: u64,
    /// The most bytes of a packet: 32 to 256, in steps of 32.
    pub packet_bytes: u32,
    /// How many of a packet's bytes are no payload.
    pub header_bytes: u32,
    /// What a buffer holds, of one virtual channel at one incoming link.
    pub buffer_bytes: u32,
    /// The number of queues into which a node's processors put packets, 1 to 6.
    pub injection_queues: u32,
    /// What each of them holds.
    pub injection_bytes: u32,
    /// What a node holds of packets that came over one link until a processor takes them in.
    pub reception_bytes: u32,
    /// Whether packets choose among the shortest ways; otherwise they go along x, then y, then z.
    pub adaptive: bool,
    /// How many packets of a message a rank injects before it turns to its next message.
    pub packets_a_turn: u32,
    /// What a processor takes to put a packet into the network, by its length.
    pub inject: Linear,
    /// To take one in.
    pub take: Linear,
    /// To begin to send a message.
    pub send: Beginning,
    /// To begin to receive a message.
    pub receive: Beginning,
    /// To look at a posted receive that is for another message, before the one that is for a message that comes.
    pub match_ps: u64,
    /// To begin to send a message by which ranks agree on an algorithm, and to receive one and combine what it says, whatever the
    /// algorithm's own messages take.
    pub agreement: [Beginning; 2],
    /// To copy.
    pub copy: Linear,
    /// To combine two operands, by the length of one.
    pub reduce: Linear,
    /// When the processors are ready for a call's first message.
    pub start_ps: u64,
    /// The network that combines, if there is one.
    pub tree: Option<Tree>,
    /// How long the wires take that tell all when all have raised them, if there are any.
    pub interrupt_ps: Option<u64>,
}

/// A network that combines packets of 256 bytes on their way up and sends them down again (B 2.1, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Up and down, with what the processors take for a call, in picoseconds.
    pub latency_ps: u64,
    /// From a packet to the next, in picoseconds.
    pub packet_ps: u64,
    /// What the processors take for each byte of the first packet, in femtoseconds; those of the others overlap.
    pub first_byte_fs: u64,
    /// What they take to turn numbers into those that the tree combines, and back.
    pub convert: Linear,
}

/// What a packet of the tree carries.
const TREE_PACKET_BYTES: u64 = 256;

impl Tree {
    /// How long a meeting takes, in picoseconds.
    #[must_use]
    pub fn meeting_ps(&self, bytes: u64, converted: bool) -> u64 {
        let packets = bytes.div_ceil(TREE_PACKET_BYTES).max(1);
        let first = bytes.min(TREE_PACKET_BYTES);
        let converts_ps = if converted { self.convert.of(bytes) } else { 0 };
        self.latency_ps
            + packets * self.packet_ps
            + (first * self.first_byte_fs).div_ceil(1000)
            + converts_ps
    }
}

/// What a processor takes to begin with a message, beside what its packets take: so much, and so much a byte of its first ones,
/// which are not where a processor expects them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    /// For any message, in picoseconds.
    pub fixed_ps: u64,
    /// The first bytes, …
    pub short_bytes: u64,
    /// … and what each of them takes, in femtoseconds.
    pub short_byte_fs: u64,
    /// The bytes from the start of the message that count at all.
    pub first_bytes: u64,
    /// For each of them behind the short ones, in femtoseconds.
    pub byte_fs: u64,
}

impl Beginning {
    /// The time for a message of `bytes` bytes, in picoseconds.
    #[must_use]
    pub fn of(&self, bytes: u64) -> u64 {
        let first = bytes.min(self.first_bytes);
        let short = first.min(self.short_bytes);
        let fs = short * self.short_byte_fs + (first - short) * self.byte_fs;
        self.fixed_ps + fs.div_ceil(1000)
    }
}

/// What is wrong with a torus.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkError {
    /// A dimension is too long.
    Size {
        /// Its nodes.
        torus: Torus,
    },
    /// The ranks of a call are not as many as the machine has.
    Ranks {
        /// Those of the machine.
        there: u64,
        /// Those of the call.
        asked: u32,
    },
    /// A number is outside what it can be.
    Setting {
        /// Its name.
        name: &'static str,
        /// What it is.
        value: u32,
        /// What would be right.
        right: &'static str,
    },
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::Size { torus } => write!(
                f,
                "the torus {torus} is too large; each dimension has 1 to {LONGEST}, and together they have at most {MOST_NODES}"
            ),
            NetworkError::Ranks { there, asked } => write!(
                f,
                "the machine has {there} ranks and the call has {asked}; they must be as many"
            ),
            NetworkError::Setting { name, value, right } => {
                write!(f, "{name} = {value}; right would be {right}")
            }
        }
    }
}

impl core::error::Error for NetworkError {}

impl TorusSettings {
    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u64 {
        u64::from(self.torus.ranks()) * u64::from(self.ranks_per_node)
    }

    /// Whether there is such a torus.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), NetworkError> {
        let torus = self.torus;
        if torus.extents().iter().any(|size| *size > LONGEST) || torus.ranks() > MOST_NODES {
            return Err(NetworkError::Size { torus });
        }
        let packet = self.packet_bytes;
        // A packet enters a ring's escape channel only where another one fits behind it.
        let least_packets = if (0..3).any(|dimension| torus.wraps(dimension)) {
            2
        } else {
            1
        };
        let chunked = |bytes: u32| bytes.is_multiple_of(CHUNK_BYTES);
        let buffer =
            |bytes: u32, least: u32| bytes >= least * packet && chunked(bytes) && bytes <= 1 << 20;
        let wrong = [
            (
                "ranks_per_node",
                self.ranks_per_node,
                (1..=2).contains(&self.ranks_per_node),
                "1 or 2",
            ),
            (
                "packet_bytes",
                packet,
                chunked(packet) && (1..=MOST_CHUNKS).contains(&(packet / CHUNK_BYTES)),
                "32 to 256 in steps of 32",
            ),
            (
                "header_bytes",
                self.header_bytes,
                self.header_bytes < CHUNK_BYTES,
                "0 to 31",
            ),
            (
                "buffer_bytes",
                self.buffer_bytes,
                buffer(self.buffer_bytes, least_packets),
                "a multiple of 32 for one packet at least, for two where a dimension is a ring, and at most 1 MB",
            ),
            (
                "injection_queues",
                self.injection_queues,
                (1..=6).contains(&self.injection_queues),
                "1 to 6",
            ),
            (
                "injection_bytes",
                self.injection_bytes,
                buffer(self.injection_bytes, 1),
                "a multiple of 32 for one packet at least, and at most 1 MB",
            ),
            (
                "reception_bytes",
                self.reception_bytes,
                buffer(self.reception_bytes, 1),
                "a multiple of 32 for one packet at least, and at most 1 MB",
            ),
            (
                "packets_a_turn",
                self.packets_a_turn,
                self.packets_a_turn > 0,
                "1 or more",
            ),
        ];
        match wrong.into_iter().find(|(_, _, right, _)| !right) {
            Some((name, value, _, right)) => Err(NetworkError::Setting { name, value, right }),
            None => Ok(()),
        }
    }

    /// The payload of a full packet.
    pub(super) fn payload(&self) -> u64 {
        u64::from(self.packet_bytes - self.header_bytes)
    }
}
