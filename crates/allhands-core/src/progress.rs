//! The interpreter of plans: without I/O and without a clock; transports and the simulator drive this same one.
//!
//! [`advance`] starts what may start and asks the [`Engine`] about what is under way. A blocking call
//! loops on it, a nonblocking one calls it from test and wait, a simulator calls it when
//! virtual time has moved.

use crate::schedule::readiness::{Lane, Place};
use crate::schedule::{Extent, OpKind, Plan, PlanItem, PlanOp};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

mod repeat;

/// Whether an operation, or a whole call, is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is done.
    Done,
    /// It is under way.
    Pending,
}

/// An operation as an engine sees it: with its extents for this iteration.
///
/// The lists stay where they are and unchanged until the operation is done.
#[derive(Clone, Copy, Debug)]
pub struct Post<'a> {
    op: &'a PlanOp,
    /// The operation's number in the plan; no other operation under way in this call has it.
    pub ticket: u32,
    /// The length of the message or operand in bytes.
    pub bytes: usize,
    /// The table in which its extents stand.
    table: &'a [Extent],
}

impl<'a> Post<'a> {
    /// An operation of a step, by its number, for engines that begin it before its step.
    #[must_use]
    pub fn of_step(plan: &'a Plan, ticket: u32) -> Post<'a> {
        Post::new(plan, ticket, &plan.ops[ticket as usize])
    }

    /// An operation of a step, whose extents do not move.
    #[inline(always)]
    fn new(plan: &'a Plan, ticket: u32, op: &'a PlanOp) -> Post<'a> {
        Post {
            op,
            ticket,
            bytes: op.bytes(),
            table: &plan.extents,
        }
    }

    /// What to do.
    #[inline(always)]
    #[must_use]
    pub fn kind(&self) -> OpKind {
        self.op.kind
    }

    /// The bytes that it reads.
    #[inline(always)]
    #[must_use]
    pub fn source(&self) -> &'a [Extent] {
        self.list(self.op.source())
    }

    /// The bytes that it writes.
    #[inline(always)]
    #[must_use]
    pub fn target(&self) -> &'a [Extent] {
        self.list(self.op.target())
    }

    /// The right operand of a reduce, the source of a get or get-reduce.
    #[inline(always)]
    #[must_use]
    pub fn other(&self) -> &'a [Extent] {
        self.list(self.op.other())
    }

    #[inline(always)]
    fn list(&self, places: Range<usize>) -> &'a [Extent] {
        &self.table[places]
    }
}

/// What moves the bytes: a transport, the simulator, or the verifier's own memory.
pub trait Engine {
    /// What can go wrong.
    type Error;

    /// Starts an operation.
    ///
    /// # Errors
    /// Whatever stops the call.
    fn start(&mut self, post: &Post<'_>) -> Result<Status, Self::Error>;

    /// Asks whether an operation that was [`Status::Pending`] is done now.
    ///
    /// # Errors
    /// Whatever stops the call.
    fn poll(&mut self, post: &Post<'_>) -> Result<Status, Self::Error>;

    /// Whether the engine knows, without looking at any, that all operations under way in a step are done.
    #[inline(always)]
    fn is_settled(&self) -> bool {
        false
    }

    /// Whether the engine keeps by itself what is under way in a step, so that [`is_settled`](Engine::is_settled) alone says
    /// when it is over and no operation is asked about.
    #[inline(always)]
    fn keeps_steps(&self) -> bool {
        false
    }
}

/// Where a call stands in its plan.
///
/// Made once for a plan and [`reset`](Cursor::reset) for every further call, so a repeated call allocates nothing.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Cursor {
    /// The first strand; most plans have no other.
    first: StrandCursor,
    others: Vec<StrandCursor>,
    lanes: Vec<Lane>,
    moving: Vec<Extent>,
}

#[derive(Clone, Debug, Default)]
#[repr(C)]
struct StrandCursor {
    place: Place,
    end: u32,
    /// The operations of the step that are under way.
    pending: Vec<u32>,
}

impl StrandCursor {
    #[inline(always)]
    fn reset(&mut self, item: u32) {
        self.place = Place::before(item);
        self.pending.clear();
    }
}

impl Cursor {
    /// A cursor at the start of `plan`.
    #[must_use]
    pub fn new(plan: &Plan) -> Cursor {
        Cursor::with_room(plan, plan.widest)
    }

