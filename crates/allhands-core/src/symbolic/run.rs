//! The maximal run: every rank goes on as far as it can until nobody can.

use super::flags::{Knowledge, Notification, OneSided, Stamp, WorldClock};
use super::memory::{Access, Clock, Memory};
use super::order;
use super::{Delivery, Failure, Law, Nobody, Observer, Outcome, Sets, Value, World};
use crate::call::Collective;
use crate::schedule::readiness::{Next, StrandCursor};
use crate::schedule::{Item, List, Op, OpKind, Schedule, Side, Space};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use one_sided::counters_of_strand;

/// A set of ranks, as bits.
pub type Entered = Vec<u64>;

/// Runs calls one after another on the same ranks, windows and flags, and checks laws 1 to 5.
///
/// # Errors
/// The first law that a rank breaks.
pub fn run(worlds: &[World<'_>]) -> Result<Outcome, Failure> {
    run_observed(worlds, &mut Nobody)
}

/// [`run`], where only ranks of one node share memory: `node_of` says which. What is put to a rank of another node is seen by nobody but
/// who knows of a later notification to that same rank, as puts go ways of their own.
///
/// # Errors
/// The first law that a rank breaks.
pub fn run_apart(worlds: &[World<'_>], node_of: &[u32]) -> Result<Outcome, Failure> {
    run_on(worlds, node_of, &mut Nobody)
}

/// [`run`], seen by an observer.
///
/// # Errors
/// The first law that a rank breaks.
pub fn run_observed(worlds: &[World<'_>], observer: &mut dyn Observer) -> Result<Outcome, Failure> {
    run_on(worlds, &[], observer)
}

fn run_on(
    worlds: &[World<'_>],
    node_of: &[u32],
    observer: &mut dyn Observer,
) -> Result<Outcome, Failure> {
    worlds.iter().try_for_each(same_windows)?;
    worlds.iter().try_for_each(order::check)?;
    let mut runner = Runner::new(worlds, node_of, observer);
    for rank in 0..runner.ranks.len() as u32 {
        runner.enter(rank)?;
    }
    while let Some((rank, strand)) = runner.ready.pop() {
        runner.go_on(rank, strand)?;
    }
    runner.finish()
}

/// Windows and flags are the same on every rank: peers name them by their own numbers and sizes.
fn same_windows(world: &World<'_>) -> Result<(), Failure> {
    let first = &world.schedules[0];
    let differs = |s: &&Schedule| s.window != first.window || s.flags != first.flags;
    match world.schedules.iter().find(differs) {
        None => Ok(()),
        Some(schedule) => Err(Failure {
            law: Law::Window,
            rank: schedule.rank,
            what: format!(
                "the window or the number of flags differs from that of rank {}",
                first.rank
            ),
        }),
    }
}

/// One operation under way.
#[derive(Clone, Debug)]
struct Instance {
    rank: u32,
    strand: u16,
    op: u32,
    iteration: u32,
    /// The operation's place in the body of a repeat; `None` in a step.
    lane: Option<u32>,
    /// The round before the one in which it can travel.
    round: u32,
    knowledge: Knowledge,
    /// A send's data, a recv-reduce's own operand.
    values: Vec<Value>,
}

/// What waits on a channel: sends or receives, never both; a channel through which something went stays.
#[derive(Clone)]
struct Waiting {
    sends: bool,
    first: Option<Instance>,
    more: VecDeque<Instance>,
}

#[derive(Clone, Default)]
struct StrandState {
    cursor: StrandCursor,
    round: u32,
    next_round: u32,
    clock: Clock,
    /// What it knows of the world, shared by the operations of an item, and what it will know after the item.
    known: Knowledge,
    next_known: Knowledge,
    /// In which round each iteration of each lane of a repeat was over.
    rounds: Vec<Vec<u32>>,
    /// After each item: its round and the clock.
    history: Vec<(u32, Clock)>,
    awaiting: Vec<(Instance, u16, u32)>,
    waits: Vec<Instance>,
}

struct RankState<'a> {
    number: usize,
    memory: Memory<'a>,
    strands: Vec<StrandState>,
    /// The most items of a strand, and the operations, of the calls before.
    base_items: u32,
    base_ops: u32,
    sent: u64,
    received: u64,
    work: u64,
}

struct Runner<'a, 'o> {
    worlds: &'a [World<'a>],
    sets: Sets,
    ranks: Vec<RankState<'a>>,
    /// For each receiver, by sender and channel.
    channels: Vec<BTreeMap<(u32, u16), Waiting>>,
    one_sided: OneSided,
    meetings: meetings::Meetings,
    windows: bool,
    /// By rank its node; nothing where all share memory.
    node_of: &'a [u32],
    counters: Vec<u32>,
    ready: Vec<(u32, u16)>,
    spare: blocks::Spare,
    /// The clock of the operation of a repeat that starts, in the memory of the one before.
    lane_clock: Clock,
    outcome: Outcome,
    observer: &'o mut dyn Observer,
}

impl<'a, 'o> Runner<'a, 'o> {
    fn new(
        worlds: &'a [World<'a>],
        node_of: &'a [u32],
        observer: &'o mut dyn Observer,
    ) -> Runner<'a, 'o> {
        let ordered = worlds.iter().any(|w| !w.call.commutative);
        let schedules = || worlds.iter().flat_map(|w| w.schedules);
        let windows = schedules().any(|s| s.flags > 0 || !s.window.is_empty());
        let ranks = worlds[0].schedules.len();
        let mut one_sided = OneSided::default();
        for schedule in schedules().filter(|_| windows) {
            one_sided.grow(
                schedule.rank,
                schedule.window.last().map_or(0, |r| r.first + r.blocks),
            );
            one_sided.make_flags(schedule);
        }
        // Strands are numbered rank by rank.
        let mut counters = vec![0];
        for rank in 0..ranks {
            let strands = worlds
                .iter()
                .map(|w| w.schedules[rank].strands.len())
                .max()
                .unwrap_or(1);
            counters.push(counters[rank] + counters_of_strand(node_of) * strands as u32);
        }
        let mut sets = Sets::new(ordered);
        let ranks: Vec<RankState<'_>> = worlds[0]
            .schedules
            .iter()
            .map(|s| RankState::new(worlds[0], s, &mut sets, 0))
            .collect();
        Runner {
            worlds,
            sets,
            channels: vec![BTreeMap::new(); ranks.len()],
            ranks,
            one_sided,
            meetings: meetings::Meetings::default(),
            windows,
            node_of,
            counters,
            ready: Vec::new(),
            spare: blocks::Spare::default(),
            lane_clock: Clock::new(),
            outcome: Outcome::default(),
            observer,
        }
    }

    /// Starts the rank's strands in its current call.
    fn enter(&mut self, rank: u32) -> Result<(), Failure> {
        let world_size = *self.counters.last().unwrap_or(&0) as usize;
        let words = self.ranks_words();
        let state = &mut self.ranks[rank as usize];
        self.outcome.ports = self.outcome.ports.max(ports(state.memory.schedule));
        let barrier = state.memory.call.collective == Collective::Barrier;
        for (number, strand) in state.strands.iter_mut().enumerate() {
            if self.windows {
                let clock = strand.known.clock.get_or_insert_default();
                Rc::make_mut(clock).resize(world_size, 0);
            }
            if barrier {
                let mut entered = vec![0; words];
                entered[rank as usize / 64] |= 1 << (rank % 64);
                strand.known.entered = Some(Rc::new(entered));
            }
            strand.next_known = strand.known.clone();
            self.ready.push((rank, number as u16));
        }
        Ok(())
    }

    fn go_on(&mut self, rank: u32, strand: u16) -> Result<(), Failure> {
        let schedule = self.ranks[rank as usize].memory.schedule;
        let items = &schedule.strands[strand as usize].items;
        loop {
            let state = self.strand(rank, strand);
            match state.cursor.next(items) {
                Next::Step(ops) => {
                    state.next_round = state.round;
                    self.start_step(rank, strand, ops)?;
                }
                Next::Repeat(lanes) => {
                    state.next_round = state.round;
                    state.rounds = vec![Vec::new(); lanes];
                }
                Next::Iteration { at, iteration } => {
                    let item = &items[state.cursor.item()];
                    self.start_lane((rank, strand), item, (at, iteration))?;
                }
                Next::Over(item) => self.end_item((rank, strand), item, &items[item])?,
                Next::Wait => return Ok(()),
                Next::End => return self.leave(rank),
            }
        }
    }

    fn strand(&mut self, rank: u32, strand: u16) -> &mut StrandState {
        &mut self.ranks[rank as usize].strands[strand as usize]
    }

    fn start_step(&mut self, rank: u32, strand: u16, ops: Range<u32>) -> Result<(), Failure> {
        let state = self.strand(rank, strand);
        let round = state.round;
        // An await in the step adds to the strand's clock, which the step itself does not see.
        let clock = state.clock.clone();
        for op in ops {
            let instance = self.instance(rank, strand, op, 0, None, round);
            self.start(instance, &clock)?;
        }
        Ok(())
    }

    fn instance(
        &self,
        rank: u32,
        strand: u16,
        op: u32,
        iteration: u32,
        lane: Option<u32>,
        round: u32,
    ) -> Instance {
        let state = &self.ranks[rank as usize].strands[strand as usize];
        Instance {
            rank,
            strand,
            op,
            iteration,
            lane,
            round,
            knowledge: state.known.clone(),
            values: Vec::new(),
        }
    }

    fn ranks_words(&self) -> usize {
        (self.worlds[0].schedules.len()).div_ceil(64)
    }

    /// Item `number` of a strand is over.
    fn end_item(
        &mut self,
        (rank, strand): (u32, u16),
        number: usize,
        item: &Item,
    ) -> Result<(), Failure> {
        let strands = self.ranks[rank as usize].strands.len();
        let base = self.ranks[rank as usize].base_items;
        let base_ops = self.ranks[rank as usize].base_ops;
        let counter = self.counter(rank, strand);
        let state = &mut self.ranks[rank as usize].strands[strand as usize];
        let (ops_done, items_done) = (item.ops().end as u32, number as u32 + 1);
        if let Item::Repeat { times, .. } = item {
            for op in item.ops() {
                state.clock[strands + op] = *times;
            }
        }
        state.round = state.next_round;
        state.clock[strand as usize] = items_done;
        // Let go of first, so that a clock which nobody else holds is written where it is.
        state.known = Knowledge::default();
        if let Some(clock) = &mut state.next_known.clock {
            let clock = Rc::make_mut(clock);
            clock[counter as usize] = base + items_done;
            clock[counter as usize + 1] = base_ops + ops_done;
        }
        state.known = state.next_known.clone();
        let round = state.round;
        // Only other strands ask how this one stood after an item.
        if strands > 1 {
            state.history.push((state.round, state.clock.clone()));
        }
        if strand == 0 {
            let (memory, one_sided) = (&self.ranks[rank as usize].memory, &self.one_sided);
            let read = |space, block| match space {
                Space::Window => one_sided.peek(rank, block),
                Space::Input | Space::Output | Space::Scratch => memory.peek(space, block),
            };
            self.observer.item_done(rank, number as u32, round, &read);
        }
        // Only another strand can have waited for this one.
        if strands > 1 {
            self.wake_awaiting(rank)?;
        }
        Ok(())
    }

    /// Lets go the operations of this rank that wait for a strand that has come far enough.
    fn wake_awaiting(&mut self, rank: u32) -> Result<(), Failure> {
        for strand in 0..self.ranks[rank as usize].strands.len() {
            let waiting = core::mem::take(&mut self.ranks[rank as usize].strands[strand].awaiting);
            for (instance, on, items) in waiting {
                self.await_strand(instance, on, items)?;
            }
        }
        Ok(())
    }

    fn await_strand(&mut self, instance: Instance, on: u16, items: u32) -> Result<(), Failure> {
        let (rank, strand) = (instance.rank, instance.strand);
        if !self.strand(rank, on).cursor.has_passed(items) {
            let awaiting = &mut self.strand(rank, strand).awaiting;
            awaiting.push((instance, on, items));
            return Ok(());
        }
        // What its own strand has been through, and nothing at all, an operation knows anyway.
        let last = (items as usize).checked_sub(1).filter(|_| on != strand);
        let Some((round, clock)) = last.map(|last| self.strand(rank, on).history[last].clone())
        else {
            return self.complete(&instance, instance.round, &Knowledge::default());
        };
        let state = self.strand(rank, strand);
        state
            .clock
            .iter_mut()
            .zip(clock)
            .for_each(|(own, other)| *own = (*own).max(other));
        self.complete(&instance, round, &Knowledge::default())
    }
}

impl<'a> RankState<'a> {
    fn new(
        world: World<'a>,
        schedule: &'a Schedule,
        sets: &mut Sets,
        number: usize,
    ) -> RankState<'a> {
        let (call, rank) = (world.call, schedule.rank);
        let memory = Memory::new(schedule, call, &mut |block| {
            let content = call.before(rank, block, schedule.parts);
            match content.contributions {
                None => Value::data(content.unit),
                Some((start, end)) => sets.value(content.unit, start, end),
            }
        });
        // Lanes: a clock entry for each strand; operations only where a repeat runs them apart.
        let repeats = schedule
            .strands
            .iter()
            .flat_map(|s| &s.items)
            .any(|i| matches!(i, Item::Repeat { .. }));
        let lanes = schedule.strands.len() + if repeats { schedule.ops.len() } else { 0 };
        let strand = StrandState {
            clock: vec![0; lanes],
            ..StrandState::default()
        };
        let strands = vec![strand; schedule.strands.len()];
        RankState {
            number,
            memory,
            strands,
            base_items: 0,
            base_ops: 0,
            sent: 0,
            received: 0,
            work: 0,
        }
    }
}

