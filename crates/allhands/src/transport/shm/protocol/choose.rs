//! The choice: the one table that says by which protocol a message goes, and with which thresholds.
//!
//! Rows are asked in their order; the first that applies decides. What a row says holds for a message between two ranks of a node.
//! Where a protocol has no buffer left, or the pair of ranks has no ring, the message goes by the next row that needs none.
//!
//! Beyond [`MEDIUM_ALWAYS_MOST`] it is a matter of the machine which protocol takes least: how fast the system copies from one process
//! to another, whether cores share a cache, how far apart they are. So the second and the last rows look up what was measured: by the
//! ranks themselves at their first start on a machine (`policy/protocols.rs`), in classes of length, and by each receiver of what its
//! program really sends ([`copy_protocol`](super::copy_protocol)): one read of the sender's memory by the system takes a third of
//! two copies if the program has not written there since, and longer than these if it has.

use crate::transport::shm::memory::arena::Arena;
use crate::transport::shm::memory::copy;
use crate::transport::shm::protocol::copy_protocol::CopyProtocol;
use crate::transport::shm::queue::ring::{EAGER_BYTES, MEDIUM_BYTES};
use crate::transport::shm::tuning::{
    ASSISTED_LEAST, BOUNCE_MOST, EXCHANGED_EAGER_MOST, LONG_BOUNCE_MOST, MEDIUM_ALWAYS_MOST,
    MEDIUM_UNMEASURED_MOST, OVERSUBSCRIBED_BOUNCED_MOST, OVERSUBSCRIBED_BUFFERED_MOST,
};

/// How a message gets from its sender to its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Protocol {
    /// Copied to a cell of the ring, and from there.
    Eager = 1,
    /// Copied to a medium buffer, which is read while it is filled, and from there; its reader claims the lines for writing if they go
    /// back.
    Medium,
    /// As [`Protocol::Medium`], but its reader claims nothing, and the pieces are shorter.
    Unclaimed,
    /// Copied to pipeline buffers that go to and fro, and from there.
    Pipelined,
    /// Copied to a bounce buffer of the sender's, and from there, both at the same time.
    Bounce,
    /// Copied once, by its receiver, from the sender's memory: as it is mapped, or by the system (cross-memory attach).
    Direct,
    /// As [`Protocol::Direct`], with the assistance of a sender who would only wait: both copy pieces.
    Assisted,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 7] = [
        Protocol::Eager,
        Protocol::Medium,
        Protocol::Unclaimed,
        Protocol::Pipelined,
        Protocol::Bounce,
        Protocol::Direct,
        Protocol::Assisted,
    ];

    /// How often a message is copied: once, from where its sender has it, or twice, by way of a buffer.
    #[must_use]
    pub fn copies(self) -> u32 {
        match self {
            Protocol::Direct | Protocol::Assisted => 1,
            _ => 2,
        }
    }

    /// Its name: `eager`, `medium`, `unclaimed`, `pipelined`, `bounce`, `direct` or `assisted`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Eager => "eager",
            Protocol::Medium => "medium",
            Protocol::Unclaimed => "unclaimed",
            Protocol::Pipelined => "pipelined",
            Protocol::Bounce => "bounce",
            Protocol::Direct => "direct",
            Protocol::Assisted => "assisted",
        }
    }
}

/// What is known of a message when its sender decides how it goes.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Its length in bytes.
    pub bytes: usize,
    /// Whether there are more ranks than cores.
    pub oversubscribed: bool,
    /// Whether its receiver sends a message to its sender at the same time.
    pub exchanged: bool,
    /// Whether its receiver has the sender's memory in its own: always among threads, and of processes what lies in the arena.
    pub mapped: bool,
    /// Whether the system lets processes read one another's memory.
    pub may_attach: bool,
    /// Whether what is received had better go past the caches.
    pub streams: bool,
    /// Whether its sender copies it within its own memory as well.
    pub copied: bool,
    /// Whether its sender has nothing else to send or copy meanwhile.
    pub alone: bool,
    /// Whether it is the only one that its sender sends in its call.
    pub only: bool,
    /// Whether its call combines what ranks receive.
    pub reduced: bool,
    /// Whether what its sender receives in exchange for it is combined.
    pub combined: bool,
    /// Whether its sender has room for it to bounce.
    pub has_room: bool,
}

