//! The choice: the one table that says by which protocol a message goes, and with which thresholds.
//!
//! Rows are asked in their order; the first that applies decides. What a row says holds for a message between two ranks of a node.
//! Where a protocol has no buffer left, or the pair of ranks has no ring, the message goes by the next row that needs none.
//!
//! Beyond [`MEDIUM_BYTES`] it is a matter of the machine which protocol takes least: how fast the system copies from one process
//! to another, whether cores share a cache, how far apart they are. So the last rows look up what was measured: by the
//! ranks themselves at their first start on a machine (`policy/protocols.rs`), in classes of length, and, of messages that go one way,
//! by each receiver of what its program really sends ([`copy_protocol`](super::copy_protocol)).

use crate::transport::shm::memory::arena::Arena;
use crate::transport::shm::protocol::copy_protocol::CopyProtocol;
use crate::transport::shm::queue::ring::{EAGER_BYTES, MEDIUM_BYTES};
use crate::transport::shm::tuning::{
    BOUNCE_MOST, EXCHANGED_EAGER_MOST, LONG_BOUNCE_MOST, MAPPED_MEDIUM_MOST,
    OVERSUBSCRIBED_BUFFERED_MOST,
};

/// How a message gets from its sender to its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Protocol {
    /// Copied to a cell of the ring, and from there.
    Eager = 1,
    /// Copied to a medium buffer, which is read while it is filled, and from there.
    Medium,
    /// Copied to pipeline buffers that go to and fro, and from there.
    Pipelined,
    /// Copied to a bounce buffer of the sender's, and from there, both at the same time.
    Bounce,
    /// Copied once, from the sender's memory: as it is mapped, or by the system (cross-memory attach), with the sender's assistance
    /// where it would only wait.
    Direct,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 5] = [
        Protocol::Eager,
        Protocol::Medium,
        Protocol::Pipelined,
        Protocol::Bounce,
        Protocol::Direct,
    ];

    /// Its name: `eager`, `medium`, `pipelined`, `bounce` or `direct`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Eager => "eager",
            Protocol::Medium => "medium",
            Protocol::Pipelined => "pipelined",
            Protocol::Bounce => "bounce",
            Protocol::Direct => "direct",
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
    /// Whether its sender has nothing else to send or copy meanwhile, and, beyond 1 MB, room for it to bounce.
    pub alone: bool,
}

/// What was measured of long messages, in classes of length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Of messages that go one way: a number of [`Protocol`] for each class, four bits each, 0 where nothing was measured.
    pub one_way: u64,
    /// The same of messages that two ranks exchange.
    pub exchanged: u64,
}

/// The classes of lengths that are told apart: up to twice [`MEDIUM_BYTES`], up to four times that, and so on.
pub(crate) const CLASSES: u32 = 9;

/// The class of a message that is longer than [`MEDIUM_BYTES`].
fn class(bytes: usize) -> u32 {
    let halvings = bytes.saturating_sub(1) / MEDIUM_BYTES;
    halvings.max(1).ilog2().min(CLASSES - 1)
}

impl Measured {
    /// What a word says of messages of so many bytes.
    fn of(word: u64, bytes: usize) -> Option<Protocol> {
        let number = word >> (4 * class(bytes)) & 15;
        Protocol::ALL.into_iter().find(|p| *p as u64 == number)
    }

    /// As if one protocol took least always.
    pub(crate) fn all(protocol: Protocol) -> Measured {
        let word = (0..CLASSES).fold(0, |word, class| Measured::with(word, class, protocol));
        Measured {
            one_way: word,
            exchanged: word,
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
    /// The copy protocol that the message's receiver wants, by its own trial.
    pub(crate) wanted: Option<CopyProtocol>,
}

/// Whether receivers try the copy protocols, as they do unless the choice is fixed for a measurement.
pub(crate) fn is_tried(arena: &Arena) -> bool {
    arena.protocols()[2] == 0
}

/// What a rank knows of what was measured.
pub(crate) fn measured(arena: &Arena) -> Measured {
    let [one_way, exchanged, _] = arena.protocols();
    Measured { one_way, exchanged }
}

/// Tells a rank what was measured; `fixed` has it go by that alone, and no receiver try anything.
pub(crate) fn set(arena: &Arena, measured: Measured, fixed: bool) {
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
            Some(wanted) => wanted != CopyProtocol::Direct,
            None => self.one_way(bytes) == Some(Protocol::Bounce),
        }
    }