    /// A cursor at the start of `plan`, for an engine that keeps steps by itself.
    pub(crate) fn of_steps(plan: &Plan) -> Cursor {
        Cursor::with_room(plan, 0)
    }

    fn with_room(plan: &Plan, under_way: usize) -> Cursor {
        let strand = |&(item, end): &(u32, u32)| StrandCursor {
            place: Place::before(item),
            end,
            pending: Vec::with_capacity(under_way),
        };
        let (first, others) = plan.strands.split_first().unzip();
        let repeats = plan.items.iter().filter(|i| i.repeat.is_some());
        let lanes = match plan.repeats.is_empty() {
            true => 0,
            false => repeats.map(|i| i.end).max().unwrap_or(0),
        };
        Cursor {
            first: first.map_or_else(StrandCursor::default, strand),
            others: others.unwrap_or_default().iter().map(strand).collect(),
            lanes: vec![Lane::default(); lanes as usize],
            moving: plan.moving.iter().map(|m| m.at(0)).collect(),
        }
    }

    /// Goes back to the start of the plan that the cursor was made for.
    #[inline]
    pub fn reset(&mut self, plan: &Plan) {
        let mut starts = plan.strands.iter().map(|(item, _)| *item);
        if let Some(item) = starts.next() {
            self.first.reset(item);
        }
        for (strand, item) in self.others.iter_mut().zip(starts) {
            strand.reset(item);
        }
        self.lanes.fill(Lane::default());
    }

    /// Goes to step `item` of the first strand, of which the operations `under_way` are not done yet; all items before it are.
    ///
    /// For engines that have taken a call so far by themselves.
    pub fn resume(&mut self, plan: &Plan, item: u32, under_way: impl Iterator<Item = u32>) {
        self.reset(plan);
        self.first.place = Place {
            item,
            has_begun: true,
        };
        self.first.pending.extend(under_way);
    }

    /// The operations under way: (number in the plan), for error reports and for revoking them.
    pub fn under_way(&self) -> impl Iterator<Item = u32> + '_ {
        let lanes = self
            .lanes
            .iter()
            .enumerate()
            .filter(|(_, l)| l.is_under_way)
            .map(|(op, _)| op as u32);
        let strands = core::iter::once(&self.first).chain(&self.others);
        strands.flat_map(|s| s.pending.iter().copied()).chain(lanes)
    }

    /// The post of an operation that is under way.
    #[must_use]
    pub fn post<'a>(&'a self, plan: &'a Plan, op: u32) -> Post<'a> {
        post(plan, &self.moving, op)
    }

    /// The item behind the one at which the first strand stands.
    #[inline]
    pub(crate) fn next_item(&self) -> u32 {
        self.first.place.item + 1
    }

    #[inline(always)]
    fn strand(&self, number: usize) -> &StrandCursor {
        match number.checked_sub(1) {
            None => &self.first,
            Some(other) => &self.others[other],
        }
    }

    #[inline(always)]
    fn strand_mut(&mut self, number: usize) -> &mut StrandCursor {
        match number.checked_sub(1) {
            None => &mut self.first,
            Some(other) => &mut self.others[other],
        }
    }

    /// How many items are done, of all strands together, but for where they start.
    fn items(&self) -> u32 {
        let others = self.others.iter().map(|s| s.place.item);
        self.first.place.item + others.sum::<u32>()
    }
}

fn post<'a>(plan: &'a Plan, moving: &'a [Extent], ticket: u32) -> Post<'a> {
    let op = &plan.ops[ticket as usize];
    let mut post = Post::new(plan, ticket, op);
    if op.moves() {
        post.table = moving;
        let sum = |list: &[Extent]| list.iter().map(|e| e.bytes).sum::<usize>();
        post.bytes = sum(post.source()).max(sum(post.target()));
    }
    post
}

