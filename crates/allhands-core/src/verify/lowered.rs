//! The lowered form on real elements: the interpreter runs the plans of all ranks in one memory.
//!
//! An element names its place in the vector and the ranks that it combines, so a wrong offset, a lost
//! or doubled contribution, or one out of order shows in the result. With a seed, ranks go on in
//! random order and data move at random moments between an operation's start and its end.

mod meetings;

use crate::call::{Alias, Call, Collective, Unit};
use crate::progress::{Cursor, Engine, Post, Status, advance};
use crate::schedule::{Extent, Layout, OpKind, Plan, Schedule, Side, Space};
use crate::symbolic::{Failure, Law};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

/// A place in the vector above the ranks that are combined, a bit each.
type Element = u128;

const ELEMENT_BYTES: usize = size_of::<Element>();

/// The bits for ranks.
const RANKS: Element = (1 << MOST_RANKS) - 1;

/// Up to this many ranks the lowered form is run at every count and layout.
pub const MOST_RANKS_EVERY_LAYOUT: u32 = 16;

/// Up to this many ranks the lowered form is run at all.
pub const MOST_RANKS: u32 = 64;

/// Runs the lowered form and compares the results: at counts 0, 1, p − 1, p + 1 and 1000, regular and irregular, up to
/// [`MOST_RANKS_EVERY_LAYOUT`] ranks; at one small count, as irregular as the call may be, up to [`MOST_RANKS`].
///
/// # Errors
/// What went wrong, as a broken law.
pub fn check(call: &Call, schedules: &[Schedule]) -> Result<(), Failure> {
    let p = call.ranks as usize;
    if call.ranks > MOST_RANKS {
        return Ok(());
    }
    if call.ranks > MOST_RANKS_EVERY_LAYOUT {
        let last = layouts(call, p + 1).pop();
        return last.map_or(Ok(()), |layout| run(call, schedules, &layout, None));
    }
    for count in [0, 1, p - 1, p + 1, 1000] {
        for layout in layouts(call, count) {
            run(call, schedules, &layout, None)?;
        }
    }
    Ok(())
}

/// The layouts to try for a count: regular, and uneven where blocks belong to ranks.
fn layouts(call: &Call, count: usize) -> Vec<Layout> {
    let p = call.ranks as usize;
    let uneven = |n: usize| (0..n).map(|i| (i * 7 + count) % (count + 3) / 2).collect();
    match call.collective {
        Collective::Barrier
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::Scan
        | Collective::Exscan => vec![Layout::Even(count)],
        Collective::ReduceScatter => vec![Layout::Even(count), Layout::Blocks(uneven(p))],
        Collective::Scatter | Collective::Gather | Collective::Allgather => {
            vec![Layout::Regular(count), Layout::Blocks(uneven(p))]
        }
        // In place, a pair sends as much as it receives.
        Collective::Alltoall if call.in_place => vec![Layout::Regular(count)],
        Collective::Alltoall => vec![Layout::Regular(count), Layout::Pairs(uneven(p * p))],
    }
}

/// Runs the plans of all ranks for one layout; `seed` picks an interleaving.
///
/// # Errors
/// What went wrong, as a broken law.
pub fn run(
    call: &Call,
    schedules: &[Schedule],
    layout: &Layout,
    seed: Option<u64>,
) -> Result<(), Failure> {
    let plans: Result<Vec<Plan>, _> = schedules
        .iter()
        .map(|s| Plan::lower(s, call, layout, ELEMENT_BYTES))
        .collect();
    let plans = plans.map_err(|e| Failure {
        law: Law::Matching,
        rank: 0,
        what: format!("lowering: {e}"),
    })?;
    let mut world = InMemory::new(call, schedules, &plans, layout, seed);
    let mut cursors: Vec<Cursor> = plans.iter().map(Cursor::new).collect();
    let mut open: Vec<usize> = (0..plans.len()).collect();
    while !open.is_empty() {
        let before = world.events;
        let first = world.random(open.len());
        open.rotate_left(first);
        let mut still = Vec::with_capacity(open.len());
        for &rank in &open {
            let mut engine = RankEngine {
                world: &mut world,
                rank,
            };
            if advance(&plans[rank], &mut cursors[rank], &mut engine)? == Status::Pending {
                still.push(rank);
            }
        }
        if world.events == before && still.len() == open.len() && !world.idle() {
            let rank = still[0] as u32;
            return Err(Failure {
                law: Law::Termination,
                rank,
                what: format!("the lowered form waits for ever ({layout:?})"),
            });
        }
        open = still;
    }
    world.check(call, schedules, layout)
}