impl Message {
    /// One of so many bytes that goes one way between processes with cores of their own, whose sender has nothing else to do.
    #[must_use]
    pub fn new(bytes: usize) -> Message {
        Message {
            bytes,
            oversubscribed: false,
            exchanged: false,
            mapped: false,
            may_attach: true,
            streams: false,
            copied: false,
            alone: true,
            only: true,
            reduced: false,
            combined: false,
            has_room: true,
        }
    }

    /// Whether it may be bounced: all of what does fits a core's own cache, or is sent alone.
    fn may_bounce(&self) -> bool {
        let is_short = self.bytes <= BOUNCE_MOST;
        is_short || (self.alone && self.has_room && self.bytes <= LONG_BOUNCE_MOST)
    }

    /// How it goes if its receiver reads it where it is: with the assistance of its sender, or without. A sender that has more to do
    /// would keep its receiver waiting, and where both send, pieces that both copy go to and fro between their caches.
    fn read_in_place(&self) -> Protocol {
        match self.alone && !self.exchanged && !self.oversubscribed && self.bytes >= ASSISTED_LEAST
        {
            true => Protocol::Assisted,
            false => Protocol::Direct,
        }
    }
}

/// What was measured of long messages, in classes of length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Of messages that go one way: a number of [`Protocol`] for each class, four bits each, 0 where nothing was measured; and in the
    /// last eight bits how copies of memory in nobody's cache are made, and how medium buffers are read.
    pub one_way: u64,
    /// The same of messages that two ranks exchange.
    pub exchanged: u64,
}

/// The classes of lengths that are told apart: up to twice [`MEDIUM_ALWAYS_MOST`], up to four times that, and so on.
pub(crate) const CLASSES: u32 = 11;

/// The class that stands for all messages in medium buffers that go one way, and says how they are read.
pub(crate) const MEDIUM_CLASS: u32 = 15;

/// The class that stands for copies of memory in nobody's cache, and says whether both sides are asked for ahead.
const COPY_CLASS: u32 = 14;

/// The class of a message that is longer than [`MEDIUM_ALWAYS_MOST`].
fn class(bytes: usize) -> u32 {
    let halvings = bytes.saturating_sub(1) / MEDIUM_ALWAYS_MOST;
    halvings.max(1).ilog2().min(CLASSES - 1)
}

impl Measured {
    /// What a word says of messages of so many bytes.
    fn of(word: u64, bytes: usize) -> Option<Protocol> {
        let number = word >> (4 * class(bytes)) & 15;
        Protocol::ALL.into_iter().find(|p| *p as u64 == number)
    }

    /// As if one protocol took least always; medium buffers are read as before, if that was measured.
    pub(crate) fn all(self, protocol: Protocol) -> Measured {
        let fill =
            |word| (0..CLASSES).fold(word, |word, class| Measured::with(word, class, protocol));
        let one_way = match protocol {
            Protocol::Medium | Protocol::Unclaimed if self.one_way >> (4 * MEDIUM_CLASS) == 0 => {
                Measured::with(self.one_way, MEDIUM_CLASS, protocol)
            }
            _ => self.one_way,
        };
        Measured {
            one_way: fill(one_way),
            exchanged: fill(0),
        }
    }

    /// The same with whether copies of memory in nobody's cache ask for both sides ahead.
    pub(crate) fn with_copies(self, ahead: bool) -> Measured {
        let others = self.one_way & !(15 << (4 * COPY_CLASS));
        Measured {
            one_way: others | u64::from(ahead) << (4 * COPY_CLASS),
            ..self
        }
    }

