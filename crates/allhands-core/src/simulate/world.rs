//! A world in virtual time: the interpreter takes a rank's plan further whenever something has happened to the rank.

use super::flags::Flags;
use super::lanes::Lanes;
use super::network::{Envelope, Event, Network, Task, Way, Work};
use super::queue::{Moment, Queue};
use super::{Outcome, SimulateError};
use crate::progress::{Cursor, Engine, Post, Status, advance};
use crate::schedule::{OpKind, Plan, PlanOp};
use alloc::vec;
use alloc::vec::Vec;

/// Not done before this is known.
const NEVER: Moment = Moment::MAX;

/// What a message is for.
#[derive(Clone, Copy, Debug)]
enum Load {
    /// A receive in this lane.
    Lane(u32),
    /// A window.
    Put,
    /// A window, where it is combined with what is there.
    PutReduce,
    /// A get, which the owner of the window answers.
    Request,
    /// The answer to a get.
    Answer,
    /// A flag of its receiver.
    Notice(u16),
    /// A look at a flag that its sender has raised on itself.
    Sight(u16),
}

#[derive(Clone, Copy, Debug)]
struct Message {
    from: u32,
    to: u32,
    bytes: u64,
    /// The operation that it belongs to, of its sender; of its receiver, if it is an answer.
    ticket: u32,
    load: Load,
    /// How many of its two ends, sent and arrived, are yet to come.
    open_ends: u8,
}

/// A rank: its processor, and what it waits for.
#[derive(Clone, Copy, Debug)]
struct Rank {
    /// When its processor is free.
    free_ps: Moment,
    /// Operations under way of which nobody knows yet when they end.
    unknown: u32,
    /// When the last of those ends, or ended, of which that is known.
    latest_ps: Moment,
    /// For when it was last put into the queue.
    wake_ps: Moment,
    /// Whether it goes on only when all that is under way has ended: it has one strand, and no pipeline.
    in_steps: bool,
    /// Where its operations start in `done_ps`.
    first_op: usize,
}

/// The port that an operation asks for.
fn port(kind: OpKind) -> u8 {
    match kind {
        OpKind::Send { port, .. }
        | OpKind::Recv { port, .. }
        | OpKind::RecvReduce { port, .. }
        | OpKind::Put { port, .. }
        | OpKind::PutReduce { port, .. }
        | OpKind::Get { port, .. }
        | OpKind::GetReduce { port, .. } => port,
        OpKind::Copy
        | OpKind::Reduce
        | OpKind::Notify { .. }
        | OpKind::Wait { .. }
        | OpKind::Await { .. } => 0,
    }
}

/// Ranks, their processors, and everything between them.
struct World<'a, N: Network> {
    plans: &'a [Plan],
    network: &'a mut N,
    queue: Queue<Event<N::Event>>,
    ranks: Vec<Rank>,
    /// When each operation is done.
    done_ps: Vec<Moment>,
    lanes: Lanes,
    flags: Flags,
    messages: Vec<Message>,
    /// Numbers of messages that are over.
    over: Vec<u32>,
    outcome: Outcome,
}

/// Runs all plans to their end.
///
/// # Errors
/// What keeps a rank from its end.
pub(super) fn run<N: Network>(plans: &[Plan], network: &mut N) -> Result<Outcome, SimulateError> {
    let mut world = World::new(plans, network);
    let mut cursors: Vec<Cursor> = plans.iter().map(Cursor::new).collect();
    for rank in 0..plans.len() as u32 {
        world.queue.push(0, Event::Wake(rank));
    }
    while let Some(event) = world.queue.pop() {
        world.outcome.events += 1;
        let rank = match event {
            Event::Wake(rank) => Some(rank),
            Event::Sent(number) => world.sent(number),
            Event::Arrived(number) => world.arrived(number),
            Event::Inside(event) => {
                world.network.happen(event, &mut world.queue);
                None
            }
        };
        if let Some(rank) = rank.filter(|rank| world.outcome.ends_ps[*rank as usize] == NEVER) {
            world.go_on(rank, &mut cursors[rank as usize])?;
        }
    }
    match world.outcome.ends_ps.iter().position(|end| *end == NEVER) {
        Some(rank) => Err(SimulateError::Waits { rank: rank as u32 }),
        None => Ok(world.outcome),
    }
}

