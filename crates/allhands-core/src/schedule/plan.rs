//! The plan: a schedule lowered for one layout, with every block resolved to bytes.

use super::{Dependence, OpKind, Space};
use alloc::vec::Vec;

/// A run of bytes in one space; only an engine turns it into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The space.
    pub space: Space,
    /// The first byte.
    pub offset: usize,
    /// The number of bytes.
    pub bytes: usize,
}

/// A list of extents: in the plan's table, or, for operations whose blocks move with the
/// iteration, in the cursor's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    /// The index of the first.
    pub start: u32,
    /// How many.
    pub len: u32,
    /// Whether they move, and so stand in the cursor's table.
    pub moving: bool,
}

/// An extent that moves with the iteration of a repeat: it starts at unit `unit + advance * iteration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moving {
    pub(crate) space: Space,
    /// The byte at which unit 0 would start.
    pub(crate) origin: isize,
    /// Every unit has this many bytes …
    pub(crate) unit_bytes: usize,
    /// … and each of the first `longer` units `element_bytes` more.
    pub(crate) longer: usize,
    pub(crate) element_bytes: usize,
    pub(crate) unit: u32,
    pub(crate) units: u32,
    pub(crate) advance: i32,
}

impl Moving {
    /// The bytes of iteration `iteration`.
    #[must_use]
    pub fn at(&self, iteration: u32) -> Extent {
        let unit = (i64::from(self.unit) + i64::from(self.advance) * i64::from(iteration)) as usize;
        let start = self.start_of(unit);
        let offset = (self.origin + start as isize) as usize;
        Extent {
            space: self.space,
            offset,
            bytes: self.start_of(unit + self.units as usize) - start,
        }
    }

    /// The most bytes that it has in any iteration.
    #[must_use]
    pub fn most_bytes(&self) -> usize {
        let longer = if self.longer > 0 {
            self.element_bytes
        } else {
            0
        };
        self.units as usize * (self.unit_bytes + longer)
    }

    fn start_of(&self, unit: usize) -> usize {
        unit * self.unit_bytes + unit.min(self.longer) * self.element_bytes
    }
}

/// An operation of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOp {
    /// What it does; peers, channels, flags as in the schedule.
    pub kind: OpKind,
    /// Whether it is a message without data (which is sent all the same).
    pub token: bool,
    /// The bytes that it reads.
    pub from: Extents,
    /// The bytes that it writes.
    pub into: Extents,
    /// The right operand of a reduce, the source of a get or get-reduce.
    pub other: Extents,
    /// The length of the message or operand; of iteration 0, if it moves.
    pub bytes: usize,
}

impl PlanOp {
    /// Whether its extents move with the iteration.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.from.moving || self.into.moving || self.other.moving
    }
}

/// An item of a plan's strand; as [`Item`](super::Item), flattened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanItem {
    /// The first operation.
    pub start: u32,
    /// One past the last operation.
    pub end: u32,
    /// The number of iterations of a repeat; 0 for a step.
    pub times: u32,
    /// The window of a repeat.
    pub window: u32,
    /// For a repeat: the index in [`Plan::waits`] of its first operation's list.
    pub waits: u32,
}

/// One rank's operations, resolved to bytes for one layout: what runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The rank.
    pub rank: u32,
    /// The size of an element in bytes.
    pub element_bytes: usize,
    /// Items, strand after strand.
    pub items: Vec<PlanItem>,
    /// For each strand, its items in [`Plan::items`] as (start, end).
    pub strands: Vec<(u32, u32)>,
    /// The operations.
    pub ops: Vec<PlanOp>,
    /// Extents that do not move.
    pub extents: Vec<Extent>,
    /// Extents that do.
    pub moving: Vec<Moving>,
    /// What each operation of a repeat waits for.
    pub waits: Vec<Vec<Dependence>>,
    /// The length of each space, by [`Space::index`].
    pub space_bytes: [usize; 4],
    /// The number of flags.
    pub flags: u16,
    /// For each flag, what this rank's waits for it, at whatever rank, may take before it is raised at all.
    pub credits: Vec<u32>,
    /// The most operations under way at once in a step (a hint for engines).
    pub widest: usize,
}

impl Plan {
    /// Gives each peer of an operation the number that `number` says, for a transport that numbers ranks in its own way.
    pub fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        for op in &mut self.ops {
            if let Some(peer) = op.kind.peer() {
                op.kind = op.kind.with_peer(number(peer));
            }
        }
    }

    /// What each operation does, in the order of their numbers.
    pub fn kinds(&self) -> impl Iterator<Item = OpKind> + '_ {
        self.ops.iter().map(|op| op.kind)
    }
}