struct Sent {
    rank: usize,
    ticket: u32,
    extents: Vec<Extent>,
    /// The data, if they were taken when the send started.
    data: Option<Vec<Element>>,
}

struct InMemory {
    meetings: meetings::Meetings,
    spaces: Vec<[Vec<Element>; 4]>,
    channels: BTreeMap<(u32, u32, u16), VecDeque<Sent>>,
    done: BTreeSet<(usize, u32)>,
    flags: Vec<Vec<u32>>,
    /// What the waits of a rank for a flag of a rank took: by (waiter, rank, flag).
    taken: BTreeMap<(usize, u32, u16), u32>,
    credits: Vec<Vec<u32>>,
    commutative: bool,
    reduces: bool,
    seed: Option<u64>,
    events: u64,
    skips: u32,
}

impl InMemory {
    fn new(
        call: &Call,
        schedules: &[Schedule],
        plans: &[Plan],
        layout: &Layout,
        seed: Option<u64>,
    ) -> InMemory {
        let mut spaces = Vec::with_capacity(plans.len());
        for (schedule, plan) in schedules.iter().zip(plans) {
            let mut memory = plan
                .space_bytes
                .map(|bytes| vec![Element::MAX; bytes / ELEMENT_BYTES]);
            let (space, start) = match call.alias(schedule.rank) {
                Alias::InputInOutput { first } => {
                    (Space::Output, offset_of(call, schedule, layout, first))
                }
                Alias::Apart | Alias::OutputInInput { .. } => (Space::Input, 0),
            };
            let mut at = start;
            for block in 0..call.input_blocks(schedule.rank, schedule.parts) {
                let unit = call.input_unit(schedule.rank, block);
                for index in 0..layout.elements(unit, schedule.parts).unwrap_or(0) {
                    memory[space.index()][at] =
                        element(call, unit, index, schedule.rank, schedule.rank + 1);
                    at += 1;
                }
            }
            spaces.push(memory);
        }
        InMemory {
            meetings: meetings::Meetings::default(),
            spaces,
            channels: BTreeMap::new(),
            done: BTreeSet::new(),
            flags: plans.iter().map(|p| vec![0; p.credits.len()]).collect(),
            taken: BTreeMap::new(),
            credits: plans.iter().map(|p| p.credits.clone()).collect(),
            commutative: call.commutative,
            reduces: call.collective.reduces(),
            seed,
            events: 0,
            skips: 0,
        }
    }

    /// A number below `limit`; 0 without a seed. (SplitMix64, Steele, Lea, Flood 2014.)
    fn random(&mut self, limit: usize) -> usize {
        let Some(seed) = &mut self.seed else { return 0 };
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }

    /// Whether the last round moved nothing only because chance held it back.
    fn idle(&mut self) -> bool {
        core::mem::take(&mut self.skips) > 0
    }

    fn gather(&self, rank: usize, extents: &[Extent]) -> Vec<Element> {
        let each = |e: &Extent| {
            let start = e.offset / ELEMENT_BYTES;
            self.spaces[rank][e.space.index()][start..start + e.bytes / ELEMENT_BYTES]
                .iter()
                .copied()
        };
        extents.iter().flat_map(each).collect()
    }

