//! A world in virtual time: the interpreter takes a rank's plan further whenever something has happened to the rank.

mod ahead;
mod meet;
mod receive;

use super::flags::Flags;
use super::lanes::{Lanes, Receive};
use super::meetings::Meetings;
use super::network::{Envelope, Event, Network, Task, Work};
use super::observer::Observer;
use super::queue::{Moment, Queue};
use super::state::{Load, Message, Rank};
use super::{Outcome, SimulateError};
use crate::progress::{Cursor, Engine, Post, Status, advance};
use crate::schedule::{AGREEMENT_CHANNEL, OpKind, Plan};
use alloc::vec;
use alloc::vec::Vec;

/// Not done before this is known.
const NEVER: Moment = Moment::MAX;

/// Ranks, their processors, and everything between them.
struct World<'a, N: Network, O: Observer> {
    plans: &'a [Plan],
    network: &'a mut N,
    observer: &'a mut O,
    queue: Queue<Event<N::Event>>,
    ranks: Vec<Rank>,
    /// When each operation is done, of ranks that do not go in steps.
    done_ps: Vec<Moment>,
    lanes: Lanes,
    flags: Flags,
    meetings: Meetings,
    /// By rank, the last message that it sent which packets of its own carry.
    carriers: Vec<u32>,
    messages: Vec<Message>,
    /// By rank and operation, whether it is one of an exchange, for networks that tell these apart.
    exchanging: Vec<Vec<bool>>,
    /// Numbers of messages that are over.
    over: Vec<u32>,
    outcome: Outcome,
}

/// Runs all plans to their end.
///
/// # Errors
/// What keeps a rank from its end.
pub(super) fn run<N: Network, O: Observer>(
    plans: &[Plan],
    network: &mut N,
    observer: &mut O,
) -> Result<Outcome, SimulateError> {
    let mut world = World::new(plans, network, observer);
    let cursor = |(plan, rank): (&Plan, &Rank)| match rank.in_steps {
        true => Cursor::of_steps(plan),
        false => Cursor::new(plan),
    };
    let mut cursors: Vec<Cursor> = plans.iter().zip(&world.ranks).map(cursor).collect();
    for rank in 0..plans.len() as u32 {
        world.queue.push(0, Event::Wake(rank));
    }
    while let Some(event) = world.queue.pop() {
        world.outcome.events += 1;
        world.look_ahead(&cursors);
        let rank = match event {
            Event::Wake(rank) => Some(rank),
            Event::Sent(number) => world.sent(number),
            Event::Arrived(number) => world.arrived(number)?,
            Event::Inside(event) => {
                world.network.happen(event, &mut world.queue);
                None
            }
        };
        if let Some(rank) = rank.filter(|rank| !world.ranks[*rank as usize].is_done) {
            world.go_on(rank, &mut cursors[rank as usize])?;
        }
    }
    match world.outcome.ends_ps.iter().position(|end| *end == NEVER) {
        Some(rank) => Err(SimulateError::Waits { rank: rank as u32 }),
        None => Ok(world.outcome),
    }
}