    fn copies_ahead(self) -> bool {
        self.one_way >> (4 * COPY_CLASS) & 15 > 0
    }

    /// How a medium buffer is read that goes one way: [`Protocol::Medium`] or [`Protocol::Unclaimed`].
    #[inline]
    fn medium(self) -> Protocol {
        match self.one_way >> (4 * MEDIUM_CLASS) == Protocol::Unclaimed as u64 {
            true => Protocol::Unclaimed,
            false => Protocol::Medium,
        }
    }

    /// The same word with a protocol for a class.
    pub(crate) fn with(word: u64, class: u32, protocol: Protocol) -> u64 {
        word & !(15 << (4 * class)) | (protocol as u64) << (4 * class)
    }
}

/// What a rank decides by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    pub(crate) measured: Measured,
    /// The copy protocol that the message's receiver wants by its own trial; where both send, what this rank has found as the other's
    /// receiver.
    pub(crate) wanted: Option<CopyProtocol>,
}

/// Whether receivers try the copy protocols, as they do unless the choice is fixed for a measurement.
pub(crate) fn is_tried(arena: &Arena) -> bool {
    arena.protocols()[2] == 0
}

/// Whether medium buffers that go one way are read as [`Protocol::Unclaimed`] says.
#[inline]
pub(crate) fn is_unclaimed(arena: &Arena) -> bool {
    measured(arena).medium() == Protocol::Unclaimed
}

/// What a rank knows of what was measured.
#[inline]
pub(crate) fn measured(arena: &Arena) -> Measured {
    let [one_way, exchanged, _] = arena.protocols();
    Measured { one_way, exchanged }
}

/// Tells a rank what was measured; `fixed` has it go by that alone, and no receiver try anything.
pub(crate) fn set(arena: &Arena, measured: Measured, fixed: bool) {
    copy::ask_both_ahead(measured.copies_ahead());
    arena.set_protocols([measured.one_way, measured.exchanged, u64::from(fixed)]);
}

impl Known {
    /// What the ranks of an arena have agreed on, and what one message's receiver wants.
    pub(crate) fn of(arena: &Arena, wanted: Option<CopyProtocol>) -> Known {
        let [one_way, exchanged, fixed] = arena.protocols();
        Known {
            measured: Measured { one_way, exchanged },
            wanted: wanted.filter(|_| fixed == 0),
        }
    }

    /// Whether it would have a message that goes one way bounced, however long that is.
    pub(crate) fn would_bounce(&self, bytes: usize) -> bool {
        match self.wanted {
            Some(wanted) => wanted.is_by(Protocol::Bounce),
            None => self.one_way(bytes) == Some(Protocol::Bounce),
        }
    }

    fn one_way(&self, bytes: usize) -> Option<Protocol> {
        Measured::of(self.measured.one_way, bytes)
    }

    fn exchanged(&self, bytes: usize) -> Option<Protocol> {
        Measured::of(self.measured.exchanged, bytes)
    }
}

/// Whether a message goes in a cell: what the first row says, for who has no time to ask the table.
#[inline]
pub(crate) const fn is_eager(bytes: usize, exchanged: bool, oversubscribed: bool) -> bool {
    let most = match exchanged && !oversubscribed {
        true => EXCHANGED_EAGER_MOST,
        false => EAGER_BYTES,
    };
    bytes <= most
}

/// A row of the table.
pub struct Row {
    /// Of which messages it is, in a few words.
    pub messages: &'static str,
    /// By which protocols they go.
    pub protocols: &'static [Protocol],
    /// Why.
    pub why: &'static str,
    decides: fn(&Message, &Known) -> Option<Protocol>,
}

/// Takes a protocol where a condition holds.
const fn take(protocol: Protocol, condition: bool) -> Option<Protocol> {
    if condition { Some(protocol) } else { None }
}