    fn one_way(&self, bytes: usize) -> Option<Protocol> {
        Measured::of(self.measured.one_way, bytes)
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
        messages: "to 16 KB; to 4 KB if mapped",
        protocols: &[Protocol::Medium],
        why: "who has received a medium buffer sends its next message in it, so a line moves once",
        decides: |m, _| {
            let most = if m.mapped {
                MAPPED_MEDIUM_MOST
            } else {
                MEDIUM_BYTES
            };
            take(Protocol::Medium, m.bytes <= most)
        },
    },
    Row {
        messages: "mapped",
        protocols: &[Protocol::Direct],
        why: "the receiver reads it where it is: one copy, and no system call",
        decides: |m, _| take(Protocol::Direct, m.mapped),
    },
    Row {
        messages: "exchanged, of calls that move more than the caches hold",
        protocols: &[Protocol::Pipelined],
        why: "pipeline buffers stay in the caches, and from there the bytes go past them",
        decides: |m, _| take(Protocol::Pipelined, m.exchanged && m.streams),
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
        messages: "oversubscribed, to 128 KB, or where the system does not let processes read one another",
        protocols: &[Protocol::Bounce],
        why: "its sender goes on, and the next rank that has the core finds the bytes in its cache",
        decides: |m, _| {
            let is_short = m.bytes <= OVERSUBSCRIBED_BUFFERED_MOST || !m.may_attach;
            take(Protocol::Bounce, m.oversubscribed && is_short)
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
        why: "as measured at the first start on this machine; pipelined where nothing was, as buffers that go to and fro move a line once",
        decides: |m, known| {
            let measured = Measured::of(known.measured.exchanged, m.bytes);
            // Without permission to read what was measured as direct is something else.
            let usable = measured.filter(|p| m.may_attach || *p != Protocol::Direct);
            m.exchanged.then(|| usable.unwrap_or(Protocol::Pipelined))
        },
    },
    Row {
        messages: "to 4 MB, whose receiver has tried the copy protocols",
        protocols: &[Protocol::Bounce, Protocol::Direct],
        why: "as it took least for the receiver; beyond 1 MB a sender that has more to do bounces nothing",
        decides: |m, known| match known.wanted? {
            CopyProtocol::Direct => take(Protocol::Direct, m.may_attach),
            CopyProtocol::Lines | CopyProtocol::Strings => {
                let may = m.bytes <= BOUNCE_MOST || (m.alone && m.bytes <= LONG_BOUNCE_MOST);
                take(Protocol::Bounce, may || !m.may_attach)
            }
        },
    },
    Row {
        messages: "all others",
        protocols: &[Protocol::Bounce, Protocol::Direct],
        why: "as measured at the first start on this machine; where nothing was, bounced to 1 MB, as both copies are made at the same time, and direct beyond",
        decides: |m, known| {
            let is_short = m.bytes <= BOUNCE_MOST;
            let measured = known.one_way(m.bytes).unwrap_or(match is_short {
                true => Protocol::Bounce,
                false => Protocol::Direct,
            });
            Some(match measured {
                _ if !m.may_attach => Protocol::Bounce,
                Protocol::Bounce if is_short || (m.alone && m.bytes <= LONG_BOUNCE_MOST) => {
                    Protocol::Bounce
                }
                _ => Protocol::Direct,
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

/// The same where there is no ring to carry it, or no buffer now: [`Protocol::Bounce`] or [`Protocol::Direct`].
#[cold]
pub(crate) fn choose_without_buffers(message: &Message, known: &Known) -> Protocol {
    let decided = ROWS.iter().filter_map(|row| (row.decides)(message, known));
    let mut long = decided.filter(|p| matches!(p, Protocol::Bounce | Protocol::Direct));
    long.next().expect("the last row is of all messages")
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
mod tests {
    use super::*;

    const PLAIN: Message = Message {
        bytes: 0,
        oversubscribed: false,
        exchanged: false,
        mapped: false,
        may_attach: true,
        streams: false,
        alone: true,
    };

    fn of(message: Message, bytes: usize) -> Protocol {
        decide(&Message { bytes, ..message }, Measured::default()).0
    }

    #[test]
    fn without_measurements_lengths_decide() {
        use Protocol::{Bounce, Direct, Eager, Medium, Pipelined};
        let exchanged = Message {
            exchanged: true,
            ..PLAIN
        };
        let shared = Message {
            oversubscribed: true,
            ..PLAIN
        };
        let both = Message {
            oversubscribed: true,
            ..exchanged
        };
        let mapped = Message {
            mapped: true,
            ..exchanged
        };
        let forbidden = Message {
            may_attach: false,
            ..PLAIN
        };
        for (message, of_each) in [
            (
                PLAIN,
                [Eager, Eager, Medium, Bounce, Bounce, Direct, Direct],
            ),
            (
                exchanged,
                [
                    Eager, Medium, Medium, Pipelined, Pipelined, Pipelined, Pipelined,
                ],
            ),
            (
                shared,
                [Eager, Eager, Medium, Bounce, Direct, Direct, Direct],
            ),
            (
                both,
                [Eager, Eager, Medium, Pipelined, Direct, Direct, Direct],
            ),
            (
                mapped,
                [Eager, Medium, Direct, Direct, Direct, Direct, Direct],
            ),
            (
                forbidden,
                [Eager, Eager, Medium, Bounce, Bounce, Bounce, Bounce],
            ),
        ] {
            let lengths = [
                768,
                1056,
                16 << 10,
                128 << 10,
                1 << 20,
                (1 << 20) + 1,
                64 << 20,
            ];
            assert_eq!(
                lengths.map(|bytes| of(message, bytes)),
                of_each,
                "{message:?}"
            );
        }
    }

    #[test]
    fn classes_are_lengths_between_powers_of_two() {
        for (bytes, expected) in [
            (MEDIUM_BYTES + 1, 0),
            (2 * MEDIUM_BYTES, 0),
            (2 * MEDIUM_BYTES + 1, 1),
            (4 << 20, 7),
            ((4 << 20) + 1, 8),
            (usize::MAX, 8),
        ] {
            assert_eq!(class(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn what_was_measured_decides_of_its_class_alone() {
        let word = Measured::with(0, 2, Protocol::Direct);
        let measured = Measured {
            one_way: word,
            exchanged: Measured::with(word, 3, Protocol::Bounce),
        };
        let of = |exchanged, bytes| {
            let message = Message {
                bytes,
                exchanged,
                ..PLAIN
            };
            decide(&message, measured).0
        };
        assert_eq!(of(false, 64 << 10), Protocol::Bounce);
        assert_eq!(of(false, (64 << 10) + 1), Protocol::Direct);
        assert_eq!(of(false, (128 << 10) + 1), Protocol::Bounce);
        assert_eq!(of(true, 128 << 10), Protocol::Direct);
        assert_eq!(of(true, 256 << 10), Protocol::Bounce);
        assert_eq!(of(true, 512 << 10), Protocol::Pipelined);
    }

    #[test]
    fn a_receivers_wish_is_heard_where_its_sender_can() {
        let choose = |wanted, message: Message| {
            let known = Known {
                measured: Measured::default(),
                wanted: Some(wanted),
            };
            choose(&message, &known).0
        };
        let at = |bytes, alone| Message {
            bytes,
            alone,
            ..PLAIN
        };
        assert_eq!(
            choose(CopyProtocol::Direct, at(1 << 16, false)),
            Protocol::Direct
        );
        assert_eq!(
            choose(CopyProtocol::Lines, at(2 << 20, true)),
            Protocol::Bounce
        );
        assert_eq!(
            choose(CopyProtocol::Strings, at(2 << 20, false)),
            Protocol::Direct
        );
        assert_eq!(
            choose(CopyProtocol::Strings, at(5 << 20, true)),
            Protocol::Direct
        );
        let forbidden = Message {
            may_attach: false,
            ..at(1 << 16, true)
        };
        assert_eq!(choose(CopyProtocol::Direct, forbidden), Protocol::Bounce);
    }
}
