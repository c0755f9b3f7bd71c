//! Operations and the schedule that holds them.

use super::{Blocks, List, Region, Space, Units, repeat};
use crate::machine::Fabric;
use alloc::vec;
use alloc::vec::Vec;

/// The side of the operator on which an incoming operand stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// incoming ⊕ own: it comes from lower ranks.
    Left,
    /// own ⊕ incoming: it comes from higher ranks.
    Right,
}

impl Side {
    /// The side on which what comes from `peer` stands at `own`, in the order of ranks, or of positions.
    #[must_use]
    pub const fn of(peer: u32, own: u32) -> Side {
        if peer < own { Side::Left } else { Side::Right }
    }
}

/// The port of hardware broadcast: of the messages of a step that have this port, and the same data, a machine that can
/// makes one, which reaches all their receivers; any other sends them one by one.
pub const BROADCAST_PORT: u8 = u8::MAX;

/// The channel of messages by which ranks agree on an algorithm (B 2.3): on a machine whose algorithms send in ways of their own,
/// these are still messages of its message-passing software. The last of those that a transport has room for in a message's tag:
/// strands, of which an algorithm has 64 and a few at most, have the first ones.
pub const AGREEMENT_CHANNEL: u16 = 127;

/// One operation of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// The blocks that it reads: a send's data, a copy's source, the own operand of a
    /// recv-reduce, put-reduce or get-reduce, the left operand of a reduce.
    pub from: List,
    /// The blocks that it writes (for a put or put-reduce: blocks of the peer's window).
    pub into: List,
    /// The right operand of a reduce; the source blocks in the peer's window of a get or get-reduce.
    pub other: List,
}

impl Op {
    /// Whether it is a message without blocks, or no message at all: its having no bytes does not leave it out.
    #[must_use]
    pub(crate) const fn is_token(&self) -> bool {
        self.from.len + self.into.len + self.other.len == 0
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Sends `from` to rank `to`.
    Send {
        /// The receiver.
        to: u32,
        /// The channel number; first in, first out on (from, to, channel).
        channel: u16,
        /// The port (rail) that carries it.
        port: u8,
        /// Whether it is the copy that packets leave behind at a node that they pass (B 3.1's deposit bit): those of the
        /// nearest send before it in its step that is no such copy, and has the same data. Where packets leave no
        /// copies it is a message like any other.
        deposited: bool,
    },
    /// Receives from rank `from` into `into`.
    Recv {
        /// The sender.
        from: u32,
        /// The channel number.
        channel: u16,
        /// The port (rail) that carries it.
        port: u8,
    },
    /// Receives from rank `from`, combines with own operand `from`, writes `into`.
    RecvReduce {
        /// The sender.
        from: u32,
        /// The channel number.
        channel: u16,
        /// The port (rail) that carries it.
        port: u8,
        /// The side on which the received operand stands.
        side: Side,
    },
    /// Meets all other ranks in the machine's own hardware: gives `from`, if this rank gives anything, and gets into
    /// `into` what all that gave have given, combined. A rank's n-th meeting in a fabric is every other rank's n-th.
    Combine {
        /// Where they meet.
        fabric: Fabric,
        /// Whether this rank gives; who does not waits only for those that do.
        gives: bool,
        /// Whether the processor first turns what it gives into the fixed-point numbers that the hardware combines, and
        /// what it gets back (B 4).
        converted: bool,
    },
    /// Copies `from` into `into`.
    Copy,
    /// Writes `from` ⊕ `other` into `into`.
    Reduce,
    /// Writes `from` into blocks `into` of the window of rank `to`; done when the source may be reused.
    Put {
        /// The rank whose window is written.
        to: u32,
        /// The port (rail) that carries it.
        port: u8,
    },
    /// Combines `from` with blocks `into` of the window of rank `to`, and leaves that there; done when it is there.
    PutReduce {
        /// The rank whose window is read and written.
        to: u32,
        /// The port (rail) that carries it.
        port: u8,
        /// The side on which the operand that is put stands.
        side: Side,
    },
    /// Reads blocks `other` of the window of rank `from` into `into`.
    Get {
        /// The rank whose window is read.
        from: u32,
        /// The port (rail) that carries it.
        port: u8,
        /// Whether nobody else reads what it reads: these blocks hold nothing then until they are written again.
        last: bool,
    },
    /// Reads blocks `other` of the window of rank `from`, combines with own operand `from`, writes `into`.
    GetReduce {
        /// The rank whose window is read.
        from: u32,
        /// The port (rail) that carries it.
        port: u8,
        /// The side on which the operand that is read stands.
        side: Side,
        /// Whether nobody else reads what it reads: these blocks hold nothing then until they are written again.
        last: bool,
    },
    /// Raises flag `flag` of rank `to`, which may be this one, by one, after all earlier puts of this strand to that rank.
    Notify {
        /// The rank that is told.
        to: u32,
        /// The flag.
        flag: u16,
    },
    /// Waits until flag `flag` of rank `at` has been raised `count` more times than all earlier waits of this rank for it
    /// took, the credit apart. A notification is not used up: any number of ranks wait for the same one, and each keeps
    /// its own count.
    Wait {
        /// The rank whose flag it is: this one, or a peer.
        at: u32,
        /// The flag.
        flag: u16,
        /// The number of notifications.
        count: u32,
    },
    /// Waits until strand `strand` of this rank has finished its first `items` items.
    Await {
        /// The other strand.
        strand: u16,
        /// How many of its items.
        items: u32,
    },
}

impl OpKind {
    /// The rank that it sends to, receives from, or whose window or flag it touches; `None` where there is none.
    #[must_use]
    pub const fn peer(mut self) -> Option<u32> {
        match self.peer_mut() {
            Some(peer) => Some(*peer),
            None => None,
        }
    }