impl<'a, N: Network> World<'a, N> {
    fn new(plans: &'a [Plan], network: &'a mut N) -> World<'a, N> {
        let mut ops = 0;
        let rank = |plan: &Plan| {
            let first_op = ops;
            ops += plan.ops.len();
            Rank {
                free_ps: 0,
                unknown: 0,
                latest_ps: 0,
                wake_ps: 0,
                in_steps: plan.strands.len() == 1 && plan.items.iter().all(|i| i.times == 0),
                first_op,
            }
        };
        let ranks = plans.iter().map(rank).collect();
        World {
            plans,
            network,
            queue: Queue::default(),
            ranks,
            done_ps: vec![NEVER; ops],
            lanes: Lanes::new(plans),
            flags: Flags::new(plans),
            messages: Vec::new(),
            over: Vec::new(),
            outcome: Outcome {
                ends_ps: vec![NEVER; plans.len()],
                messages: 0,
                bytes: 0,
                events: 0,
            },
        }
    }

    /// Takes a rank as far as it goes now.
    fn go_on(&mut self, number: u32, cursor: &mut Cursor) -> Result<(), SimulateError> {
        let plan = &self.plans[number as usize];
        let mut engine = RankEngine {
            world: self,
            rank: number,
        };
        if advance(plan, cursor, &mut engine)? == Status::Done {
            self.outcome.ends_ps[number as usize] = self.queue.now_ps();
            return Ok(());
        }
        let rank = self.ranks[number as usize];
        if rank.in_steps && rank.unknown == 0 {
            self.wake(number, rank.latest_ps);
        }
        Ok(())
    }

    /// Has a rank go on at `at_ps`, once.
    fn wake(&mut self, number: u32, at_ps: Moment) {
        let rank = &mut self.ranks[number as usize];
        if rank.wake_ps != at_ps || at_ps <= self.queue.now_ps() {
            rank.wake_ps = at_ps;
            self.queue.push(at_ps, Event::Wake(number));
        }
    }

    /// Has a rank's processor do something for an operation, of its own or of another rank, as soon as it is free; gives when
    /// that is over.
    fn occupy(&mut self, number: u32, op: Option<&PlanOp>, work: Work) -> Moment {
        let rank = &mut self.ranks[number as usize];
        let start_ps = self.queue.now_ps().max(rank.free_ps);
        let (runs, port) = op.map_or((1, 0), |op| (op.from.len.max(op.into.len), port(op.kind)));
        let task = Task {
            work,
            start_ps,
            runs,
            port,
        };
        rank.free_ps = start_ps + self.network.busy_ps(number, task);
        rank.free_ps
    }

    fn done_ps(&mut self, rank: u32, ticket: u32) -> &mut Moment {
        &mut self.done_ps[self.ranks[rank as usize].first_op + ticket as usize]
    }

    /// An operation that starts ends at `at_ps`, or nobody knows when.
    fn ends(&mut self, number: u32, ticket: u32, at_ps: Option<Moment>) -> Status {
        *self.done_ps(number, ticket) = at_ps.unwrap_or(NEVER);
        let rank = &mut self.ranks[number as usize];
        match at_ps {
            None => rank.unknown += 1,
            Some(at_ps) if at_ps <= self.queue.now_ps() => return Status::Done,
            Some(at_ps) => {
                rank.latest_ps = rank.latest_ps.max(at_ps);
                if !rank.in_steps {
                    self.wake(number, at_ps);
                }
            }
        }
        Status::Pending
    }

    /// Now it is known when an operation ends; gives its rank, if that may go on now, and otherwise has it woken in time.
    fn known(&mut self, number: u32, ticket: u32, at_ps: Moment) -> Option<u32> {
        *self.done_ps(number, ticket) = at_ps;
        let rank = &mut self.ranks[number as usize];
        rank.unknown -= 1;
        rank.latest_ps = rank.latest_ps.max(at_ps);
        let wake_ps = match rank.in_steps {
            true if rank.unknown > 0 => return None,
            true => rank.latest_ps,
            false => at_ps,
        };
        if wake_ps <= self.queue.now_ps() {
            return Some(number);
        }
        self.wake(number, wake_ps);
        None
    }

    /// Hands a message to the network as soon as its sender's processor has done its part; gives when the sender may use
    /// its memory again, if that is known.
    fn send(
        &mut self,
        (from, to): (u32, u32),
        bytes: u64,
        ticket: u32,
        load: Load,
    ) -> Option<Moment> {
        let plans = self.plans;
        let owner = if let Load::Answer = load { to } else { from };
        let op = &plans[owner as usize].ops[ticket as usize];
        let (own, get) = (Some(op), Work::Get { from: to, bytes });
        let at_ps = match load {
            // The network answers by itself, and a look is no message that a processor sends.
            Load::Answer | Load::Sight(_) => self.queue.now_ps(),
            Load::Lane(_) => self.occupy(from, own, Work::Send { to, bytes }),
            Load::Put | Load::PutReduce => self.occupy(from, own, Work::Put { to, bytes }),
            Load::Request => self.occupy(from, own, get),
            Load::Notice(_) => self.occupy(from, own, Work::Notify { to }),
        };
        let message = Message {
            from,
            to,
            bytes,
            ticket,
            load,
            open_ends: 2,
        };
        let number = self.over.pop().unwrap_or(self.messages.len() as u32);
        if number as usize == self.messages.len() {
            self.messages.push(message);
        } else {
            self.messages[number as usize] = message;
        }
        // A request says how much it asks for, and has nothing of it.
        let bytes = if let Load::Request = load { 0 } else { bytes };
        self.outcome.messages += 1;
        self.outcome.bytes += bytes;
        let envelope = Envelope {
            number,
            from,
            to,
            bytes,
            port: port(op.kind),
            way: match load {
                Load::Lane(_) => Way::Message,
                Load::Put | Load::PutReduce | Load::Request | Load::Answer => Way::Window,
                Load::Notice(_) | Load::Sight(_) => Way::Flag,
            },
        };
        let sent_ps = self.network.send(at_ps, envelope, &mut self.queue);
        if sent_ps.is_some() {
            self.messages[number as usize].open_ends = 1;
        }
        sent_ps
    }

    /// One of the ends of a message comes.
    fn end_of(&mut self, number: u32) -> Message {
        let message = &mut self.messages[number as usize];
        message.open_ends -= 1;
        if message.open_ends == 0 {
            self.over.push(number);
        }
        *message
    }

    /// A sender may use its memory again; gives who may go on because of it.
    fn sent(&mut self, number: u32) -> Option<u32> {
        let message = self.end_of(number);
        match message.load {
            Load::Lane(_) | Load::Put => {
                let now_ps = self.queue.now_ps();
                self.known(message.from, message.ticket, now_ps)
            }
            // These wait for more than that, or nobody does.
            Load::PutReduce | Load::Request | Load::Answer | Load::Notice(_) | Load::Sight(_) => {
                None
            }
        }
    }

    /// A message is there; gives who may go on because of it.
    fn arrived(&mut self, number: u32) -> Option<u32> {
        let Message {
            from,
            to,
            bytes,
            ticket,
            load,
            ..
        } = self.end_of(number);
        match load {
            Load::Lane(lane) => {
                let ticket = self.lanes.arrive(lane, bytes)?;
                let end_ps = self.take_in(to, ticket, bytes);
                self.known(to, ticket, end_ps)
            }
            Load::Put => None,
            Load::PutReduce => {
                let end_ps = self.occupy(to, None, Work::Reduce { bytes });
                self.known(from, ticket, end_ps)
            }
            Load::Request => {
                self.send((to, from), bytes, ticket, Load::Answer);
                None
            }
            Load::Answer => {
                let end_ps = self.take_in(to, ticket, bytes);
                self.known(to, ticket, end_ps)
            }
            Load::Notice(flag) => {
                for watcher in self.flags.watchers(to, flag) {
                    self.see(watcher, (to, flag));
                }
                None
            }
            Load::Sight(flag) => {
                self.see(to, (from, flag));
                None
            }
        }
    }

    /// The data of a receive or a get are there: the processor takes them in, and combines them if it has to; gives when that
    /// is done.
    fn take_in(&mut self, rank: u32, ticket: u32, bytes: u64) -> Moment {
        let plans = self.plans;
        let op = &plans[rank as usize].ops[ticket as usize];
        let (own, reduce) = (Some(op), Work::Reduce { bytes });
        match op.kind {
            OpKind::Recv { from, .. } => self.occupy(rank, own, Work::Receive { from, bytes }),
            OpKind::RecvReduce { from, .. } => {
                self.occupy(rank, own, Work::Receive { from, bytes });
                self.occupy(rank, own, reduce)
            }
            OpKind::GetReduce { .. } => self.occupy(rank, own, reduce),
            // A get is the network's alone, and nothing else is taken in.
            _ => self.queue.now_ps(),
        }
    }

    /// A rank sees a flag raised; if it waits for that, it may go on.
    fn see(&mut self, rank: u32, flag: (u32, u16)) {
        let now_ps = self.queue.now_ps();
        let over = self.flags.see(rank, flag);
        if let Some(rank) = over.and_then(|ticket| self.known(rank, ticket, now_ps)) {
            self.wake(rank, now_ps);
        }
    }
}

