//! The lowered form on real elements: the interpreter runs the plans of all ranks in one memory.
//!
//! The [elements](crate::elements) show what is wrong with a result. With a seed, ranks go on in random order and data move at
//! random moments between an operation's start and its end.

use crate::call::{Call, Collective};
use crate::elements::{EXACT_RANKS, Element, Meetings, Memory, mixed};
use crate::machine::Fabric;
use crate::progress::{Cursor, Engine, Post, Status, advance};
use crate::schedule::{Extent, Layout, OpKind, Plan, Schedule, Side};
use crate::symbolic::{Failure, Law};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

pub(super) const ELEMENT_BYTES: usize = size_of::<Element>();

/// Up to this many ranks the lowered form is run at every count and layout.
pub const MOST_RANKS_EVERY_LAYOUT: u32 = 16;

/// Up to this many ranks the lowered form is run at all.
pub const MOST_RANKS: u32 = EXACT_RANKS;

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
    let World {
        parts,
        plans,
        memory,
    } = World::new(call, schedules, layout)?;
    run_plans(memory, &plans, seed)?.check(call, &parts, layout)
}

/// [`run`] in the interleavings of many seeds, for which all is lowered once.
///
/// # Errors
/// What went wrong first, as a broken law.
pub fn run_interleaved(
    call: &Call,
    schedules: &[Schedule],
    layout: &Layout,
    seeds: Range<u64>,
) -> Result<(), Failure> {
    let World {
        parts,
        plans,
        memory,
    } = &World::new(call, schedules, layout)?;
    for seed in seeds {
        run_plans(memory.clone(), plans, Some(seed))?.check(call, parts, layout)?;
    }
    Ok(())
}

/// The plans of all ranks, and the memory with which they begin.
struct World {
    parts: Vec<u32>,
    plans: Vec<Plan>,
    memory: Memory,
}

impl World {
    fn new(call: &Call, schedules: &[Schedule], layout: &Layout) -> Result<World, Failure> {
        let plans: Result<Vec<Plan>, _> = schedules
            .iter()
            .map(|s| Plan::lower(s, call, layout, ELEMENT_BYTES))
            .collect();
        let plans = plans.map_err(|e| Failure {
            law: Law::Matching,
            rank: 0,
            what: format!("lowering: {e}"),
        })?;
        let parts: Vec<u32> = schedules.iter().map(|schedule| schedule.parts).collect();
        let memory = Memory::new(call, &parts, &plans, layout);
        Ok(World {
            parts,
            plans,
            memory,
        })
    }
}

/// The memory in which plans have run that holds what they begin with.
pub(super) fn run_plans(
    memory: Memory,
    plans: &[Plan],
    seed: Option<u64>,
) -> Result<Memory, Failure> {
    let mut world = InMemory::new(memory, plans, seed);
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
                rank: rank as u32,
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
                what: "the lowered form waits for ever".to_string(),
            });
        }
        open = still;
    }
    Ok(world.memory)
}

#[derive(Clone)]
struct Sent {
    rank: u32,
    ticket: u32,
    extents: Vec<Extent>,
    /// The data, if they were taken when the send started.
    data: Option<Vec<Element>>,
}

struct InMemory {
    meetings: Meetings,
    memory: Memory,
    /// For each receiver, by sender and channel.
    channels: Vec<BTreeMap<(u32, u16), VecDeque<Sent>>>,
    /// For each rank, by ticket: whether the receiver has taken the data of a send.
    done: Vec<Vec<bool>>,
    flags: Vec<Vec<u32>>,
    /// What the waits of a rank for a flag of a rank took: by (waiter, rank, flag).
    taken: BTreeMap<(u32, u32, u16), u32>,
    credits: Vec<Vec<u32>>,
    seed: Option<u64>,
    events: u64,
    skips: u32,
}

impl InMemory {
    fn new(memory: Memory, plans: &[Plan], seed: Option<u64>) -> InMemory {
        InMemory {
            meetings: Meetings::default(),
            memory,
            channels: vec![BTreeMap::new(); plans.len()],
            done: plans.iter().map(|p| vec![false; p.ops.len()]).collect(),
            flags: plans.iter().map(|p| vec![0; p.credits.len()]).collect(),
            taken: BTreeMap::new(),
            credits: plans.iter().map(|p| p.credits.to_vec()).collect(),
            seed,
            events: 0,
            skips: 0,
        }
    }

