//! The plan: a schedule lowered for one layout, with every block resolved to bytes.

use super::plan_op::PlanOp;
use super::{Dependence, OpKind, Space};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;

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

    /// An extent that stays where it is, among others that move.
    pub(crate) fn still(extent: Extent) -> Moving {
        Moving {
            space: extent.space,
            origin: extent.offset as isize,
            unit_bytes: extent.bytes,
            longer: 0,
            element_bytes: 0,
            unit: 0,
            units: 1,
            advance: 0,
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

/// An item of a plan's strand; as [`Item`](super::Item), flattened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanItem {
    /// The first operation.
    pub start: u32,
    /// One past the last operation.
    pub end: u32,
    /// One more than the index in [`Plan::repeats`]; `None` for a step.
    pub repeat: Option<NonZeroU32>,
}

/// A repeat of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanRepeat {
    /// The number of iterations.
    pub times: u32,
    /// The window.
    pub window: u32,
    /// The index in [`Plan::waits`] of its first operation's list.
    pub waits: u32,
}

/// One rank's operations, resolved to bytes for one layout: what runs.
///
/// What every step needs comes first, in one line of the cache: simulators go from plan to plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Plan {
    /// Items, strand after strand.
    pub items: Box<[PlanItem]>,
    /// The operations.
    pub ops: Box<[PlanOp]>,
    /// Extents that do not move.
    pub extents: Box<[Extent]>,
    /// Extents that do.
    pub moving: Box<[Moving]>,
    /// For each strand, its items in [`Plan::items`] as (start, end).
    pub strands: Box<[(u32, u32)]>,
    /// What items that are no steps repeat, and how often.
    pub repeats: Box<[PlanRepeat]>,
    /// What each operation of a repeat waits for.
    pub waits: Box<[Vec<Dependence>]>,
    /// For each flag, what this rank's waits for it, at whatever rank, may take before it is raised at all.
    pub credits: Box<[u32]>,
    /// The length of each space, by [`Space::index`].
    pub space_bytes: [usize; 4],
    /// The size of an element in bytes.
    pub element_bytes: usize,
    /// The most operations under way at once in a step (a hint for engines).
    pub widest: usize,
    /// The rank.
    pub rank: u32,
    /// The number of flags.
    pub flags: u16,
    /// Whether some operation combines in the machine's own hardware.
    pub combines: bool,
}

impl Plan {
    /// The repeat that an item is, unless it is a step.
    #[inline]
    #[must_use]
    pub fn repeat(&self, item: &PlanItem) -> Option<&PlanRepeat> {
        let number = item.repeat?;
        Some(&self.repeats[number.get() as usize - 1])
    }

    /// Gives each peer of an operation the number that `number` says, for a transport that numbers ranks in its own way.
    pub fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        for op in &mut self.ops {
            if let Some(peer) = op.kind.peer_mut() {
                *peer = number(*peer);
            }
        }
    }

    /// Of each operation whether it sends to a rank that sends to this one in the same step, or receives from one to which this one sends.
    #[must_use]
    pub fn exchanges(&self) -> Vec<bool> {
        let mut found = vec![false; self.ops.len()];
        for item in &self.items {
            let range = item.start as usize..item.end as usize;
            let peers = |sends: bool| -> BTreeSet<u32> {
                let peer = |op: &PlanOp| match op.kind {
                    OpKind::Send { to, .. } if sends => Some(to),
                    OpKind::Recv { from, .. } | OpKind::RecvReduce { from, .. } if !sends => {
                        Some(from)
                    }
                    _ => None,
                };
                self.ops[range.clone()].iter().filter_map(peer).collect()
            };
            let both: BTreeSet<u32> = peers(true).intersection(&peers(false)).copied().collect();
            for at in range.clone() {
                let kind = self.ops[at].kind;
                let peer = kind.peer().filter(|_| kind.is_two_sided());
                found[at] = peer.is_some_and(|peer| both.contains(&peer));
            }
        }
        found
    }

    /// What each operation does, in the order of their numbers.
    pub fn kinds(&self) -> impl Iterator<Item = OpKind> + '_ {
        self.ops.iter().map(|op| op.kind)
    }
}
