//! Lowering: from blocks to bytes, for one layout.

use super::map::Map;
use super::plan::{Extent, Extents, Plan, PlanItem, PlanOp};
use super::{Blocks, Item, Layout, List, Op, OpKind, Schedule, Units};
use crate::call::{Call, Unit};
use alloc::vec::Vec;
use core::fmt;

/// Why a schedule cannot be lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LowerError {
    /// The layout does not say how long a unit is that passes through this rank.
    UnknownSize {
        /// The rank.
        rank: u32,
        /// The unit.
        unit: Unit,
    },
    /// A pipeline over blocks whose sizes follow no rule.
    IrregularPipeline,
    /// An operation moves blocks from slots to slots, so that nothing says how long they are.
    SlotsAlone {
        /// The rank.
        rank: u32,
    },
    /// Input and output blocks that share memory differ in size.
    AliasedSizes {
        /// The rank.
        rank: u32,
    },
}

impl fmt::Display for LowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LowerError::UnknownSize {
                rank,
                unit: Units::ANY,
            } => write!(
                f,
                "rank {rank} does not know the length of the longest block; all ranks must know all counts"
            ),
            LowerError::UnknownSize { rank, unit } => write!(
                f,
                "rank {rank} does not know the length of block {unit}, which this algorithm passes through it; all ranks must know all counts"
            ),
            LowerError::IrregularPipeline => {
                write!(f, "a pipeline needs a vector that is cut evenly")
            }
            LowerError::SlotsAlone { rank } => {
                write!(
                    f,
                    "rank {rank} moves blocks from slots to slots, of which nobody knows the length"
                )
            }
            LowerError::AliasedSizes { rank } => {
                write!(
                    f,
                    "in place, rank {rank} must send as much to each rank as it receives from it"
                )
            }
        }
    }
}

impl core::error::Error for LowerError {}

impl Plan {
    /// Lowers `schedule` of `call` for `layout` and elements of `element_bytes` bytes.
    ///
    /// Messages, copies and reductions that turn out empty are left out: both ends of a message
    /// compute the same length.
    ///
    /// # Errors
    /// [`LowerError`] when the layout does not give every size that this rank needs.
    pub fn lower(
        schedule: &Schedule,
        call: &Call,
        layout: &Layout,
        element_bytes: usize,
    ) -> Result<Plan, LowerError> {
        let map = Map::new(schedule, call, layout, element_bytes)?;
        let mut lowering = Lowering {
            schedule,
            map,
            plan: empty_plan(schedule, element_bytes),
        };
        for strand in &schedule.strands {
            let start = lowering.plan.items.len() as u32;
            for item in &strand.items {
                lowering.item(item)?;
            }
            let end = lowering.plan.items.len() as u32;
            lowering.plan.strands.push((start, end));
        }
        lowering.plan.space_bytes = lowering.map.bytes;
        Ok(lowering.plan)
    }
}

fn empty_plan(schedule: &Schedule, element_bytes: usize) -> Plan {
    Plan {
        rank: schedule.rank,
        element_bytes,
        items: Vec::new(),
        strands: Vec::with_capacity(schedule.strands.len()),
        ops: Vec::with_capacity(schedule.ops.len()),
        extents: Vec::with_capacity(schedule.blocks.len()),
        moving: Vec::new(),
        waits: Vec::new(),
        space_bytes: [0; 4],
        flags: schedule.flags,
        credits: schedule.credits.clone(),
        widest: 0,
    }
}

/// Puts the operations of a step, which may start in any order, where they overlap best: messages leave first, and
/// what is local is done while they are on their way. One-sided operations stay in their order, which means something.
fn send_first(step: &mut [PlanOp]) {
    let place = |op: &PlanOp| match op.kind {
        OpKind::Send { .. } => Some(0),
        OpKind::Recv { .. } | OpKind::RecvReduce { .. } => Some(1),
        OpKind::Copy | OpKind::Reduce => Some(2),
        OpKind::Put { .. }
        | OpKind::PutReduce { .. }
        | OpKind::Get { .. }
        | OpKind::GetReduce { .. }
        | OpKind::Notify { .. }
        | OpKind::Wait { .. }
        | OpKind::Combine { .. }
        | OpKind::Await { .. } => None,
    };
    if step.iter().all(|op| place(op).is_some()) {
        // Stable: messages of one channel stay in their order.
        step.sort_by_key(place);
    }
}

struct Lowering<'a> {
    schedule: &'a Schedule,
    map: Map,
    plan: Plan,
}

