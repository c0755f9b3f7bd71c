//! The builder: what an algorithm says to become a schedule.

use super::blocks::BlockList;
use super::{
    Blocks, Item, List, Op, OpKind, Region, Schedule, Shape, Side, Space, Strand, Units, View,
};
use super::{repeat, stage};
use crate::call::{Alias, Call};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Collects one rank's operations.
///
/// Operations gather in the current step; [`Builder::step`] ends it. An operation whose blocks are all of
/// count zero is left out (both ends of a message see the same count).
pub struct Builder {
    shape: Arc<Shape>,
    pub(super) schedule: Schedule,
    pub(super) strand: usize,
    step_start: usize,
    /// In the body of a repeat: where its steps end so far.
    repeated_steps: Option<Vec<u32>>,
    pub(super) port: u8,
    pub(super) channel: u16,
    staged: Option<Blocks>,
    views: bool,
}

impl Builder {
    /// A builder for `rank`, with vectors cut in `parts`.
    ///
    /// With `staged`, an in-place call first copies its input to scratch and reads it there: for
    /// algorithms that would overwrite input that they still need.
    #[must_use]
    pub fn new(shape: impl Into<Arc<Shape>>, rank: u32, parts: u32, staged: bool) -> Builder {
        let empty = Schedule::default().emptied(rank, parts);
        Builder::within(empty, shape.into(), staged)
    }

    /// The same for the rank of an empty schedule, in its memory.
    pub(crate) fn within(schedule: Schedule, shape: Arc<Shape>, staged: bool) -> Builder {
        let mut builder = Builder {
            shape,
            schedule,
            strand: 0,
            step_start: 0,
            repeated_steps: None,
            port: 0,
            channel: 0,
            staged: None,
            views: false,
        };
        if staged {
            builder.stage_input();
        }
        builder
    }

    /// Asks the algorithm to say which blocks are the rows of its figure.
    #[must_use]
    pub fn with_views(mut self) -> Builder {
        self.views = true;
        self
    }

    fn stage_input(&mut self) {
        let (rank, call) = (self.schedule.rank, self.shape.call);
        let input = self.input();
        let Alias::Apart = call.alias(rank, self.schedule.parts) else {
            if input.count() == 0 {
                return;
            }
            let first = call.input_unit(rank, 0, self.schedule.parts) as u32;
            let modulo = u32::MAX;
            let units = match call.collective {
                crate::call::Collective::Alltoall => {
                    let ranks = call.ranks;
                    Units::Pairs {
                        ranks,
                        first: rank,
                        source_step: 0,
                        onward: 0,
                        step: 1,
                        width: ranks,
                    }
                }
                _ => Units::Run { first, modulo },
            };
            let stage = self.scratch(units, input.count());
            self.copy(input, stage);
            self.step();
            self.staged = Some(stage);
            return;
        };
    }

    /// The call and the parameters.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The call.
    #[must_use]
    pub fn call(&self) -> &Call {
        &self.shape.call
    }