    fn scatter(
        &mut self,
        rank: usize,
        extents: &[Extent],
        data: &[Element],
    ) -> Result<(), Failure> {
        let expected: usize = extents.iter().map(|e| e.bytes / ELEMENT_BYTES).sum();
        if expected != data.len() {
            let what = format!(
                "{} elements arrive where {expected} are expected",
                data.len()
            );
            return Err(Failure {
                law: Law::Matching,
                rank: rank as u32,
                what,
            });
        }
        let mut data = data.iter();
        for extent in extents {
            let start = extent.offset / ELEMENT_BYTES;
            let target = &mut self.spaces[rank][extent.space.index()]
                [start..start + extent.bytes / ELEMENT_BYTES];
            target
                .iter_mut()
                .zip(&mut data)
                .for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }

    fn combine(
        &self,
        rank: usize,
        left: &[Element],
        right: &[Element],
    ) -> Result<Vec<Element>, Failure> {
        let both = |(&l, &r): (&Element, &Element)| {
            let (place, lower, upper) = (l >> MOST_RANKS, l & RANKS, r & RANKS);
            let ordered = self.commutative || lower < upper & upper.wrapping_neg();
            if place != r >> MOST_RANKS || lower & upper != 0 || !ordered || !self.reduces {
                let what = format!("combines element {l:#x} with {r:#x}");
                return Err(Failure {
                    law: Law::Result,
                    rank: rank as u32,
                    what,
                });
            }
            Ok(place << MOST_RANKS | lower | upper)
        };
        if left.len() != right.len() {
            let what = format!("combines {} elements with {}", left.len(), right.len());
            return Err(Failure {
                law: Law::Matching,
                rank: rank as u32,
                what,
            });
        }
        left.iter().zip(right).map(both).collect()
    }

    fn check(&self, call: &Call, schedules: &[Schedule], layout: &Layout) -> Result<(), Failure> {
        for schedule in schedules {
            let rank = schedule.rank;
            let (space, mut at) = match call.alias(rank) {
                Alias::OutputInInput { first } => {
                    (Space::Input, offset_of(call, schedule, layout, first))
                }
                Alias::Apart | Alias::InputInOutput { .. } => (Space::Output, 0),
            };
            for block in 0..call.output_blocks(rank, schedule.parts) {
                let elements = layout
                    .elements(call.output_unit(rank, block), schedule.parts)
                    .unwrap_or(0);
                let Some(content) = call.after(rank, block) else {
                    continue;
                };
                let (start, end) = content.contributions.unwrap_or((0, 0));
                for index in 0..elements {
                    let expected = element(call, content.unit, index, start, end);
                    let got = self.spaces[rank as usize][space.index()][at];
                    if got != expected {
                        let what = format!(
                            "element {index} of output block {block} is {got:#x}, not {expected:#x} ({layout:?})"
                        );
                        return Err(Failure {
                            law: Law::Result,
                            rank,
                            what,
                        });
                    }
                    at += 1;
                }
            }
        }
        Ok(())
    }
}

/// The element of a unit: its place, and (as bits) the ranks combined in it.
fn element(call: &Call, unit: Unit, index: usize, start: u32, end: u32) -> Element {
    let place = Element::from(unit << 24 | index as u64);
    let ranks = if call.collective.reduces() {
        (1 << end) - (1 << start)
    } else {
        0
    };
    place << MOST_RANKS | ranks
}

/// The element at which block `first` of the larger of two aliased spaces starts.
fn offset_of(call: &Call, schedule: &Schedule, layout: &Layout, first: u32) -> usize {
    let larger_is_output = matches!(call.alias(schedule.rank), Alias::InputInOutput { .. });
    let unit = |b| {
        if larger_is_output {
            call.output_unit(schedule.rank, b)
        } else {
            call.input_unit(schedule.rank, b)
        }
    };
    (0..first)
        .map(|b| layout.elements(unit(b), schedule.parts).unwrap_or(0))
        .sum()
}

struct RankEngine<'a> {
    world: &'a mut InMemory,
    rank: usize,
}