impl Lowering<'_> {
    fn item(&mut self, item: &Item) -> Result<(), LowerError> {
        let start = self.plan.ops.len() as u32;
        let (times, window, waits) = match item {
            Item::Step { .. } => (0, 0, 0),
            Item::Repeat {
                times,
                window,
                waits,
                ..
            } => {
                let first = self.plan.waits.len() as u32;
                self.plan.waits.extend(waits.iter().cloned());
                (*times, *window, first)
            }
        };
        for at in item.ops() {
            let op = &self.schedule.ops[at];
            let moving = times > 0
                && [op.from, op.into, op.other]
                    .iter()
                    .any(|l| self.schedule.list(*l).iter().any(|b| b.advance != 0));
            let (from, from_bytes) = self.extents(op.from, op, moving)?;
            // A put's target and a get's source lie in the peer's window, which has the same map.
            let (into, into_bytes) = self.extents(op.into, op, moving)?;
            let (other, _) = self.extents(op.other, op, moving)?;
            let bytes = from_bytes.max(into_bytes);
            let token = op.from.len + op.into.len + op.other.len == 0;
            let lowered = PlanOp {
                kind: op.kind,
                token,
                from,
                into,
                other,
                bytes,
            };
            if times > 0 || token || bytes > 0 {
                self.plan.ops.push(lowered);
            }
        }
        if times == 0 {
            send_first(&mut self.plan.ops[start as usize..]);
        }
        let end = self.plan.ops.len() as u32;
        self.plan.items.push(PlanItem {
            start,
            end,
            times,
            window,
            waits,
        });
        self.plan.widest = self.plan.widest.max((end - start) as usize);
        Ok(())
    }

    fn extents(
        &mut self,
        list: List,
        op: &Op,
        moving: bool,
    ) -> Result<(Extents, usize), LowerError> {
        if self.schedule.in_slots(list) {
            return self.slot_extents(list, op);
        }
        if moving {
            return self.moving_extents(list);
        }
        let start = self.plan.extents.len();
        let mut bytes = 0;
        for set in self.schedule.list(list) {
            for (first, run) in set.runs(0) {
                let extent = self.map.extent(set.space, first, run);
                bytes += extent.bytes;
                push_merged(&mut self.plan.extents, start, extent);
            }
        }
        let len = (self.plan.extents.len() - start) as u32;
        Ok((
            Extents {
                start: start as u32,
                len,
                moving: false,
            },
            bytes,
        ))
    }

    /// Slots are as long as what comes from them or goes there.
    fn slot_extents(&mut self, list: List, op: &Op) -> Result<(Extents, usize), LowerError> {
        let schedule = self.schedule;
        let lists = [op.from, op.into, op.other];
        let sized = lists
            .into_iter()
            .find(|l| l.len > 0 && !schedule.in_slots(*l));
        let rank = schedule.rank;
        let sized = sized.ok_or(LowerError::SlotsAlone { rank })?;
        let each = |list| {
            let sets = schedule.list(list).iter();
            sets.flat_map(|set| set.each(0).map(|block| (set.space, block)))
        };
        let start = self.plan.extents.len();
        let mut all_bytes = 0;
        for ((space, slot), (of, block)) in each(list).zip(each(sized)) {
            let bytes = self.map.extent(of, block, 1).bytes;
            let extent = self.map.extent(space, slot, 1);
            push_merged(&mut self.plan.extents, start, Extent { bytes, ..extent });
            all_bytes += bytes;
        }
        let len = (self.plan.extents.len() - start) as u32;
        let extents = Extents {
            start: start as u32,
            len,
            moving: false,
        };
        Ok((extents, all_bytes))
    }

    fn moving_extents(&mut self, list: List) -> Result<(Extents, usize), LowerError> {
        let start = self.plan.moving.len() as u32;
        let mut bytes = 0;
        for set in self.schedule.list(list) {
            for (first, run) in set.runs(0) {
                let moving = self.map.moving(&Blocks { first, run, ..*set })?;
                bytes += moving.at(0).bytes;
                self.plan.moving.push(moving);
            }
        }
        let len = self.plan.moving.len() as u32 - start;
        Ok((
            Extents {
                start,
                len,
                moving: true,
            },
            bytes,
        ))
    }
}

fn push_merged(extents: &mut Vec<Extent>, start: usize, extent: Extent) {
    if extent.bytes == 0 {
        return;
    }
    if let Some(last) = extents[start..].last_mut()
        && last.space == extent.space
        && last.offset + last.bytes == extent.offset
    {
        last.bytes += extent.bytes;
        return;
    }
    extents.push(extent);
}