/// The table.
pub const ROWS: [Row; 10] = [
    Row {
        messages: "to 768 bytes; to 1056 unless two ranks on cores of their own exchange them",
        protocols: &[Protocol::Eager],
        why: "payload and number share their lines, so a message is there as soon as its number",
        decides: |m, _| {
            let is_eager = is_eager(m.bytes, m.exchanged, m.oversubscribed);
            take(Protocol::Eager, is_eager)
        },
    },
    Row {
        messages: "to 4 KB; to 16 KB if not mapped and either exchanged, oversubscribed or measured to be the best here; where nothing was measured to 8 KB",
        protocols: &[Protocol::Medium, Protocol::Unclaimed],
        why: "who has received a medium buffer sends its next message in it, so a line moves once; whether who has none to send claims its lines for the sender's next one is as measured; ranks that share cores claim none",
        decides: |m, known| {
            let most = match known.one_way(m.bytes) {
                _ if m.mapped => MEDIUM_ALWAYS_MOST,
                _ if m.exchanged || m.oversubscribed => MEDIUM_BYTES,
                None => MEDIUM_UNMEASURED_MOST,
                Some(Protocol::Medium | Protocol::Unclaimed) => MEDIUM_BYTES,
                Some(_) => MEDIUM_ALWAYS_MOST,
            };
            let read = match (m.oversubscribed, m.exchanged) {
                (true, _) => Protocol::Unclaimed,
                (false, true) => Protocol::Medium,
                (false, false) => known.measured.medium(),
            };
            take(read, m.bytes <= most)
        },
    },
    Row {
        messages: "mapped",
        protocols: &[Protocol::Direct, Protocol::Assisted],
        why: "the receiver reads it where it is: one copy, and no system call; a sender that only waits assists from 24 KB on",
        decides: |m, _| m.mapped.then(|| m.read_in_place()),
    },
    Row {
        messages: "exchanged, of calls that move more than the caches hold, unless ranks share cores and direct was measured to be the best of exchanges here",
        protocols: &[Protocol::Pipelined],
        why: "pipeline buffers stay in the caches, and from there the bytes go past them; ranks that share cores read sooner where two cores do, as both ways keep them busy",
        decides: |m, known| {
            let is_best = known.exchanged(m.bytes) == Some(Protocol::Direct);
            let is_read_sooner = m.oversubscribed && m.may_attach && !m.combined && is_best;
            take(
                Protocol::Pipelined,
                m.exchanged && m.streams && !is_read_sooner,
            )
        },
    },
    Row {
        messages: "exchanged, to 128 KB, oversubscribed",
        protocols: &[Protocol::Pipelined],
        why: "nobody waits for a rank that has lost its core; longer ones of many ranks would leave the caches",
        decides: |m, _| {
            let is_short = m.bytes <= OVERSUBSCRIBED_BUFFERED_MOST;
            take(
                Protocol::Pipelined,
                m.exchanged && m.oversubscribed && is_short,
            )
        },
    },
    Row {
        messages: "oversubscribed, to 128 KB, and to 32 KB if its sender sends others in its call, which combines nothing, and direct was measured to be the best here; or where the system does not let processes read one another",
        protocols: &[Protocol::Bounce],
        why: "its sender goes on, and the next rank that has the core finds the bytes in its cache; who sends many makes all first copies, as a scatter's root does",
        decides: |m, known| {
            let is_best = known.one_way(m.bytes) == Some(Protocol::Direct);
            let is_read_sooner = is_best && !m.reduced;
            let most = match (is_read_sooner, m.only) {
                (false, _) | (true, true) => OVERSUBSCRIBED_BUFFERED_MOST,
                (true, false) => OVERSUBSCRIBED_BOUNCED_MOST,
            };
            take(
                Protocol::Bounce,
                m.oversubscribed && (m.bytes <= most || !m.may_attach),
            )
        },
    },
    Row {
        messages: "oversubscribed",
        protocols: &[Protocol::Direct],
        why: "two copies on one core take twice as long as one",
        decides: |m, _| take(Protocol::Direct, m.oversubscribed),
    },
    Row {
        messages: "exchanged",
        protocols: &[Protocol::Pipelined, Protocol::Direct],
        why: "as took least of the last ones, or else when measured at the first start on this machine; pipelined where nothing was, as buffers that go to and fro move a line once, and of 1 MB or more that their senders copy for themselves, which are then read once, and of what is combined, which is copied as often when it is read",
        decides: |m, known| {
            let wanted = known.wanted.and_then(CopyProtocol::of_exchange);
            let measured = wanted.or_else(|| match m.copied || m.combined {
                true => None,
                false => known.exchanged(m.bytes),
            });
            // Without permission to read what was measured as direct is something else.
            let usable = measured.filter(|p| m.may_attach || *p != Protocol::Direct);
            m.exchanged.then(|| usable.unwrap_or(Protocol::Pipelined))
        },
    },
    Row {
        messages: "to 4 MB, whose receiver has tried the copy protocols",
        protocols: &[
            Protocol::Pipelined,
            Protocol::Bounce,
            Protocol::Direct,
            Protocol::Assisted,
        ],
        why: "as it took least for the receiver; beyond 1 MB a sender that has more to do bounces nothing, and it assists nobody",
        decides: |m, known| match known.wanted? {
            CopyProtocol::Lines | CopyProtocol::Strings | CopyProtocol::Vectors => {
                take(Protocol::Bounce, !m.may_attach || m.may_bounce())
            }
            CopyProtocol::Pipelined => Some(Protocol::Pipelined),
            _ if !m.may_attach => None,
            CopyProtocol::Direct => Some(Protocol::Direct),
            CopyProtocol::Assisted => Some(m.read_in_place()),
        },
    },
    Row {
        messages: "all others",
        protocols: &[
            Protocol::Pipelined,
            Protocol::Bounce,
            Protocol::Direct,
            Protocol::Assisted,
        ],
        why: "as measured at the first start on this machine; where nothing was, bounced to 1 MB, as both copies are made at the same time, and assisted beyond",
        decides: |m, known| {
            let measured = known.one_way(m.bytes).filter(|p| *p >= Protocol::Pipelined);
            let documented = match m.bytes <= BOUNCE_MOST {
                true => Protocol::Bounce,
                false => Protocol::Assisted,
            };
            Some(match measured.unwrap_or(documented) {
                Protocol::Pipelined => Protocol::Pipelined,
                _ if !m.may_attach => Protocol::Bounce,
                Protocol::Bounce if m.may_bounce() => Protocol::Bounce,
                Protocol::Direct => Protocol::Direct,
                _ => m.read_in_place(),
            })
        },
    },
];