/// A rank as the interpreter's engine.
struct RankEngine<'w, 'a, N: Network> {
    world: &'w mut World<'a, N>,
    rank: u32,
}

impl<N: Network> Engine for RankEngine<'_, '_, N> {
    type Error = SimulateError;

    fn start(&mut self, post: &Post<'_>) -> Result<Status, SimulateError> {
        let (rank, ticket, bytes) = (self.rank, post.ticket, post.bytes as u64);
        let world = &mut *self.world;
        let end_ps = match post.kind() {
            OpKind::Send { to, channel, .. } => {
                let lane = world.lanes.find(to, rank, channel);
                let lane = lane.ok_or(SimulateError::Unexpected { from: rank, to })?;
                world.send((rank, to), bytes, ticket, Load::Lane(lane))
            }
            OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
                let lane = world.lanes.find(rank, from, channel);
                let there = lane.and_then(|lane| world.lanes.receive(lane, ticket));
                there.map(|bytes| world.take_in(rank, ticket, bytes))
            }
            OpKind::Put { to, .. } => world.send((rank, to), bytes, ticket, Load::Put),
            OpKind::PutReduce { to, .. } => {
                world.send((rank, to), bytes, ticket, Load::PutReduce);
                None
            }
            OpKind::Get { from, .. } | OpKind::GetReduce { from, .. } => {
                world.send((rank, from), bytes, ticket, Load::Request);
                None
            }
            OpKind::Notify { to, flag } => {
                self.notify(to, flag, ticket);
                return Ok(Status::Done);
            }
            OpKind::Wait { at, flag, count } => {
                let over = world.flags.wait(rank, (at, flag), count, ticket);
                over.then(|| world.queue.now_ps())
            }
            OpKind::Copy => Some(world.occupy(rank, None, Work::Copy { bytes })),
            OpKind::Reduce => Some(world.occupy(rank, None, Work::Reduce { bytes })),
            // The interpreter's own matter.
            OpKind::Await { .. } => return Ok(Status::Done),
        };
        Ok(world.ends(rank, ticket, end_ps))
    }

    fn poll(&mut self, post: &Post<'_>) -> Result<Status, SimulateError> {
        let now_ps = self.world.queue.now_ps();
        let done = *self.world.done_ps(self.rank, post.ticket) <= now_ps;
        Ok(if done { Status::Done } else { Status::Pending })
    }
}

impl<N: Network> RankEngine<'_, '_, N> {
    /// Raises a flag; the notifier does not wait, as a notification has no source that it might want to use again.
    fn notify(&mut self, to: u32, flag: u16, ticket: u32) {
        let (world, rank) = (&mut *self.world, self.rank);
        if to != rank {
            world.send((rank, to), 0, ticket, Load::Notice(flag));
            return;
        }
        for watcher in world.flags.watchers(rank, flag) {
            if watcher == rank {
                world.see(rank, (rank, flag));
            } else {
                world.send((rank, watcher), 0, ticket, Load::Sight(flag));
            }
        }
    }
}
