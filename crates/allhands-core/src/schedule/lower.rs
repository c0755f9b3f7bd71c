//! Lowering: from blocks to bytes, for one layout.

use super::map::Map;
use super::plan::{Extent, Moving, Plan, PlanItem, PlanRepeat};
use super::plan_op::{PlanOp, Runs};
use super::readiness::is_left_out;
use super::{Blocks, Dependence, Item, Layout, List, Op, OpKind, Schedule, Units};
use crate::call::{Call, Unit};
use alloc::vec::Vec;
use core::fmt;
use core::num::NonZeroU32;
use core::ops::Range;

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
    /// An operation touches more runs of bytes than a plan can say.
    TooManyRuns {
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
            LowerError::TooManyRuns { rank } => {
                write!(
                    f,
                    "an operation of rank {rank} moves bytes in more runs than {}, the most that a plan can say",
                    PlanOp::MOST_RUNS
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
        lower(
            schedule,
            call,
            (layout, element_bytes),
            &mut Memory::default(),
        )
    }
}

/// What lowering needs besides the plan, and each rank leaves to the next.
#[derive(Default)]
pub(crate) struct Memory {
    map: Map,
    /// Whether plans are made without extents, but for those that move.
    pub(crate) leaves_out_extents: bool,
}

/// [`Plan::lower`], in memory that is there.
pub(crate) fn lower(
    schedule: &Schedule,
    call: &Call,
    (layout, element_bytes): (&Layout, usize),
    memory: &mut Memory,
) -> Result<Plan, LowerError> {
    let before = core::mem::take(&mut memory.map);
    let map = Map::of(before, schedule, call, layout, element_bytes)?;
    let mut lowering = Lowering::new(schedule, map, !memory.leaves_out_extents);
    for strand in &schedule.strands {
        let start = lowering.items.len() as u32;
        for item in &strand.items {
            lowering.item(item)?;
        }
        let end = lowering.items.len() as u32;
        lowering.strands.push((start, end));
    }
    let (plan, map) = lowering.finish(element_bytes);
    memory.map = map;
    Ok(plan)
}

/// Puts the operations of a step, which may start in any order, where they overlap best: messages leave first, and
/// what is local is done while they are on their way. One-sided operations stay in their order, which means something.
pub(crate) fn send_first<T>(step: &mut [T], kind: impl Fn(&T) -> OpKind) {
    const ONE_SIDED: u8 = 3;
    let place = |op: &T| match kind(op) {
        OpKind::Send { .. } => 0,
        OpKind::Recv { .. } | OpKind::RecvReduce { .. } => 1,
        OpKind::Copy | OpKind::Reduce => 2,
        OpKind::Put { .. }
        | OpKind::PutReduce { .. }
        | OpKind::Get { .. }
        | OpKind::GetReduce { .. }
        | OpKind::Notify { .. }
        | OpKind::Wait { .. }
        | OpKind::Combine { .. }
        | OpKind::Await { .. } => ONE_SIDED,
    };
    if !step.is_sorted_by_key(place) && step.iter().all(|op| place(op) < ONE_SIDED) {
        // Stable: messages of one channel stay in their order.
        step.sort_by_key(place);
    }
}

struct Lowering<'a> {
    schedule: &'a Schedule,
    map: Map,
    /// Whether any block may lie in a slot of the window.
    has_slots: bool,
    /// Whether extents that do not move are kept.
    keeps_extents: bool,
    items: Vec<PlanItem>,
    strands: Vec<(u32, u32)>,
    ops: Vec<PlanOp>,
    extents: Vec<Extent>,
    moving: Vec<Moving>,
    repeats: Vec<PlanRepeat>,
    waits: Vec<Vec<Dependence>>,
    widest: usize,
    combines: bool,
}

