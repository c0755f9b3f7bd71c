//! The interpreter of plans: without I/O and without a clock; transports and the simulator drive this same one.
//!
//! [`advance`] starts what may start and asks the [`Engine`] about what is under way. A blocking call
//! loops on it, a nonblocking one calls it from test and wait, a simulator calls it when
//! virtual time has moved.

use crate::schedule::{Extent, Extents, OpKind, Plan, PlanItem, PlanOp};
use alloc::vec;
use alloc::vec::Vec;

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
    fixed: &'a [Extent],
    moving: &'a [Extent],
}

impl<'a> Post<'a> {
    #[inline(always)]
    fn new(plan: &'a Plan, moving: &'a [Extent], ticket: u32, op: &'a PlanOp) -> Post<'a> {
        Post {
            op,
            ticket,
            bytes: op.bytes,
            fixed: &plan.extents,
            moving,
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
        self.list(self.op.from)
    }

    /// The bytes that it writes.
    #[inline(always)]
    #[must_use]
    pub fn target(&self) -> &'a [Extent] {
        self.list(self.op.into)
    }

    /// The right operand of a reduce, the source of a get or get-reduce.
    #[inline(always)]
    #[must_use]
    pub fn other(&self) -> &'a [Extent] {
        self.list(self.op.other)
    }

    #[inline(always)]
    fn list(&self, list: Extents) -> &'a [Extent] {
        let table = if list.moving { self.moving } else { self.fixed };
        &table[list.start as usize..(list.start + list.len) as usize]
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
}

/// Where a call stands in its plan.
///
/// Made once for a plan and [`reset`](Cursor::reset) for every further call, so a repeated call allocates nothing.
#[derive(Clone, Debug)]
pub struct Cursor {
    strands: Vec<StrandCursor>,
    /// Operations under way in steps: (strand, operation).
    pending: Vec<Vec<u32>>,
    lanes: Vec<Lane>,
    moving: Vec<Extent>,
}

#[derive(Clone, Copy, Debug)]
struct StrandCursor {
    item: u32,
    end: u32,
    started: bool,
}

/// An operation of a repeat: iterations done, and whether the next is under way.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    done: u32,
    flying: bool,
}

impl Cursor {
    /// A cursor at the start of `plan`.
    #[must_use]
    pub fn new(plan: &Plan) -> Cursor {
        let strands = plan
            .strands
            .iter()
            .map(|&(item, end)| StrandCursor {
                item,
                end,
                started: false,
            })
            .collect();
        let lanes = plan
            .items
            .iter()
            .filter(|i| i.times > 0)
            .map(|i| i.end)
            .max()
            .unwrap_or(0);
        Cursor {
            strands,
            pending: plan
                .strands
                .iter()
                .map(|_| Vec::with_capacity(plan.widest))
                .collect(),
            lanes: vec![Lane::default(); lanes as usize],
            moving: plan.moving.iter().map(|m| m.at(0)).collect(),
        }
    }

    /// Goes back to the start of the plan that the cursor was made for.
    #[inline]
    pub fn reset(&mut self, plan: &Plan) {
        for (strand, &(item, _)) in self.strands.iter_mut().zip(&plan.strands) {
            strand.item = item;
            strand.started = false;
        }
        self.pending.iter_mut().for_each(Vec::clear);
        self.lanes.fill(Lane::default());
    }

    /// The operations under way: (number in the plan), for error reports and for revoking them.
    pub fn under_way(&self) -> impl Iterator<Item = u32> + '_ {
        let lanes = self
            .lanes
            .iter()
            .enumerate()
            .filter(|(_, l)| l.flying)
            .map(|(op, _)| op as u32);
        self.pending.iter().flatten().copied().chain(lanes)
    }

    /// The post of an operation that is under way.
    #[must_use]
    pub fn post<'a>(&'a self, plan: &'a Plan, op: u32) -> Post<'a> {
        post(plan, &self.moving, op)
    }
}

