//! Settings: what can be chosen.

use super::frame::MOST_PAYLOAD_BYTES;
use std::time::Duration;

/// What can be chosen; all ranks of a job choose alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How many tags there are, for all communicators.
    pub tags: u32,
    /// Connections for each rail and pair of ranks.
    pub connections: u32,
    /// The longest message that is sent without a grant, in bytes.
    pub eager_bytes: u32,
    /// What a rank keeps for each other of messages that nobody has asked for, in bytes.
    pub unexpected_bytes: u32,
    /// How many messages that nobody has asked for may be announced between two ranks, and how many may be granted before they
    /// are sent; more wait at their own end.
    pub announced: u32,
    /// The longest message of which a copy is made so that its send ends at once, in bytes.
    pub copied_bytes: u32,
    /// The shortest and the longest part of a message that goes over several rails, in bytes.
    pub part_bytes: (u32, u32),
    /// After how many bytes that came over a connection this is said, at the latest.
    pub acknowledged_bytes: u32,
    /// Whether what a lost connection has not acknowledged is sent again. If not, a connection that is lost with something
    /// unacknowledged is the end of that rank.
    pub resends: bool,
    /// For how long connections to a rank are tried before it is given up.
    pub patience: Duration,
    /// How long a receive waits for a first connection before this rank makes one.
    pub grace: Duration,
    /// In a job of no more ranks than this, a notice that need not come has a connection made for it.
    pub told_ranks: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            tags: 1 << 31,
            connections: 1,
            eager_bytes: 64 << 10,
            unexpected_bytes: 512 << 10,
            announced: 1 << 14,
            copied_bytes: 8 << 10,
            part_bytes: (4 << 10, 256 << 10),
            acknowledged_bytes: 1 << 20,
            resends: true,
            patience: Duration::from_secs(3),
            grace: Duration::from_millis(20),
            told_ranks: 64,
        }
    }
}

impl Settings {
    /// A number that two ranks have in common if they agree in all settings that concern both.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let (least, most) = self.part_bytes;
        let numbers = [
            self.tags,
            self.eager_bytes,
            self.unexpected_bytes,
            self.announced,
            least,
            most,
        ];
        let mix =
            |hash: u64, number: &u32| (hash ^ u64::from(*number)).wrapping_mul(0x0100_0000_01b3);
        numbers.iter().fold(0xcbf2_9ce4_8422_2325, mix)
    }

    /// The shortest part of a message that is not its end.
    #[must_use]
    pub fn least_part_bytes(&self) -> u64 {
        u64::from(self.part_bytes.0.min(self.most_part_bytes()))
    }

    /// How many messages may be announced, and how many granted ahead.
    #[must_use]
    pub fn most_announced(&self) -> u32 {
        self.announced.max(1)
    }

    /// The longest part of a message.
    #[must_use]
    pub fn most_part_bytes(&self) -> u32 {
        self.part_bytes.1.clamp(1, MOST_PAYLOAD_BYTES)
    }
}