    /// A number below `limit`; 0 without a seed. (SplitMix64, Steele, Lea, Flood 2014.)
    fn random(&mut self, limit: usize) -> usize {
        let Some(seed) = &mut self.seed else { return 0 };
        *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mixed(*seed) % limit.max(1) as u64) as usize
    }

    /// Whether the last round moved nothing only because chance held it back.
    fn idle(&mut self) -> bool {
        core::mem::take(&mut self.skips) > 0
    }
}

struct RankEngine<'a> {
    world: &'a mut InMemory,
    rank: u32,
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
            let done = &mut self.world.done[self.rank as usize][post.ticket as usize];
            return if core::mem::take(done) {
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
            data: early.then(|| self.world.memory.gather(self.rank, post.source())),
        };
        let (from, to, channel) = key;
        let channels = &mut self.world.channels[to as usize];
        channels.entry((from, channel)).or_default().push_back(sent);
        Status::Pending
    }

    /// Takes the first message of a channel, if there is one.
    fn receive(&mut self, post: &Post<'_>, key: (u32, u32, u16)) -> Result<bool, Failure> {
        let (from, to, channel) = key;
        let channel = self.world.channels[to as usize].get_mut(&(from, channel));
        let Some(sent) = channel.and_then(VecDeque::pop_front) else {
            return Ok(false);
        };
        let memory = &mut self.world.memory;
        let data = sent.data;
        let data = data.unwrap_or_else(|| memory.gather(sent.rank, &sent.extents));
        let side = match post.kind() {
            OpKind::RecvReduce { side, .. } => Some(side),
            _ => None,
        };
        memory.deliver(self.rank, &data, (post.source(), side), post.target())?;
        self.world.done[sent.rank as usize][sent.ticket as usize] = true;
        Ok(true)
    }

    /// Brings what `source` of a rank holds to `target` of another, or of the same, which combines it with its own if it has
    /// a side.
    fn bring(
        &mut self,
        (from, source): (u32, &[Extent]),
        (to, own, side): (u32, &[Extent], Option<Side>),
        target: &[Extent],
    ) -> Result<(), Failure> {
        let memory = &mut self.world.memory;
        let data = memory.gather(from, source);
        memory.deliver(to, &data, (own, side), target)
    }

    /// Takes `count` notifications of a flag, if there are as many, the credit included.
    fn take(&mut self, (at, flag): (u32, u16), count: u32) -> bool {
        let raised = self.world.flags[at as usize][flag as usize];
        let credit = self.world.credits[self.rank as usize][flag as usize];
        let taken = self.world.taken.entry((self.rank, at, flag)).or_default();
        let enough = raised + credit >= *taken + count;
        *taken += if enough { count } else { 0 };
        enough
    }

    /// Comes to a meeting, or asks whether all have come and takes what they have given.
    fn meet(
        &mut self,
        post: &Post<'_>,
        (fabric, gives): (Fabric, bool),
        started: bool,
    ) -> Result<Status, Failure> {
        let place = (self.rank, post.ticket);
        let InMemory {
            meetings,
            memory,
            flags,
            events,
            ..
        } = &mut *self.world;
        if !started {
            let given = gives.then(|| memory.gather(self.rank, post.source()));
            meetings.come(fabric, place, given);
            return Ok(Status::Pending);
        }
        // Every rank has a list of flags.
        if meetings.present(place) < flags.len() {
            return Ok(Status::Pending);
        }
        let result = meetings.result(memory, place)?;
        if !post.target().is_empty() {
            memory.deliver(self.rank, &result, (&[], None), post.target())?;
        }
        *events += 1;
        Ok(Status::Done)
    }

    fn attempt(&mut self, post: &Post<'_>, started: bool) -> Result<Status, Failure> {
        let rank = self.rank;
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
            OpKind::Copy => {
                if !self.may_move() {
                    return Ok(Status::Pending);
                }
                self.bring((rank, post.source()), (rank, &[], None), post.target())?;
            }
            OpKind::Reduce => {
                if !self.may_move() {
                    return Ok(Status::Pending);
                }
                let own = (rank, post.source(), Some(Side::Right));
                self.bring((rank, post.other()), own, post.target())?;
            }
            OpKind::Put { to, .. } => {
                self.bring((rank, post.source()), (to, &[], None), post.target())?;
            }
            OpKind::PutReduce { to, side, .. } => {
                let there = (to, post.target(), Some(side));
                self.bring((rank, post.source()), there, post.target())?;
            }
            OpKind::Get { from, .. } => {
                self.bring((from, post.other()), (rank, &[], None), post.target())?;
            }
            OpKind::GetReduce { from, side, .. } => {
                let own = (rank, post.source(), Some(side));
                self.bring((from, post.other()), own, post.target())?;
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