fn post<'a>(plan: &'a Plan, moving: &'a [Extent], ticket: u32) -> Post<'a> {
    let op = &plan.ops[ticket as usize];
    let mut post = Post::new(plan, moving, ticket, op);
    if op.moves() {
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
    if cursor.strands.len() == 1 {
        return advance_strand(plan, cursor, engine, 0);
    }
    loop {
        // A strand that moved on may have let another go (Await): go round until none moves.
        let before: u32 = cursor.strands.iter().map(|s| s.item).sum();
        let mut status = Status::Done;
        for strand in 0..cursor.strands.len() {
            if advance_strand(plan, cursor, engine, strand)? == Status::Pending {
                status = Status::Pending;
            }
        }
        if status == Status::Done || before == cursor.strands.iter().map(|s| s.item).sum() {
            return Ok(status);
        }
    }
}

fn advance_strand<E: Engine>(
    plan: &Plan,
    cursor: &mut Cursor,
    engine: &mut E,
    strand: usize,
) -> Result<Status, E::Error> {
    let StrandCursor { item, end, started } = cursor.strands[strand];
    let mut started = started;
    for (at, item) in (item..end).zip(&plan.items[item as usize..end as usize]) {
        let status = if item.times > 0 {
            repeat(plan, cursor, engine, *item)?
        } else if started {
            poll_step(plan, cursor, engine, strand)?
        } else {
            start_step(plan, cursor, engine, strand, *item)?
        };
        started = false;
        let here = &mut cursor.strands[strand];
        if status == Status::Pending {
            here.started = true;
            return Ok(Status::Pending);
        }
        (here.item, here.started) = (at + 1, false);
    }
    Ok(Status::Done)
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
            _ => engine.start(&Post::new(plan, &cursor.moving, ticket, op))?,
        };
        if status == Status::Pending {
            cursor.pending[strand].push(ticket);
            all = Status::Pending;
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
        cursor.pending[strand].clear();
        return Ok(Status::Done);
    }
    let mut at = 0;
    while at < cursor.pending[strand].len() {
        let op = cursor.pending[strand][at];
        let status = match plan.ops[op as usize].kind {
            OpKind::Await { strand, items } => awaited(plan, cursor, strand, items),
            _ => engine.poll(&post(plan, &cursor.moving, op))?,
        };
        match status {
            Status::Done => {
                cursor.pending[strand].swap_remove(at);
            }
            Status::Pending => at += 1,
        }
    }
    let done = cursor.pending[strand].is_empty();
    Ok(if done { Status::Done } else { Status::Pending })
}

fn awaited(plan: &Plan, cursor: &Cursor, strand: u16, items: u32) -> Status {
    let done = cursor.strands[strand as usize].item - plan.strands[strand as usize].0;
    if done >= items {
        Status::Done
    } else {
        Status::Pending
    }
}

fn repeat<E: Engine>(
    plan: &Plan,
    cursor: &mut Cursor,
    engine: &mut E,
    item: PlanItem,
) -> Result<Status, E::Error> {
    loop {
        let mut moved = false;
        let mut least = item.times;
        for op in item.start..item.end {
            moved |= lane(plan, cursor, engine, item, op)?;
            least = least.min(cursor.lanes[op as usize].done);
        }
        if least == item.times {
            return Ok(Status::Done);
        }
        if !moved {
            return Ok(Status::Pending);
        }
    }
}

/// Takes one operation of a repeat as far as it goes; whether any instance of it finished.
fn lane<E: Engine>(
    plan: &Plan,
    cursor: &mut Cursor,
    engine: &mut E,
    item: PlanItem,
    op: u32,
) -> Result<bool, E::Error> {
    let mut moved = false;
    loop {
        let Lane { done, flying } = cursor.lanes[op as usize];
        if done == item.times {
            return Ok(moved);
        }
        let status = if flying {
            engine.poll(&post(plan, &cursor.moving, op))?
        } else {
            if !may_start(plan, cursor, item, op, done) {
                return Ok(moved);
            }
            move_extents(plan, &mut cursor.moving, &plan.ops[op as usize], done);
            let post = post(plan, &cursor.moving, op);
            // An empty segment is no message: both ends compute that it is empty.
            if post.bytes == 0 && !plan.ops[op as usize].token {
                Status::Done
            } else {
                engine.start(&post)?
            }
        };
        cursor.lanes[op as usize].flying = status == Status::Pending;
        if status == Status::Pending {
            return Ok(moved);
        }
        cursor.lanes[op as usize].done += 1;
        moved = true;
    }
}

/// Whether iteration `iteration` of operation `op` has what it waits for.
fn may_start(plan: &Plan, cursor: &Cursor, item: PlanItem, op: u32, iteration: u32) -> bool {
    let waits = &plan.waits[(item.waits + (op - item.start)) as usize];
    let ready = waits.iter().all(|w| {
        iteration < w.back || cursor.lanes[(item.start + w.op) as usize].done > iteration - w.back
    });
    let oldest = || {
        cursor.lanes[item.start as usize..item.end as usize]
            .iter()
            .map(|l| l.done)
            .min()
    };
    ready
        && (item.window == 0
            || iteration < item.window
            || oldest().unwrap_or(0) + item.window > iteration)
}

fn move_extents(plan: &Plan, moving: &mut [Extent], op: &PlanOp, iteration: u32) {
    for list in [op.from, op.into, op.other]
        .into_iter()
        .filter(|l| l.moving)
    {
        let range = list.start as usize..(list.start + list.len) as usize;
        for (extent, rule) in moving[range.clone()].iter_mut().zip(&plan.moving[range]) {
            *extent = rule.at(iteration);
        }
    }
}