    /// The rank whose part this is.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.schedule.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.shape.call.ranks
    }

    /// The root of the call.
    #[must_use]
    pub fn root(&self) -> u32 {
        self.shape.call.root
    }

    /// In how many parts a vector is cut.
    #[must_use]
    pub fn parts(&self) -> u32 {
        self.schedule.parts
    }

    /// The value of a parameter (0 if the algorithm does not have the key).
    #[must_use]
    pub fn get(&self, key: &str) -> u32 {
        self.shape.get(key)
    }

    /// All input blocks of this rank (a copy of them in scratch, if the builder stages the input).
    #[must_use]
    pub fn input(&self) -> Blocks {
        let count = self.shape.call.input_blocks(self.rank(), self.parts());
        self.staged.unwrap_or(Blocks::new(Space::Input, 0, count))
    }

    /// All output blocks of this rank.
    #[must_use]
    pub fn output(&self) -> Blocks {
        let count = self.shape.call.output_blocks(self.rank(), self.parts());
        Blocks::new(Space::Output, 0, count)
    }

    /// New scratch: `blocks` blocks sized for `units`.
    pub fn scratch(&mut self, units: Units, blocks: u32) -> Blocks {
        let first = push_region(&mut self.schedule.scratch, units, blocks);
        Blocks::new(Space::Scratch, first, blocks)
    }

    /// New scratch with a block for each unit `0..parts`: a vector.
    pub fn vector(&mut self) -> Blocks {
        let parts = self.parts();
        self.scratch(
            Units::Run {
                first: 0,
                modulo: parts,
            },
            parts,
        )
    }

    /// A part of the window, the same on every rank (every rank must ask for the same).
    pub fn window(&mut self, units: Units, blocks: u32) -> Blocks {
        let first = push_region(&mut self.schedule.window, units, blocks);
        Blocks::new(Space::Window, first, blocks)
    }

    /// A new flag; this rank's waits for it may take `credits` notifications before there are any (every rank must ask for
    /// as many flags).
    pub fn flag(&mut self, credits: u32) -> u16 {
        self.schedule.credits.push(credits);
        self.schedule.flags += 1;
        self.schedule.flags - 1
    }

    /// The port of the operations that follow in this step (0 at its start).
    pub fn port(&mut self, port: u32) -> &mut Builder {
        self.port = port as u8;
        self
    }

    /// Sends `from` to rank `to`.
    pub fn send(&mut self, to: u32, from: impl BlockList) {
        let kind = OpKind::Send {
            to,
            channel: self.channel,
            port: self.port,
            deposited: false,
        };
        self.push(kind, from.sets(), &[], &[]);
    }

    /// Receives from rank `from` into `into`.
    pub fn recv(&mut self, from: u32, into: impl BlockList) {
        let kind = OpKind::Recv {
            from,
            channel: self.channel,
            port: self.port,
        };
        self.push(kind, &[], into.sets(), &[]);
    }

    /// Receives from rank `from`, combines with `own`, writes `into`; the incoming operand stands on `side`.
    pub fn recv_reduce(
        &mut self,
        from: u32,
        side: Side,
        own: impl BlockList,
        into: impl BlockList,
    ) {
        let kind = OpKind::RecvReduce {
            from,
            channel: self.channel,
            port: self.port,
            side,
        };
        self.push(kind, own.sets(), into.sets(), &[]);
    }

    /// Sends a message without data.
    pub fn send_token(&mut self, to: u32) {
        let kind = OpKind::Send {
            to,
            channel: self.channel,
            port: self.port,
            deposited: false,
        };
        self.push_always(kind, [List::default(); 3]);
    }

    /// Receives a message without data.
    pub fn recv_token(&mut self, from: u32) {
        let kind = OpKind::Recv {
            from,
            channel: self.channel,
            port: self.port,
        };
        self.push_always(kind, [List::default(); 3]);
    }

    /// Copies `from` into `into`; nothing, if in place they are the same memory, or `from` was staged from there and
    /// still lies there.
    pub fn copy(&mut self, from: impl BlockList, into: impl BlockList) {
        let (from, into) = (from, into);
        let alias = self.shape.call.alias(self.rank(), self.parts());
        let there = |(a, b): (&Blocks, &Blocks)| {
            let staged = self.staged.filter(|_| self.repeated_steps.is_none());
            let staged = staged.is_some_and(|s| stage::lies_there(&self.schedule, s, alias, a, b));
            staged || a.home(alias) == b.home(alias)
        };
        let (sources, targets) = (from.sets(), into.sets());
        if sources.len() == targets.len() && sources.iter().zip(targets).all(there) {
            return;
        }
        self.push(OpKind::Copy, from.sets(), into.sets(), &[]);
    }

    /// Writes `left` ⊕ `right` into `into`.
    pub fn reduce(&mut self, left: impl BlockList, right: impl BlockList, into: impl BlockList) {
        self.push(OpKind::Reduce, left.sets(), into.sets(), right.sets());
    }

    /// Raises flag `flag` of rank `to`.
    pub fn notify(&mut self, to: u32, flag: u16) {
        self.push_always(OpKind::Notify { to, flag }, [List::default(); 3]);
    }

    /// Waits for `count` notifications of own flag `flag`.
    pub fn wait(&mut self, flag: u16, count: u32) {
        self.watch(self.rank(), flag, count);
    }

    /// Waits for `count` notifications of flag `flag` of rank `at`, for which others may wait too.
    pub fn watch(&mut self, at: u32, flag: u16, count: u32) {
        if count > 0 {
            self.push_always(OpKind::Wait { at, flag, count }, [List::default(); 3]);
        }
    }

    /// Waits until strand `strand` has done its first `items` items.
    pub fn await_strand(&mut self, strand: usize, items: usize) {
        let kind = OpKind::Await {
            strand: strand as u16,
            items: items as u32,
        };
        self.push_always(kind, [List::default(); 3]);
    }

    /// The number of items in strand `strand` so far.
    #[must_use]
    pub fn items(&self, strand: usize) -> usize {
        self.schedule.strands[strand].items.len()
    }

    /// Ends the current step: what follows starts when all of it is done.
    ///
    /// In the body of a repeat likewise, for each iteration: its first step starts when the last one of the
    /// iteration before is done. A body that says no steps waits for its data alone.
    pub fn step(&mut self) {
        if let Some(steps) = &mut self.repeated_steps {
            steps.push(self.schedule.ops.len() as u32);
            self.port = 0;
            return;
        }
        let (start, end) = (self.step_start as u32, self.schedule.ops.len() as u32);
        if start < end {
            self.schedule.strands[self.strand]
                .items
                .push(Item::Step { start, end });
        }
        self.step_start = end as usize;
        self.port = 0;
    }

    /// A pipeline of `times` iterations, of which at most `window` are under way at once.
    ///
    /// In the body, blocks move by their `advance` in each iteration, and an operation starts as
    /// soon as the operations before it (in this or an earlier iteration) that touch its blocks are done.
    pub fn repeat(&mut self, times: u32, window: u32, body: impl FnOnce(&mut Builder)) {
        self.step();
        let start = self.schedule.ops.len();
        let sets = self.schedule.blocks.len();
        self.repeated_steps = Some(Vec::new());
        body(self);
        let said = self.repeated_steps.take().unwrap_or_default();
        let end = self.schedule.ops.len();
        if times == 0 {
            self.schedule.ops.truncate(start);
            self.schedule.blocks.truncate(sets);
        } else if start < end {
            let mut steps = said;
            if !steps.is_empty() {
                steps.push(end as u32);
                steps.retain(|&step| step as usize > start);
                steps.dedup();
            }
            let alias = self.shape.call.alias(self.rank(), self.parts());
            let item = repeat::item(&self.schedule, alias, [times, window], start..end, steps);
            self.schedule.strands[self.strand].items.push(item);
        }
        self.step_start = self.schedule.ops.len();
        self.port = 0;
    }

    /// A strand of its own that runs beside the others, on channels of its own; returns its number.
    pub fn strand(&mut self, body: impl FnOnce(&mut Builder)) -> usize {
        self.step();
        let outer = (self.strand, self.channel);
        self.schedule.strands.push(Strand::default());
        self.strand = self.schedule.strands.len() - 1;
        self.channel = self.strand as u16;
        body(self);
        self.step();
        let made = self.strand;
        (self.strand, self.channel) = outer;
        made
    }

    /// Says which blocks are the rows of the algorithm's figure now (evaluated only for pictures).
    pub fn view(&mut self, rows: impl FnOnce() -> Vec<Option<Blocks>>) {
        if self.views {
            self.step();
            let items = self.schedule.strands[0].items.len() as u32;
            self.schedule.views.push(View {
                items,
                rows: rows(),
            });
        }
    }

    /// Ends the last step and gives the schedule.
    #[must_use]
    pub fn finish(mut self) -> Schedule {
        self.step();
        if let Some(stage) = self.staged {
            stage::drop_unread(&mut self.schedule, stage);
        }
        self.schedule
    }

    #[inline]
    pub(super) fn push(
        &mut self,
        kind: OpKind,
        from: &[Blocks],
        into: &[Blocks],
        other: &[Blocks],
    ) {
        let before = self.schedule.blocks.len();
        let lists = [self.intern(from), self.intern(into), self.intern(other)];
        if self.schedule.blocks.len() > before {
            self.push_always(kind, lists);
        }
    }

    pub(super) fn push_always(&mut self, kind: OpKind, [from, into, other]: [List; 3]) {
        self.schedule.ops.push(Op {
            kind,
            from,
            into,
            other,
        });
    }

    #[inline]
    fn intern(&mut self, sets: &[Blocks]) -> List {
        let start = self.schedule.blocks.len() as u32;
        match sets {
            [] => List { start, len: 0 },
            [one] if one.count() > 0 => {
                self.schedule.blocks.push(*one);
                List { start, len: 1 }
            }
            _ => self.intern_all(sets),
        }
    }

    fn intern_all(&mut self, sets: &[Blocks]) -> List {
        let start = self.schedule.blocks.len() as u32;
        let filled = sets.iter().filter(|set| set.count() > 0);
        self.schedule.blocks.extend(filled);
        let len = self.schedule.blocks.len() as u32 - start;
        List { start, len }
    }
}

fn push_region(regions: &mut Vec<Region>, units: Units, blocks: u32) -> u32 {
    let first = regions.last().map_or(0, |r| r.first + r.blocks);
    regions.push(Region {
        first,
        blocks,
        units,
    });
    first
}
