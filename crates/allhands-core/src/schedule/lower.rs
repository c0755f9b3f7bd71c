//! Lowering: from blocks to bytes, for one layout.

use super::layout::even_offset;
use super::plan::{Extent, Extents, Moving, Plan, PlanItem, PlanOp};
use super::{Blocks, Item, Layout, List, Region, Schedule, Space};
use crate::call::{Alias, Call, Unit};
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
    /// Input and output blocks that share memory differ in size.
    AliasedSizes {
        /// The rank.
        rank: u32,
    },
}

impl fmt::Display for LowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LowerError::UnknownSize { rank, unit } => write!(
                f,
                "rank {rank} does not know the length of block {unit}, which this algorithm passes through it; all ranks must know all counts"
            ),
            LowerError::IrregularPipeline => {
                write!(f, "a pipeline needs a vector that is cut evenly")
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

/// Scratch and window regions start on cache lines of their own.
const REGION_ALIGN: usize = 64;

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
            let (from, from_bytes) = self.extents(op.from, moving)?;
            // A put's target and a get's source lie in the peer's window, which has the same map.
            let (into, into_bytes) = self.extents(op.into, moving)?;
            let (other, _) = self.extents(op.other, moving)?;
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

    fn extents(&mut self, list: List, moving: bool) -> Result<(Extents, usize), LowerError> {
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

/// Where each region starts and how its blocks follow one another.
struct Placed {
    first: u32,
    blocks: u32,
    base: usize,
    offsets: Offsets,
}

/// The byte offset of each block of a region from the region's start.
enum Offsets {
    /// Units `unit..` in order; the first `longer` of all have `element_bytes` more than `unit_bytes`.
    Rule {
        unit: u32,
        unit_bytes: usize,
        longer: usize,
    },
    /// Offset of each block, and the total.
    Table(Vec<usize>),
}

/// From (space, block) to bytes.
struct Map {
    spaces: [Vec<Placed>; 4],
    /// Where a space lies inside another: (its host, the host's byte at which it starts).
    hosts: [Option<(Space, usize)>; 4],
    bytes: [usize; 4],
    element_bytes: usize,
}

impl Map {
    fn new(
        s: &Schedule,
        call: &Call,
        layout: &Layout,
        element_bytes: usize,
    ) -> Result<Map, LowerError> {
        let mut map = Map {
            spaces: Default::default(),
            hosts: [None; 4],
            bytes: [0; 4],
            element_bytes,
        };
        let rank = s.rank;
        let input = (call.input_blocks(rank, s.parts), &|b| {
            call.input_unit(rank, b)
        });
        let output = (call.output_blocks(rank, s.parts), &|b| {
            call.output_unit(rank, b)
        });
        map.place(Space::Input, 0, input.0, input.1, layout, s)?;
        map.place(Space::Output, 0, output.0, output.1, layout, s)?;
        for (space, regions) in [(Space::Scratch, &s.scratch), (Space::Window, &s.window)] {
            for Region {
                first,
                blocks,
                units,
            } in regions
            {
                let region_unit = |b: u32| units.unit(b);
                map.place(space, *first, *blocks, &region_unit, layout, s)?;
            }
        }
        map.alias(call, s)?;
        Ok(map)
    }

    fn place(
        &mut self,
        space: Space,
        first: u32,
        blocks: u32,
        unit: &dyn Fn(u32) -> Unit,
        layout: &Layout,
        s: &Schedule,
    ) -> Result<(), LowerError> {
        if blocks == 0 {
            return Ok(());
        }
        let size = self.element_bytes;
        let base = self.bytes[space.index()].next_multiple_of(REGION_ALIGN);
        let consecutive = unit(blocks - 1) == unit(0) + Unit::from(blocks) - 1
            && unit(blocks / 2) == unit(0) + Unit::from(blocks / 2);
        let (offsets, total) = match layout {
            Layout::Even(total) if consecutive => {
                let (parts, first) = (s.parts as usize, unit(0) as usize);
                let offset = |u| even_offset(*total, s.parts, u) * size;
                let rule = Offsets::Rule {
                    unit: first as u32,
                    unit_bytes: total / parts * size,
                    longer: total % parts,
                };
                (rule, offset(first + blocks as usize) - offset(first))
            }
            Layout::Regular(block) => {
                let rule = Offsets::Rule {
                    unit: 0,
                    unit_bytes: block * size,
                    longer: 0,
                };
                (rule, block * size * blocks as usize)
            }
            _ => {
                let mut offset = 0;
                let mut table = Vec::with_capacity(blocks as usize + 1);
                for block in 0..blocks {
                    table.push(offset);
                    let unit = unit(block);
                    let elements = layout.elements(unit, s.parts);
                    offset +=
                        elements.ok_or(LowerError::UnknownSize { rank: s.rank, unit })? * size;
                }
                table.push(offset);
                (Offsets::Table(table), offset)
            }
        };
        self.bytes[space.index()] = base + total;
        self.spaces[space.index()].push(Placed {
            first,
            blocks,
            base,
            offsets,
        });
        Ok(())
    }

    fn alias(&mut self, call: &Call, s: &Schedule) -> Result<(), LowerError> {
        let (inner, host, first, blocks) = match call.alias(s.rank) {
            Alias::Apart => return Ok(()),
            Alias::InputInOutput { first } => (
                Space::Input,
                Space::Output,
                first,
                call.input_blocks(s.rank, s.parts),
            ),
            Alias::OutputInInput { first } => (
                Space::Output,
                Space::Input,
                first,
                call.output_blocks(s.rank, s.parts),
            ),
        };
        if blocks == 0 {
            return Ok(());
        }
        let start = self.extent(host, first, 1).offset;
        for block in 0..blocks {
            let (within, under) = (
                self.extent(inner, block, 1),
                self.extent(host, first + block, 1),
            );
            if within.bytes != under.bytes || within.offset + start != under.offset {
                return Err(LowerError::AliasedSizes { rank: s.rank });
            }
            if matches!(self.placed(inner, block).offsets, Offsets::Rule { .. }) {
                break;
            }
        }
        self.bytes[inner.index()] = 0;
        self.hosts[inner.index()] = Some((host, start));
        Ok(())
    }

    fn placed(&self, space: Space, block: u32) -> &Placed {
        let regions = &self.spaces[space.index()];
        let at = regions.partition_point(|r| r.first + r.blocks <= block);
        &regions[at]
    }

    /// The bytes of `run` consecutive blocks, which lie in one region.
    fn extent(&self, space: Space, block: u32, run: u32) -> Extent {
        let placed = self.placed(space, block);
        let index = (block - placed.first) as usize;
        let (start, end) = match &placed.offsets {
            Offsets::Table(table) => (table[index], table[index + run as usize]),
            Offsets::Rule {
                unit,
                unit_bytes,
                longer,
            } => {
                let at = |u: usize| u * unit_bytes + u.min(*longer) * self.element_bytes;
                let unit = *unit as usize;
                (
                    at(unit + index) - at(unit),
                    at(unit + index + run as usize) - at(unit),
                )
            }
        };
        self.hosted(Extent {
            space,
            offset: placed.base + start,
            bytes: end - start,
        })
    }

    fn hosted(&self, extent: Extent) -> Extent {
        match self.hosts[extent.space.index()] {
            None => extent,
            Some((space, start)) => Extent {
                space,
                offset: start + extent.offset,
                ..extent
            },
        }
    }

    fn moving(&self, set: &Blocks) -> Result<Moving, LowerError> {
        let placed = self.placed(set.space, set.first);
        let Offsets::Rule {
            unit,
            unit_bytes,
            longer,
        } = placed.offsets
        else {
            return Err(LowerError::IrregularPipeline);
        };
        let element_bytes = self.element_bytes;
        let start = unit as usize * unit_bytes + (unit as usize).min(longer) * element_bytes;
        let base = self.hosted(Extent {
            space: set.space,
            offset: placed.base,
            bytes: 0,
        });
        Ok(Moving {
            space: base.space,
            origin: base.offset as isize - start as isize,
            unit_bytes,
            longer,
            element_bytes,
            unit: unit + (set.first - placed.first),
            units: set.run,
            advance: set.advance,
        })
    }
}