impl<'a, N: Network, O: Observer> World<'a, N, O> {
    fn new(plans: &'a [Plan], network: &'a mut N, observer: &'a mut O) -> World<'a, N, O> {
        let mut ops = 0;
        let rank = |plan: &Plan| {
            let rank = Rank::new(plan, ops);
            ops += if rank.in_steps {
                0
            } else {
                plan.ops.len() as u32
            };
            rank
        };
        let ranks = plans.iter().map(rank).collect();
        World {
            plans,
            network,
            observer,
            queue: Queue::default(),
            ranks,
            done_ps: vec![NEVER; ops as usize],
            lanes: Lanes::new(plans.len()),
            flags: Flags::new(plans),
            meetings: Meetings::new(plans),
            carriers: vec![0; plans.len()],
            messages: Vec::new(),
            exchanging: match N::TELLS_EXCHANGES {
                true => plans.iter().map(Plan::exchanges).collect(),
                false => Vec::new(),
            },
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
            self.ranks[number as usize].is_done = true;
            return Ok(());
        }
        let rank = &self.ranks[number as usize];
        if rank.in_steps && rank.unknown == 0 {
            let at_ps = rank.latest_ps;
            self.wake(number, at_ps);
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

    /// Has a rank's processor do something, for its operation `ticket` if it is for one of its own, as soon as it is free;
    /// gives when that is over.
    fn occupy(&mut self, rank: u32, ticket: Option<u32>, work: Work) -> Moment {
        let now_ps = self.queue.now_ps();
        let from_ps = now_ps.max(*self.free_ps(rank));
        let time_ps = if N::GOES_BY_TASKS {
            let op = ticket.map(|ticket| &self.plans[rank as usize].ops[ticket as usize]);
            let task = Task {
                work,
                start_ps: from_ps,
                runs: op.map_or(1, |op| op.source().len().max(op.target().len()) as u32),
                port: op.map_or(0, |op| op.kind.port()),
                exchanged: ticket.is_some_and(|ticket| self.exchanges(rank, ticket)),
            };
            self.network.busy_ps(rank, task)
        } else {
            self.network.takes_ps(rank, work)
        };
        let to_ps = from_ps + time_ps;
        *self.free_ps(rank) = to_ps;
        self.observer.works(rank, work, from_ps, to_ps);
        to_ps
    }

    /// Whether an operation of a rank is one of an exchange, if the network tells these apart.
    fn exchanges(&self, rank: u32, ticket: u32) -> bool {
        N::TELLS_EXCHANGES && self.exchanging[rank as usize][ticket as usize]
    }

    /// When a rank's processor is free.
    fn free_ps(&mut self, rank: u32) -> &mut Moment {
        let own = &mut self.ranks[rank as usize].free_ps;
        self.network.free_ps(rank).unwrap_or(own)
    }

    /// Keeps when an operation of a rank is done, if anybody will ask.
    fn keep_done_ps(&mut self, number: u32, ticket: u32, at_ps: Moment) {
        let rank = &self.ranks[number as usize];
        if !rank.in_steps {
            self.done_ps[(rank.first_op + ticket) as usize] = at_ps;
        }
    }

    /// An operation that starts ends at `at_ps`, or nobody knows when.
    fn ends(&mut self, number: u32, ticket: u32, at_ps: Option<Moment>) -> Status {
        self.keep_done_ps(number, ticket, at_ps.unwrap_or(NEVER));
        if let Some(at_ps) = at_ps {
            self.observer.ends(number, ticket, at_ps);
        }
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
        self.keep_done_ps(number, ticket, at_ps);
        self.observer.ends(number, ticket, at_ps);
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
        let at_ps = match load {
            // The network answers by itself, and a look is no message that a processor sends.
            Load::Answer | Load::Sight(_) | Load::Deposit(..) => self.queue.now_ps(),
            Load::Lane(..) => self.occupy(from, Some(ticket), Work::Send { to, bytes }),
            Load::Put | Load::PutReduce => self.occupy(from, Some(ticket), Work::Put { to, bytes }),
            Load::Request => self.occupy(from, Some(ticket), Work::Get { from: to, bytes }),
            Load::Notice(_) => self.occupy(from, Some(ticket), Work::Notify { to }),
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
        let carrier = match load {
            Load::Deposit(..) => Some(self.carriers[from as usize]),
            _ => None,
        };
        if let Load::Lane(..) = load {
            self.carriers[from as usize] = number;
        }
        let port = if N::GOES_BY_TASKS {
            let owner = if let Load::Answer = load { to } else { from };
            self.plans[owner as usize].ops[ticket as usize].kind.port()
        } else {
            0
        };
        let envelope = Envelope {
            number,
            from,
            to,
            bytes,
            kind: load.kind(),
            carrier,
            port,
            agreement: matches!(load, Load::Lane(AGREEMENT_CHANNEL)),
            exchanged: matches!(load, Load::Lane(_)) && self.exchanges(from, ticket),
        };
        self.observer.sends(envelope, ticket, load.purpose(), at_ps);
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
            Load::Lane(..) | Load::Deposit(..) | Load::Put => {
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
    ///
    /// # Errors
    /// Its receiver never receives from there.
    fn arrived(&mut self, number: u32) -> Result<Option<u32>, SimulateError> {
        let Message {
            from,
            to,
            bytes,
            ticket,
            load,
            ..
        } = self.end_of(number);
        self.observer.arrives(number, self.queue.now_ps());
        let rank = match load {
            Load::Lane(channel) | Load::Deposit(channel) => {
                let Some(receive) = self.receive_of((from, to), channel, bytes)? else {
                    return Ok(None);
                };
                let end_ps = self.take_in((from, to), receive, bytes);
                self.known(to, receive.ticket, end_ps)
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
                let end_ps = self.take_got(to, ticket, bytes);
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
        };
        Ok(rank)
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
struct RankEngine<'w, 'a, N: Network, O: Observer> {
    world: &'w mut World<'a, N, O>,
    rank: u32,
}

impl<N: Network, O: Observer> Engine for RankEngine<'_, '_, N, O> {
    type Error = SimulateError;

    fn start(&mut self, post: &Post<'_>) -> Result<Status, SimulateError> {
        let (rank, ticket, bytes) = (self.rank, post.ticket, post.bytes as u64);
        let world = &mut *self.world;
        world.ranks[rank as usize].next_op = ticket + 1;
        world.observer.starts(rank, post, world.queue.now_ps());
        let end_ps = match post.kind() {
            OpKind::Send {
                to,
                channel,
                deposited,
                ..
            } => {
                let load = match deposited && world.network.deposits() {
                    true => Load::Deposit(channel),
                    false => Load::Lane(channel),
                };
                world.send((rank, to), bytes, ticket, load)
            }
            OpKind::Combine {
                fabric,
                gives,
                converted,
            } => {
                let takes_ps = world.network.meeting_ps(fabric, bytes, converted);
                let takes_ps = takes_ps.ok_or(SimulateError::NoFabric { fabric })?;
                world.meet((rank, ticket), (fabric, gives), takes_ps)
            }
            OpKind::Recv { from, channel, .. } | OpKind::RecvReduce { from, channel, .. } => {
                let combines = matches!(post.kind(), OpKind::RecvReduce { .. });
                let receive = Receive { ticket, combines };
                world.network.posted(rank, from);
                let there = world.message_of((from, rank), channel, receive);
                there.map(|bytes| world.take_in((from, rank), receive, bytes))
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
                let world = &mut *self.world;
                world.observer.ends(rank, ticket, world.queue.now_ps());
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
        let rank = &self.world.ranks[self.rank as usize];
        let done = match rank.in_steps {
            true => self.is_settled(),
            false => {
                let done_ps = self.world.done_ps[(rank.first_op + post.ticket) as usize];
                done_ps <= self.world.queue.now_ps()
            }
        };
        Ok(if done { Status::Done } else { Status::Pending })
    }

    #[inline]
    fn is_settled(&self) -> bool {
        let rank = &self.world.ranks[self.rank as usize];
        rank.in_steps && rank.unknown == 0 && rank.latest_ps <= self.world.queue.now_ps()
    }

    #[inline]
    fn keeps_steps(&self) -> bool {
        self.world.ranks[self.rank as usize].in_steps
    }
}

impl<N: Network, O: Observer> RankEngine<'_, '_, N, O> {
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
