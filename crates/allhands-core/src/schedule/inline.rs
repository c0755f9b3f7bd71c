//! Inlining: the schedule of a group's call becomes a part of the schedule of the whole call.
//!
//! Ranks are translated, input and output of the group's call are blocks of the whole one, and its scratch, window and
//! flags are appended. A block of the group's call may stand for several blocks of the whole one: a node's block is one
//! of a rank each, so its length depends on the node.

use super::{Blocks, Builder, Item, List, Op, OpKind, Region, Schedule, Space, Units};
use crate::call::Unit;
use alloc::vec;
use alloc::vec::Vec;

/// How a group's call stands in the whole one.
pub struct Group<'a> {
    /// The rank in the whole call of each rank of the group.
    pub rank: &'a dyn Fn(u32) -> u32,
    /// Where each input block lies.
    pub input: &'a dyn Fn(u32) -> Vec<Blocks>,
    /// Where each output block lies.
    pub output: &'a dyn Fn(u32) -> Vec<Blocks>,
    /// The units of the whole call that a unit of the group's call stands for, in the order of their blocks: rules of a
    /// region for them, and for how many each is.
    pub units: &'a dyn Fn(Unit) -> Vec<(Units, u32)>,
}

/// Window and flags for a group's call, the same on every rank of the whole call, whether it is in a group or not.
#[derive(Clone, Debug, Default)]
pub struct Reserved {
    /// The first block of each region of the window.
    windows: Vec<u32>,
    /// Blocks of the whole call in a slot.
    longest: u32,
    /// The first unit of a vector's window.
    first_unit: u32,
    first_flag: u16,
}

impl Builder {
    /// Asks for the window and the flags of a call like that of `largest`, the schedule of a rank of the largest group.
    ///
    /// A slot gets room for `longest` blocks; a vector's window for the units `units` of the whole call.
    pub fn reserve(
        &mut self,
        largest: &Schedule,
        longest: u32,
        units: &core::ops::Range<u32>,
    ) -> Reserved {
        let mut windows = Vec::new();
        for region in &largest.window {
            let window = match region.units {
                Units::Slots => self.window(Units::Slots, region.blocks * longest),
                Units::Run { .. }
                | Units::Transit { .. }
                | Units::Pairs { .. }
                | Units::PairsByDestination { .. } => {
                    let run = Units::Run {
                        first: units.start,
                        modulo: units.end.max(1),
                    };
                    self.window(run, units.len() as u32)
                }
            };
            windows.push(window.first);
        }
        let first_flag = self.schedule.flags;
        for credits in &largest.credits {
            self.flag(*credits);
        }
        Reserved {
            windows,
            longest,
            first_unit: units.start,
            first_flag,
        }
    }

    /// Does what `schedule`, this rank's part of a group's call, does.
    ///
    /// A pipeline must be over blocks that all stand for equally many. What comes next starts when all strands are done; a rank
    /// that is in no group says [`Builder::pass_strands`] instead.
    pub fn inline(&mut self, schedule: &Schedule, group: &Group<'_>, reserved: &Reserved) {
        self.step();
        for (flag, credits) in schedule.credits.iter().enumerate() {
            self.schedule.credits[usize::from(reserved.first_flag) + flag] = *credits;
        }
        let mut inlined = Inlined {
            schedule,
            group,
            reserved,
            scratch: scratch(self, schedule, group),
            strands: vec![self.strand],
            done: vec![Vec::new(); schedule.strands.len()],
        };
        let (own, before) = (self.strand, self.items(self.strand));
        for _ in 1..schedule.strands.len() {
            let made = self.strand(|b| {
                if before > 0 {
                    b.await_strand(own, before);
                }
            });
            inlined.strands.push(made);
        }
        for strand in 0..schedule.strands.len() {
            inlined.strand(self, strand);
        }
        for &made in &inlined.strands[1..] {
            self.await_strand(made, self.items(made));
        }
        self.step();
    }

    /// Makes as many strands as [`Builder::inline`] does for a schedule like this one, so that those of all ranks have the same
    /// numbers.
    pub fn pass_strands(&mut self, schedule: &Schedule) {
        for _ in 1..schedule.strands.len() {
            self.strand(|_| {});
        }
    }
}