/// The most messages that a rank may send, or receive, at once; a notification goes with a put to the same rank, if
/// there is one beside it. What a rank does to its own window and flags is no message.
fn ports(schedule: &Schedule) -> u32 {
    let most = |count: &dyn Fn(&[Op]) -> usize| -> usize {
        let items = |items: &[Item]| {
            items
                .iter()
                .flat_map(Item::at_once)
                .map(|ops| count(&schedule.ops[ops]))
                .max()
                .unwrap_or(0)
        };
        schedule.strands.iter().map(|s| items(&s.items)).sum()
    };
    let sends = most(&|ops| {
        let put_to = |rank| {
            ops.iter()
                .any(|op| matches!(op.kind, OpKind::Put { to, .. } | OpKind::PutReduce { to, .. } if to == rank))
        };
        let sends = |op: &&Op| match op.kind {
            // A copy that packets leave on their way is no message of its own.
            OpKind::Send { deposited, .. } => !deposited,
            OpKind::Combine { gives, .. } => gives,
            OpKind::Put { to, .. } | OpKind::PutReduce { to, .. } => to != schedule.rank,
            OpKind::Notify { to, .. } => to != schedule.rank && !put_to(to),
            _ => false,
        };
        ops.iter().filter(sends).count()
    });
    let receives = most(&|ops| {
        let receives = |op: &&Op| match op.kind {
            OpKind::Recv { .. } | OpKind::RecvReduce { .. } | OpKind::Combine { .. } => true,
            OpKind::Get { from, .. } | OpKind::GetReduce { from, .. } => from != schedule.rank,
            _ => false,
        };
        ops.iter().filter(receives).count()
    });
    sends.max(receives) as u32
}

mod blocks;
mod lanes;
mod meetings;
mod one_sided;
mod result;
mod start;
