//! Settings: what can be chosen.

use super::frame::{Kind, MOST_PAYLOAD_BYTES};
use std::time::Duration;

/// What a rank keeps of messages that nobody has asked for, from all ranks of a job together, in bytes, unless there are very many.
const MOST_UNEXPECTED_BYTES: u32 = 64 << 20;

/// The longest message that is sent without a grant in any job, in bytes.
const MOST_EAGER_BYTES: u32 = 1 << 20;

/// How many of the longest ones a rank keeps for each other at least: more than direct algorithms have under way between two ranks.
const LEAST_EAGER: u32 = 5;

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
    /// The longest message whose send ends before it is acknowledged, unless it was granted; if another connection may have to send
    /// it again, a copy is made of it then. A longer one is acknowledged as soon as it is there, so that none need be made.
    pub unacknowledged_bytes: u32,
    /// The longest message that leaves at once, whatever was begun before it; longer ones stand in a line.
    pub unlined_bytes: u32,
    /// Whether what a lost connection has not acknowledged is sent again. If not, a connection that is lost with something
    /// unacknowledged is the end of that rank.
    pub resends: bool,
    /// For how long connections to a rank are tried before it is given up.
    pub patience: Duration,
    /// How long a receive waits for a first connection before this rank makes one.
    pub grace: Duration,
    /// Whether connections are encrypted, by TLS, which takes the feature `tls` of this crate. What the driver does with it is nothing
    /// to the protocol.
    pub tls: bool,
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
            part_bytes: (1 << 10, 256 << 10),
            acknowledged_bytes: 1 << 20,
            // An acknowledgement takes half a round trip: of 200 Mbit/s and 500 µs 4 to 8 % of an allreduce of 128 KB. On the loopback a
            // copy took as long.
            unacknowledged_bytes: 256 << 10,
            unlined_bytes: 64 << 10,
            resends: true,
            patience: Duration::from_secs(3),
            grace: Duration::from_millis(20),
            tls: false,
            told_ranks: 64,
        }
    }
}

impl Settings {
    /// Settings for a job of so many ranks.
    ///
    /// The fewer ranks there are, the longer are messages that are sent without a grant: those leave in the order in which they
    /// are sent. Granted ones leave in the order of the grants, so that all ranks send to the one that was ready first, and then
    /// all to the next: most rails have nothing to receive meanwhile.
    #[must_use]
    pub fn of_job(ranks: u32) -> Settings {
        let least = Settings::default();
        let others = ranks.saturating_sub(1).max(1);
        let unexpected_bytes = (MOST_UNEXPECTED_BYTES / others)
            .clamp(least.unexpected_bytes, MOST_UNEXPECTED_BYTES / 8);
        Settings {
            eager_bytes: (unexpected_bytes / LEAST_EAGER).min(MOST_EAGER_BYTES),
            unexpected_bytes,
            ..least
        }
    }

    /// A number that two ranks have in common if they agree in all settings that concern both.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let (least, most) = self.part_bytes;
        let numbers = [
            self.tags,
            self.eager_bytes,
            self.unexpected_bytes,
            self.announced,
            self.unacknowledged_bytes,
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

    /// Whether a message of such frames, and so long, is acknowledged as soon as all of it is there, as its sender may wait for that.
    #[must_use]
    pub fn is_awaited(&self, kind: Kind, bytes: u64) -> bool {
        let is_long = bytes > u64::from(self.unacknowledged_bytes);
        kind == Kind::Granted || (matches!(kind, Kind::Eager | Kind::Put) && is_long)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_unasked_is_bounded_for_all_ranks_together() {
        let in_kb = |ranks| {
            let settings = Settings::of_job(ranks);
            (settings.eager_bytes >> 10, settings.unexpected_bytes >> 10)
        };
        assert_eq!([1, 2, 8, 9].map(in_kb), [(1024, 8192); 4]);
        assert_eq!([13, 65].map(in_kb), [(1024, 5461), (204, 1024)]);
        // From here on as little as it may be.
        assert_eq!([129, 1 << 20].map(in_kb), [(102, 512); 2]);
    }

    #[test]
    fn only_long_messages_and_granted_ones_are_acknowledged_at_once() {
        let settings = Settings::default();
        let long = u64::from(settings.unacknowledged_bytes) + 1;
        let kinds = [Kind::Eager, Kind::Put, Kind::Granted, Kind::Notice];
        let awaited = kinds.map(|kind| {
            let is_awaited = |bytes| settings.is_awaited(kind, bytes);
            [is_awaited(8), is_awaited(long)]
        });
        let if_long = [false, true];
        assert_eq!(awaited, [if_long, if_long, [true; 2], [false; 2]]);
    }
}