    /// The same, to be changed.
    pub const fn peer_mut(&mut self) -> Option<&mut u32> {
        match self {
            OpKind::Send { to: peer, .. }
            | OpKind::Recv { from: peer, .. }
            | OpKind::RecvReduce { from: peer, .. }
            | OpKind::Put { to: peer, .. }
            | OpKind::PutReduce { to: peer, .. }
            | OpKind::Get { from: peer, .. }
            | OpKind::GetReduce { from: peer, .. }
            | OpKind::Notify { to: peer, .. }
            | OpKind::Wait { at: peer, .. } => Some(peer),
            OpKind::Combine { .. } | OpKind::Copy | OpKind::Reduce | OpKind::Await { .. } => None,
        }
    }

    /// Whether it is a message, in which its peer takes part: what needs no memory that the two share.
    #[must_use]
    pub const fn is_two_sided(self) -> bool {
        matches!(
            self,
            OpKind::Send { .. } | OpKind::Recv { .. } | OpKind::RecvReduce { .. }
        )
    }

    /// The channel of a message; 0 for anything else.
    #[must_use]
    pub const fn channel(self) -> u16 {
        match self {
            OpKind::Send { channel, .. }
            | OpKind::Recv { channel, .. }
            | OpKind::RecvReduce { channel, .. } => channel,
            _ => 0,
        }
    }

    /// The port (rail) that carries what it moves; 0 where nothing is carried.
    #[must_use]
    pub const fn port(self) -> u8 {
        match self {
            OpKind::Send { port, .. }
            | OpKind::Recv { port, .. }
            | OpKind::RecvReduce { port, .. }
            | OpKind::Put { port, .. }
            | OpKind::PutReduce { port, .. }
            | OpKind::Get { port, .. }
            | OpKind::GetReduce { port, .. } => port,
            OpKind::Combine { .. }
            | OpKind::Copy
            | OpKind::Reduce
            | OpKind::Notify { .. }
            | OpKind::Wait { .. }
            | OpKind::Await { .. } => 0,
        }
    }
}

/// In a repeat: an operation's iteration `i` starts after iteration `i - back` of operation `op` is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// The index of the operation in the repeat's body.
    pub op: u32,
    /// How many iterations back.
    pub back: u32,
}