impl Lowering<'_> {
    fn new(schedule: &Schedule, map: Map, keeps_extents: bool) -> Lowering<'_> {
        let extents = if keeps_extents {
            schedule.blocks.len()
        } else {
            0
        };
        let items = schedule.strands.iter().map(|strand| strand.items.len());
        Lowering {
            schedule,
            map,
            has_slots: schedule.window.iter().any(|r| r.units == Units::Slots),
            keeps_extents,
            items: Vec::with_capacity(items.sum()),
            strands: Vec::with_capacity(schedule.strands.len()),
            ops: Vec::with_capacity(schedule.ops.len()),
            extents: Vec::with_capacity(extents),
            moving: Vec::new(),
            repeats: Vec::new(),
            waits: Vec::new(),
            widest: 0,
            combines: false,
        }
    }

    /// The plan, and the map's memory.
    fn finish(self, element_bytes: usize) -> (Plan, Map) {
        let plan = Plan {
            items: self.items.into(),
            ops: self.ops.into(),
            extents: self.extents.into(),
            moving: self.moving.into(),
            strands: self.strands.into(),
            repeats: self.repeats.into(),
            waits: self.waits.into(),
            credits: self.schedule.credits.as_slice().into(),
            space_bytes: self.map.bytes,
            element_bytes,
            widest: self.widest,
            rank: self.schedule.rank,
            flags: self.schedule.flags,
            combines: self.combines,
        };
        (plan, self.map)
    }

    fn item(&mut self, item: &Item) -> Result<(), LowerError> {
        let start = self.ops.len() as u32;
        let repeat = match item {
            Item::Step { .. } => {
                self.step(item.ops())?;
                None
            }
            Item::Repeat {
                times,
                window,
                waits,
                ..
            } => {
                self.repeats.push(PlanRepeat {
                    times: *times,
                    window: *window,
                    waits: self.waits.len() as u32,
                });
                self.waits.extend(waits.iter().cloned());
                self.repeat(item.ops())?;
                NonZeroU32::new(self.repeats.len() as u32)
            }
        };
        let end = self.ops.len() as u32;
        self.items.push(PlanItem { start, end, repeat });
        self.widest = self.widest.max((end - start) as usize);
        Ok(())
    }

    /// The operations of a step, but for what turns out empty.
    fn step(&mut self, ops: Range<usize>) -> Result<(), LowerError> {
        let (start, schedule) = (self.ops.len(), self.schedule);
        for op in &schedule.ops[ops] {
            let (runs, bytes) = match self.has_slots {
                true => self.any_runs(op, false)?,
                false => self.still_runs(op),
            };
            if !is_left_out(bytes as u64, op.is_token()) {
                self.push(op.kind, runs, bytes, op.is_token())?;
            }
        }
        send_first(&mut self.ops[start..], |op| op.kind);
        Ok(())
    }

    /// The operations of a repeat, of which some may be empty in the first iteration alone.
    fn repeat(&mut self, ops: Range<usize>) -> Result<(), LowerError> {
        let schedule = self.schedule;
        for op in &schedule.ops[ops] {
            let (runs, bytes) = self.any_runs(op, true)?;
            self.push(op.kind, runs, bytes, op.is_token())?;
        }
        Ok(())
    }

    #[inline]
    fn push(
        &mut self,
        kind: OpKind,
        runs: Runs,
        bytes: usize,
        token: bool,
    ) -> Result<(), LowerError> {
        let Some(op) = PlanOp::new(kind, runs, bytes, token) else {
            return Err(LowerError::TooManyRuns {
                rank: self.schedule.rank,
            });
        };
        self.ops.push(op);
        self.combines |= matches!(kind, OpKind::Combine { .. });
        Ok(())
    }

    /// The runs of bytes of an operation whose blocks lie still, outside slots, and how many bytes it moves.
    ///
    /// A put's target lies in the peer's window, which has the same map. What a get's or reduce's second source moves is as
    /// long as its target.
    #[inline]
    fn still_runs(&mut self, op: &Op) -> (Runs, usize) {
        let start = self.extents.len() as u32;
        let (from, from_bytes) = self.fixed(op.from);
        let (into, into_bytes) = self.fixed(op.into);
        let (other, _) = self.fixed(op.other);
        let runs = Runs {
            start,
            counts: [from, into, other],
            moving: false,
        };
        (runs, from_bytes.max(into_bytes))
    }

    /// The same of any operation: its blocks may move with the iteration, or lie in slots.
    fn any_runs(&mut self, op: &Op, repeats: bool) -> Result<(Runs, usize), LowerError> {
        let lists = [op.from, op.into, op.other];
        let moves = |list: List| self.schedule.list(list).iter().any(|b| b.advance != 0);
        let moving = repeats && lists.into_iter().any(moves);
        let start = match moving {
            true => self.moving.len(),
            false => self.extents.len(),
        };
        let (mut counts, mut bytes) = ([0; 3], [0; 3]);
        for (at, list) in lists.into_iter().enumerate() {
            (counts[at], bytes[at]) = if self.has_slots && self.schedule.in_slots(list) {
                self.in_slots(list, op, moving)?
            } else if moving {
                self.moving(list)?
            } else {
                self.fixed(list)
            };
        }
        let runs = Runs {
            start: start as u32,
            counts,
            moving,
        };
        Ok((runs, bytes[0].max(bytes[1])))
    }

    /// Resolves blocks that lie still; gives how many runs, if these are kept, and how many bytes they are.
    #[inline(always)]
    fn fixed(&mut self, list: List) -> (u32, usize) {
        match self.schedule.list(list) {
            [] => (0, 0),
            // What is most frequent where plans of many ranks are made.
            [one] if one.times == 1 && !self.keeps_extents => {
                (0, self.map.length(one.space, one.first, one.run))
            }
            sets if self.keeps_extents => self.kept(sets),
            sets => (0, self.length(sets)),
        }
    }

    /// How many bytes some blocks are.
    #[inline(never)]
    fn length(&self, sets: &[Blocks]) -> usize {
        let runs = |set: &Blocks| {
            let space = set.space;
            set.runs(0).map(move |(first, run)| (space, first, run))
        };
        let runs = sets.iter().flat_map(runs);
        let bytes = runs.map(|(space, first, run)| self.map.length(space, first, run));
        bytes.sum()
    }

    /// The same, and keeps the runs.
    #[inline(never)]
    fn kept(&mut self, sets: &[Blocks]) -> (u32, usize) {
        let (start, mut bytes) = (self.extents.len(), 0);
        for set in sets {
            for (first, run) in set.runs(0) {
                let extent = self.map.extent(set.space, first, run);
                bytes += extent.bytes;
                push_merged(&mut self.extents, start, extent);
            }
        }
        ((self.extents.len() - start) as u32, bytes)
    }

    /// Slots are as long as what comes from them or goes there.
    fn in_slots(&mut self, list: List, op: &Op, moving: bool) -> Result<(u32, usize), LowerError> {
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
        let (mut extents, mut all_bytes) = (Vec::new(), 0);
        for ((space, slot), (of, block)) in each(list).zip(each(sized)) {
            let bytes = self.map.extent(of, block, 1).bytes;
            let extent = self.map.extent(space, slot, 1);
            push_merged(&mut extents, 0, Extent { bytes, ..extent });
            all_bytes += bytes;
        }
        let count = extents.len() as u32;
        if moving {
            self.moving.extend(extents.into_iter().map(Moving::still));
        } else if self.keeps_extents {
            self.extents.extend(extents);
        } else {
            return Ok((0, all_bytes));
        }
        Ok((count, all_bytes))
    }

    /// Resolves blocks that move with the iteration; gives the bytes of iteration 0.
    fn moving(&mut self, list: List) -> Result<(u32, usize), LowerError> {
        let (start, mut bytes) = (self.moving.len(), 0);
        for set in self.schedule.list(list) {
            for (first, run) in set.runs(0) {
                let moving = self.map.moving(&Blocks { first, run, ..*set })?;
                bytes += moving.at(0).bytes;
                self.moving.push(moving);
            }
        }
        Ok(((self.moving.len() - start) as u32, bytes))
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