/// Where the scratch blocks of a group's call lie in the whole one.
fn scratch(b: &mut Builder, schedule: &Schedule, group: &Group<'_>) -> Vec<Vec<Blocks>> {
    let mut all = Vec::new();
    for region in &schedule.scratch {
        if let Some((units, by)) = scaled(region, group) {
            let run = b.scratch(units, region.blocks * by);
            all.extend((0..region.blocks).map(|block| vec![run.slice(block * by, by)]));
            continue;
        }
        let units = |block| (group.units)(region.units.unit(block));
        let mut next = 0;
        while next < region.blocks {
            let [(first, mut blocks)] = units(next)[..] else {
                let parts = units(next).into_iter();
                all.push(
                    parts
                        .map(|(units, count)| b.scratch(units, count))
                        .collect(),
                );
                next += 1;
                continue;
            };
            // As many blocks as stand for consecutive units share a region.
            let mut counts = vec![blocks];
            while next + (counts.len() as u32) < region.blocks {
                let [(units, count)] = units(next + counts.len() as u32)[..] else {
                    break;
                };
                if units.unit(0) != first.unit(0) + Unit::from(blocks) || !both_run(first, units) {
                    break;
                }
                counts.push(count);
                blocks += count;
            }
            let run = b.scratch(first, blocks);
            let mut from = 0;
            for count in &counts {
                all.push(vec![run.slice(from, *count)]);
                from += count;
            }
            next += counts.len() as u32;
        }
    }
    all
}

fn both_run(a: Units, b: Units) -> bool {
    matches!((a, b), (Units::Run { .. }, Units::Run { .. }))
}

/// The region's rule in the whole call, and the blocks that each of its blocks stands for, if these are equally many.
fn scaled(region: &Region, group: &Group<'_>) -> Option<(Units, u32)> {
    let Units::Run { first, modulo } = region.units else {
        return None;
    };
    let [(_, by)] = (group.units)(0)[..] else {
        return None;
    };
    let is_scaled = |unit: Unit| {
        let [(Units::Run { first, .. }, count)] = (group.units)(unit)[..] else {
            return false;
        };
        u64::from(first) == unit * u64::from(by) && count == by
    };
    let all = (0..region.blocks).all(|block| is_scaled(region.units.unit(block)));
    let units = Units::Run {
        first: first * by,
        modulo: modulo.saturating_mul(by),
    };
    all.then_some((units, by))
}

/// A schedule of a group's call as it stands in the whole one.
struct Inlined<'a> {
    schedule: &'a Schedule,
    group: &'a Group<'a>,
    reserved: &'a Reserved,
    scratch: Vec<Vec<Blocks>>,
    /// The strand of the whole call for each of its own.
    strands: Vec<usize>,
    /// For each of its strands, as far as it has been said: after each item, how many the whole call's has.
    done: Vec<Vec<u32>>,
}