/// Takes the call as far as it goes without waiting.
///
/// # Errors
/// The engine's first error; the cursor then still names what is under way.
#[inline]
pub fn advance<E: Engine>(
    plan: &Plan,
    cursor: &mut Cursor,
    engine: &mut E,
) -> Result<Status, E::Error> {
    if cursor.others.is_empty() {
        loop {
            match advance_strand(plan, cursor, engine, 0)? {
                Went::Done => return Ok(Status::Done),
                Went::Further => {}
                Went::AsFarAsItGoes => return Ok(Status::Pending),
            }
        }
    }
    loop {
        // A strand that moved on may have let another go (Await): go round until none moves.
        let before = cursor.items();
        let (mut is_done, mut moved) = (true, false);
        for strand in 0..=cursor.others.len() {
            let went = advance_strand(plan, cursor, engine, strand)?;
            is_done &= went == Went::Done;
            moved |= went == Went::Further;
        }
        if is_done {
            return Ok(Status::Done);
        }
        if !moved && before == cursor.items() {
            return Ok(Status::Pending);
        }
    }
}

/// How far a strand went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Went {
    /// To its end.
    Done,
    /// Through one round of a repeat, behind which it may have another: first all other strands have their turn.
    Further,
    /// To where it waits.
    AsFarAsItGoes,
}

#[inline]
fn advance_strand<E: Engine>(
    plan: &Plan,
    cursor: &mut Cursor,
    engine: &mut E,
    strand: usize,
) -> Result<Went, E::Error> {
    let &StrandCursor { place, end, .. } = cursor.strand(strand);
    let Place {
        item,
        mut has_begun,
    } = place;
    for (at, item) in (item..end).zip(&plan.items[item as usize..end as usize]) {
        let went = if let Some(of) = plan.repeat(item) {
            repeat::round(plan, cursor, engine, (*item, *of))?
        } else {
            let status = match has_begun {
                true => poll_step(plan, cursor, engine, strand)?,
                false => start_step(plan, cursor, engine, strand, *item)?,
            };
            match status {
                Status::Done => Went::Done,
                Status::Pending => Went::AsFarAsItGoes,
            }
        };
        has_begun = false;
        let here = cursor.strand_mut(strand);
        if went != Went::Done {
            here.place.has_begun = true;
            return Ok(went);
        }
        here.place = Place::before(at + 1);
    }
    Ok(Went::Done)
}

#[inline]
fn start_step<E: Engine>(
    plan: &Plan,
    cursor: &mut Cursor,
    engine: &mut E,
    strand: usize,
    item: PlanItem,
) -> Result<Status, E::Error> {
    let mut all = Status::Done;
    let ops = &plan.ops[item.start as usize..item.end as usize];
    for (ticket, op) in (item.start..).zip(ops) {
        let status = match op.kind {
            OpKind::Await { strand, items } => awaited(plan, cursor, strand, items),
            _ => engine.start(&Post::new(plan, ticket, op))?,
        };
        if status == Status::Pending {
            all = Status::Pending;
            if !engine.keeps_steps() {
                cursor.strand_mut(strand).pending.push(ticket);
            }
        }
    }
    Ok(all)
}

fn poll_step<E: Engine>(
    plan: &Plan,
    cursor: &mut Cursor,
    engine: &mut E,
    strand: usize,
) -> Result<Status, E::Error> {
    if engine.is_settled() {
        cursor.strand_mut(strand).pending.clear();
        return Ok(Status::Done);
    }
    if engine.keeps_steps() {
        return Ok(Status::Pending);
    }
    let mut at = 0;
    while let Some(&op) = cursor.strand(strand).pending.get(at) {
        let status = match plan.ops[op as usize].kind {
            OpKind::Await { strand, items } => awaited(plan, cursor, strand, items),
            _ => engine.poll(&Post::new(plan, op, &plan.ops[op as usize]))?,
        };
        match status {
            Status::Done => {
                cursor.strand_mut(strand).pending.swap_remove(at);
            }
            Status::Pending => at += 1,
        }
    }
    let done = cursor.strand(strand).pending.is_empty();
    Ok(if done { Status::Done } else { Status::Pending })
}

fn awaited(plan: &Plan, cursor: &Cursor, strand: u16, items: u32) -> Status {
    let first = plan.strands[strand as usize].0;
    match cursor
        .strand(strand as usize)
        .place
        .has_passed(first, items)
    {
        true => Status::Done,
        false => Status::Pending,
    }
}