/// The protocol of a message, and the number of the row that says so.
#[inline]
pub(crate) fn choose(message: &Message, known: &Known) -> (Protocol, usize) {
    for (number, row) in ROWS.iter().enumerate() {
        if let Some(protocol) = (row.decides)(message, known) {
            return (protocol, number);
        }
    }
    unreachable!("the last row is of all messages")
}

/// The same where there is no ring to carry it, or no buffer now: [`Protocol::Bounce`], [`Protocol::Direct`] or [`Protocol::Assisted`].
#[cold]
pub(crate) fn choose_without_buffers(message: &Message, known: &Known) -> Protocol {
    let long = |known: &Known| {
        let mut decided = ROWS.iter().filter_map(|row| (row.decides)(message, known));
        decided.find(|p| *p >= Protocol::Bounce)
    };
    // Where it is measured that pipeline buffers take least, the last row says what it would without that.
    let decided = long(known).or_else(|| long(&Known::default()));
    decided.expect("the last row is of all messages")
}

/// The protocol of a message by the table, with what was measured and without a receiver's trial, and the number of the row, from 0,
/// that decides.
#[must_use]
pub fn decide(message: &Message, measured: Measured) -> (Protocol, usize) {
    let known = Known {
        measured,
        wanted: None,
    };
    choose(message, &known)
}

#[cfg(all(test, not(loom)))]
mod tests;