impl RankEngine<'_> {
    /// Whether chance lets the operation move now; always, without a seed.
    fn may_move(&mut self) -> bool {
        let moves = self.world.random(2) == 0;
        self.world.skips += u32::from(!moves);
        moves
    }

    /// Starts a send, or asks whether its receiver has taken the data.
    fn send(&mut self, post: &Post<'_>, key: (u32, u32, u16), started: bool) -> Status {
        if started {
            return if self.world.done.remove(&(self.rank, post.ticket)) {
                Status::Done
            } else {
                Status::Pending
            };
        }
        let early = self.world.random(2) == 1;
        let sent = Sent {
            rank: self.rank,
            ticket: post.ticket,
            extents: post.source().to_vec(),
            data: early.then(|| self.world.gather(self.rank, post.source())),
        };
        self.world.channels.entry(key).or_default().push_back(sent);
        Status::Pending
    }

    /// Takes the first message of a channel, if there is one.
    fn receive(&mut self, post: &Post<'_>, key: (u32, u32, u16)) -> Result<bool, Failure> {
        let channel = self.world.channels.get_mut(&key);
        let Some(sent) = channel.and_then(VecDeque::pop_front) else {
            return Ok(false);
        };
        let mut data = sent
            .data
            .unwrap_or_else(|| self.world.gather(sent.rank, &sent.extents));
        if let OpKind::RecvReduce { side, .. } = post.kind() {
            data = self.combine_own(post, side, &data)?;
        }
        self.world.scatter(self.rank, post.target(), &data)?;
        self.world.done.insert((sent.rank, sent.ticket));
        Ok(true)
    }

    /// Combines what came in, which stands on `side`, with the own operand.
    fn combine_own(
        &self,
        post: &Post<'_>,
        side: Side,
        data: &[Element],
    ) -> Result<Vec<Element>, Failure> {
        let own = self.world.gather(self.rank, post.source());
        match side {
            Side::Left => self.world.combine(self.rank, data, &own),
            Side::Right => self.world.combine(self.rank, &own, data),
        }
    }

    /// Takes `count` notifications of a flag, if there are as many, the credit included.
    fn take(&mut self, (at, flag): (u32, u16), count: u32) -> bool {
        let raised = self.world.flags[at as usize][flag as usize];
        let credit = self.world.credits[self.rank][flag as usize];
        let taken = self.world.taken.entry((self.rank, at, flag)).or_default();
        let enough = raised + credit >= *taken + count;
        *taken += if enough { count } else { 0 };
        enough
    }

    fn attempt(&mut self, post: &Post<'_>, started: bool) -> Result<Status, Failure> {
        let rank = self.rank as u32;
        match post.kind() {
            OpKind::Send { to, channel, .. } => {
                return Ok(self.send(post, (rank, to, channel), started));
            }
            OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
                if !self.may_move() {
                    return Ok(Status::Pending);
                }
                if !self.receive(post, (from, rank, channel))? {
                    return Ok(Status::Pending);
                }
            }
            OpKind::Combine { fabric, gives, .. } => {
                return self.meet(post, (fabric, gives), started);
            }
            OpKind::Copy | OpKind::Reduce => {
                if !self.may_move() {
                    return Ok(Status::Pending);
                }
                let mut data = self.world.gather(self.rank, post.source());
                if post.kind() == OpKind::Reduce {
                    data = self.world.combine(
                        self.rank,
                        &data,
                        &self.world.gather(self.rank, post.other()),
                    )?;
                }
                self.world.scatter(self.rank, post.target(), &data)?;
            }
            OpKind::Put { to, .. } => {
                let data = self.world.gather(self.rank, post.source());
                self.world.scatter(to as usize, post.target(), &data)?;
            }
            OpKind::PutReduce { to, side, .. } => {
                let data = self.world.gather(self.rank, post.source());
                let there = self.world.gather(to as usize, post.target());
                let data = match side {
                    Side::Left => self.world.combine(self.rank, &data, &there)?,
                    Side::Right => self.world.combine(self.rank, &there, &data)?,
                };
                self.world.scatter(to as usize, post.target(), &data)?;
            }
            OpKind::Get { from, .. } => {
                let data = self.world.gather(from as usize, post.other());
                self.world.scatter(self.rank, post.target(), &data)?;
            }
            OpKind::GetReduce { from, side, .. } => {
                let data = self.world.gather(from as usize, post.other());
                let data = self.combine_own(post, side, &data)?;
                self.world.scatter(self.rank, post.target(), &data)?;
            }
            OpKind::Notify { to, flag } => self.world.flags[to as usize][flag as usize] += 1,
            OpKind::Wait { at, flag, count } => {
                if !self.take((at, flag), count) {
                    return Ok(Status::Pending);
                }
            }
            OpKind::Await { .. } => {}
        }
        self.world.events += 1;
        Ok(Status::Done)
    }
}

impl Engine for RankEngine<'_> {
    type Error = Failure;

    fn start(&mut self, post: &Post<'_>) -> Result<Status, Failure> {
        self.world.events += 1;
        self.attempt(post, false)
    }

    fn poll(&mut self, post: &Post<'_>) -> Result<Status, Failure> {
        self.attempt(post, true)
    }
}