impl Inlined<'_> {
    /// Says a strand, after those for which it waits, unless it is there.
    fn strand(&mut self, b: &mut Builder, strand: usize) {
        if !self.done[strand].is_empty() {
            return;
        }
        let made = self.strands[strand];
        self.done[strand].push(b.items(made) as u32);
        for item in &self.schedule.strands[strand].items {
            for op in &self.schedule.ops[item.ops()] {
                if let OpKind::Await { strand, .. } = op.kind {
                    self.strand(b, usize::from(strand));
                }
            }
            let outer = (b.strand, b.channel);
            (b.strand, b.channel) = match strand {
                0 => outer,
                _ => (made, made as u16),
            };
            self.item(b, item);
            (b.strand, b.channel) = outer;
            self.done[strand].push(b.items(made) as u32);
        }
    }

    fn item(&self, b: &mut Builder, item: &Item) {
        match item {
            Item::Step { .. } => {
                self.ops(b, item.ops());
                b.step();
            }
            Item::Repeat {
                times,
                window,
                steps,
                ..
            } => b.repeat(*times, *window, |b| {
                let mut start = item.ops().start;
                for &end in steps {
                    self.ops(b, start..end as usize);
                    b.step();
                    start = end as usize;
                }
                self.ops(b, start..item.ops().end);
            }),
        }
    }

    fn ops(&self, b: &mut Builder, ops: core::ops::Range<usize>) {
        for op in &self.schedule.ops[ops] {
            let [from, into, other] =
                [op.from, op.into, op.other].map(|list| self.list(b, list, op));
            if op.kind == OpKind::Copy {
                b.copy(from, into);
            } else if op.from.len + op.into.len + op.other.len == 0 {
                b.push_always(self.kind(b, op.kind), [List::default(); 3]);
            } else {
                b.push(self.kind(b, op.kind), &from, &into, &other);
            }
        }
    }

    fn kind(&self, b: &Builder, kind: OpKind) -> OpKind {
        let mut kind = kind;
        match &mut kind {
            OpKind::Send {
                to: rank, channel, ..
            }
            | OpKind::Recv {
                from: rank,
                channel,
                ..
            }
            | OpKind::RecvReduce {
                from: rank,
                channel,
                ..
            } => {
                *rank = (self.group.rank)(*rank);
                *channel = b.channel;
            }
            OpKind::Put { to: rank, .. }
            | OpKind::PutReduce { to: rank, .. }
            | OpKind::Get { from: rank, .. }
            | OpKind::GetReduce { from: rank, .. } => *rank = (self.group.rank)(*rank),
            OpKind::Notify { to: rank, flag } | OpKind::Wait { at: rank, flag, .. } => {
                *rank = (self.group.rank)(*rank);
                *flag += self.reserved.first_flag;
            }
            // All ranks of the machine meet in a fabric, so nothing that uses one is a group's.
            OpKind::Combine { .. } | OpKind::Copy | OpKind::Reduce => {}
            OpKind::Await { strand, items } => {
                *items = self.done[usize::from(*strand)][*items as usize];
                *strand = self.strands[usize::from(*strand)] as u16;
            }
        }
        kind
    }

    /// The blocks of the whole call that a list of an operation stands for.
    fn list(&self, b: &Builder, list: List, op: &Op) -> Vec<Blocks> {
        let lists = [op.from, op.into, op.other];
        let sized = lists
            .into_iter()
            .find(|l| l.len > 0 && !self.schedule.in_slots(*l));
        let each = |list| {
            let sets = self.schedule.list(list).iter();
            sets.flat_map(|set| set.each(0).map(|block| (*set, block)))
        };
        let mut lengths = sized.into_iter().flat_map(each).map(|(set, block)| {
            self.blocks(set.space, block, 0)
                .iter()
                .map(Blocks::count)
                .sum()
        });
        let mut all: Vec<Blocks> = Vec::new();
        for (set, block) in each(list) {
            let length = lengths.next().unwrap_or(0);
            let blocks = self.blocks(set.space, block, length);
            debug_assert!(
                set.advance == 0 || blocks.len() == 1,
                "what moves in a pipeline stands for one set"
            );
            for blocks in blocks {
                let advance = set.advance * blocks.count() as i32;
                push_merged(b, &mut all, blocks.advancing(advance));
            }
        }
        all
    }

    /// What a block of the group's call stands for; `length` is for slots.
    fn blocks(&self, space: Space, block: u32, length: u32) -> Vec<Blocks> {
        match space {
            Space::Input => (self.group.input)(block),
            Space::Output => (self.group.output)(block),
            Space::Scratch => self.scratch[block as usize].clone(),
            Space::Window => {
                let regions = &self.schedule.window;
                let at = regions.partition_point(|r| r.first + r.blocks <= block);
                let (region, base) = (regions[at], self.reserved.windows[at]);
                let index = block - region.first;
                if region.units == Units::Slots {
                    let first = base + index * self.reserved.longest;
                    return vec![Blocks::new(Space::Window, first, length)];
                }
                let base = base.wrapping_sub(self.reserved.first_unit);
                let parts = (self.group.units)(region.units.unit(index)).into_iter();
                parts
                    .map(|(units, count)| {
                        let first = base.wrapping_add(units.unit(0) as u32);
                        Blocks::new(Space::Window, first, count)
                    })
                    .collect()
            }
        }
    }
}

/// Adds a set, in one with the last if they follow one another in one region.
fn push_merged(b: &Builder, all: &mut Vec<Blocks>, next: Blocks) {
    let regions = match next.space {
        Space::Input | Space::Output => &[][..],
        Space::Scratch => &b.schedule.scratch,
        Space::Window => &b.schedule.window,
    };
    if let Some(last) = all.last_mut()
        && last.space == next.space
        && last.times == 1
        && next.times == 1
        && last.advance == next.advance
        && last.first + last.run == next.first
        && regions
            .binary_search_by_key(&next.first, |r| r.first)
            .is_err()
    {
        last.run += next.run;
        last.stride = last.run as i32;
        return;
    }
    if next.count() > 0 {
        all.push(next);
    }
}
