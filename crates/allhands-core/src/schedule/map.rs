//! The map of a rank's memory for one layout: where every block of every space lies.

use super::layout::even_offset;
use super::plan::{Extent, Moving};
use super::{Blocks, Layout, LowerError, Region, Schedule, Space, Units};
use crate::call::{Alias, Call, Unit};
use alloc::vec::Vec;

/// Scratch and window regions start on cache lines of their own.
const REGION_ALIGN: usize = 64;

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

impl Placed {
    /// Where `run` consecutive blocks start in the region, and how many bytes they are.
    #[inline]
    fn run(&self, block: u32, run: u32, element_bytes: usize) -> (usize, usize) {
        let (index, run) = ((block - self.first) as usize, run as usize);
        match &self.offsets {
            Offsets::Table(table) => (table[index], table[index + run] - table[index]),
            Offsets::Rule {
                unit_bytes,
                longer: 0,
                ..
            } => (index * unit_bytes, run * unit_bytes),
            Offsets::Rule {
                unit,
                unit_bytes,
                longer,
            } => {
                let at = |u: usize| u * unit_bytes + u.min(*longer) * element_bytes;
                let unit = *unit as usize;
                let start = at(unit + index);
                (start - at(unit), at(unit + index + run) - start)
            }
        }
    }
}

/// From (space, block) to bytes.
#[derive(Default)]
pub(super) struct Map {
    /// The regions, space by space.
    regions: Vec<Placed>,
    /// One past the last region of each space.
    ends: [usize; 4],
    /// Where a space lies inside another: (its host, the host's byte at which it starts).
    hosts: [Option<(Space, usize)>; 4],
    /// The length of each space.
    pub(super) bytes: [usize; 4],
    element_bytes: usize,
    /// In how many pieces each block is cut.
    pieces: u32,
}

impl Map {
    /// The map of a schedule, in the memory of another one.
    pub(super) fn of(
        before: Map,
        s: &Schedule,
        call: &Call,
        layout: &Layout,
        element_bytes: usize,
    ) -> Result<Map, LowerError> {
        let mut map = Map {
            regions: before.regions,
            element_bytes,
            pieces: call.pieces(s.parts),
            ..Map::default()
        };
        map.regions.clear();
        let rank = s.rank;
        let input = (call.input_blocks(rank, s.parts), &|b| {
            call.input_unit(rank, b, s.parts)
        });
        let output = (call.output_blocks(rank, s.parts), &|b| {
            call.output_unit(rank, b, s.parts)
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
                if *units == Units::Slots {
                    map.place_slots(space, *first, *blocks, layout, s)?;
                    continue;
                }
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
            Layout::Even(total) if consecutive && self.pieces == 1 => {
                let (parts, first) = (s.parts as usize, unit(0) as usize);
                let offset = |u| even_offset(*total, s.parts, u) * size;
                let rule = Offsets::Rule {
                    unit: first as u32,
                    unit_bytes: total / parts * size,
                    longer: total % parts,
                };
                (rule, offset(first + blocks as usize) - offset(first))
            }
            Layout::Regular(block) if block % self.pieces as usize == 0 => {
                let unit_bytes = block / self.pieces as usize * size;
                let rule = Offsets::Rule {
                    unit: 0,
                    unit_bytes,
                    longer: 0,
                };
                (rule, unit_bytes * blocks as usize)
            }
            _ => {
                let mut offset = 0;
                let mut table = Vec::with_capacity(blocks as usize + 1);
                for block in 0..blocks {
                    table.push(offset);
                    let unit = unit(block);
                    let elements = layout.elements(unit, s.parts, self.pieces);
                    offset +=
                        elements.ok_or(LowerError::UnknownSize { rank: s.rank, unit })? * size;
                }
                table.push(offset);
                (Offsets::Table(table), offset)
            }
        };
        self.bytes[space.index()] = base + total;
        self.put(space, [first, blocks], base, offsets);
        Ok(())
    }

    fn place_slots(
        &mut self,
        space: Space,
        first: u32,
        blocks: u32,
        layout: &Layout,
        s: &Schedule,
    ) -> Result<(), LowerError> {
        let (rank, unit) = (s.rank, Units::ANY);
        let longest = layout.longest(s.parts, self.pieces);
        let longest = longest.ok_or(LowerError::UnknownSize { rank, unit })?;
        let unit_bytes = longest * self.element_bytes;
        let base = self.bytes[space.index()].next_multiple_of(REGION_ALIGN);
        self.bytes[space.index()] = base + unit_bytes * blocks as usize;
        let offsets = Offsets::Rule {
            unit: 0,
            unit_bytes,
            longer: 0,
        };
        self.put(space, [first, blocks], base, offsets);
        Ok(())
    }

    /// Puts a region behind all others; spaces come in their order.
    fn put(&mut self, space: Space, [first, blocks]: [u32; 2], base: usize, offsets: Offsets) {
        self.regions.push(Placed {
            first,
            blocks,
            base,
            offsets,
        });
        self.ends[space.index()..].fill(self.regions.len());
    }

    fn alias(&mut self, call: &Call, s: &Schedule) -> Result<(), LowerError> {
        let (inner, host, first, blocks) = match call.alias(s.rank, s.parts) {
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

    #[inline]
    fn placed(&self, space: Space, block: u32) -> &Placed {
        let start = space.index().checked_sub(1).map_or(0, |i| self.ends[i]);
        let regions = &self.regions[start..self.ends[space.index()]];
        match regions {
            [one] => one,
            _ => &regions[regions.partition_point(|r| r.first + r.blocks <= block)],
        }
    }

    /// The bytes of `run` consecutive blocks, which lie in one region.
    #[inline]
    pub(super) fn extent(&self, space: Space, block: u32, run: u32) -> Extent {
        let placed = self.placed(space, block);
        let (start, bytes) = placed.run(block, run, self.element_bytes);
        self.hosted(Extent {
            space,
            offset: placed.base + start,
            bytes,
        })
    }

    /// How many they are.
    #[inline(always)]
    pub(super) fn length(&self, space: Space, block: u32, run: u32) -> usize {
        let placed = self.placed(space, block);
        placed.run(block, run, self.element_bytes).1
    }

    #[inline]
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

    pub(super) fn moving(&self, set: &Blocks) -> Result<Moving, LowerError> {
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