/// A part of a strand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Operations that start together; the next item starts when all are done.
    Step {
        /// The first operation's index in the schedule's table.
        start: u32,
        /// One past the last operation's index.
        end: u32,
    },
    /// A pipeline: the body's operations run `times` times, each instance when its data is there,
    /// one instance of an operation at a time, at most `window` iterations apart.
    Repeat {
        /// The number of iterations.
        times: u32,
        /// The largest distance between the oldest and the newest iteration under way.
        window: u32,
        /// The first operation's index in the schedule's table.
        start: u32,
        /// One past the last operation's index.
        end: u32,
        /// One past the last operation of each of the body's steps; empty if it has no steps and an operation waits
        /// for its data alone.
        steps: Vec<u32>,
        /// For each operation of the body, what it waits for.
        waits: Vec<Vec<Dependence>>,
    },
}

impl Item {
    /// The indices of the item's operations in the schedule's table.
    #[must_use]
    pub fn ops(&self) -> core::ops::Range<usize> {
        match *self {
            Item::Step { start, end } | Item::Repeat { start, end, .. } => {
                start as usize..end as usize
            }
        }
    }

    /// The operations that may be under way at once, as indices in the schedule's table: all of a step; of a repeat each
    /// step of its body, where these run in turn, and otherwise all.
    #[must_use]
    pub fn at_once(&self) -> Vec<core::ops::Range<usize>> {
        let all = self.ops();
        let Item::Repeat { waits, .. } = self else {
            return vec![all];
        };
        match repeat::steps(waits) {
            Some(steps) if steps.is_sorted() => {
                let mut start = all.start;
                let next = |of_step: &[u32]| {
                    let end = start + of_step.len();
                    core::mem::replace(&mut start, end)..end
                };
                steps.chunk_by(|a, b| a == b).map(next).collect()
            }
            Some(_) | None => vec![all],
        }
    }
}

/// Items that run one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strand {
    /// The items.
    pub items: Vec<Item>,
}

/// Which blocks stand for the rows of the algorithm's figure after an item, for pictures only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The number of items of strand 0 that are done when the view holds.
    pub items: u32,
    /// The block that is row `i` of the figure, or `None` for an empty row.
    pub rows: Vec<Option<Blocks>>,
}

/// One rank's part of an algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The rank.
    pub rank: u32,
    /// In how many parts a vector is cut (1 or more; the number of ranks for block collectives).
    pub parts: u32,
    /// The strands; they run concurrently.
    pub strands: Vec<Strand>,
    /// All operations; items name ranges of them.
    pub ops: Vec<Op>,
    /// All block sets; operations name lists of them.
    pub blocks: Vec<Blocks>,
    /// The scratch space, region by region.
    pub scratch: Vec<Region>,
    /// The window, region by region; the same on every rank.
    pub window: Vec<Region>,
    /// The number of flags that peers may raise.
    pub flags: u16,
    /// For each flag, how many notifications this rank's waits for it, at whatever rank, may take before there are any
    /// (credits for a slot of the window). Every flag starts at zero: a credit is the waiter's alone.
    pub credits: Vec<u32>,
    /// The rows of the algorithm's figure, if asked for.
    pub views: Vec<View>,
}

impl Schedule {
    /// A schedule in which nothing is said yet, in the memory of another one.
    #[must_use]
    pub(crate) fn emptied(mut self, rank: u32, parts: u32) -> Schedule {
        self.strands.truncate(1);
        match self.strands.first_mut() {
            Some(strand) => strand.items.clear(),
            None => self.strands.push(Strand::default()),
        }
        self.ops.clear();
        self.blocks.clear();
        self.scratch.clear();
        self.window.clear();
        self.credits.clear();
        self.views.clear();
        Schedule {
            rank,
            parts,
            flags: 0,
            ..self
        }
    }

    /// The block sets of a list.
    #[must_use]
    pub fn list(&self, list: List) -> &[Blocks] {
        &self.blocks[list.start as usize..(list.start + list.len) as usize]
    }

    /// Whether a list names slots of a window, so that another list of the operation says how long its blocks are.
    #[must_use]
    pub fn in_slots(&self, list: List) -> bool {
        let slot = |set: &Blocks| {
            let at = |r: &Region| r.first + r.blocks <= set.first;
            let region = self.window.get(self.window.partition_point(at));
            set.space == Space::Window && region.is_some_and(|r| r.units == Units::Slots)
        };
        self.list(list).iter().any(slot)
    }

    /// The number of blocks that a list names.
    #[must_use]
    pub fn count(&self, list: List) -> u32 {
        self.list(list).iter().map(Blocks::count).sum()
    }
}
