//! The walk: a world of schedules run in the time of a model.
//!
//! In Hockney's model a message starts when both of its ends have come to it and have a free port each, the one that was ready first
//! first; it then holds both ports for its whole length. A rank reduces (and copies) one thing at a time. A
//! put with its notification is one message; a put's and a get's far end needs a port but no operation.
//! Times are computed from exact counts, so the walk is deterministic and ties are ties.
//!
//! In LogP's family it leaves when its sender's processor has handed it over and a port is free, and its sender goes on when that port is
//! done; it has a port of its receiver when it comes there, whose processor takes it in when it is received. Processors do one thing after
//! another, and notifications are messages of their own.

mod flags;
mod launch;
mod message;
mod processor;
mod strand;

#[cfg(test)]
mod tests;

use super::hockney::Breakdown;
use super::model::Model;
use super::sizes::Sizes;
use crate::call::{Call, Unit};
use crate::schedule::Schedule;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};
use core::fmt;
use flags::{Flags, Puts};
use message::{Meeting, Message, PortSide};
use strand::StrandState;

/// Why a world cannot be priced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WalkError {
    /// The layout does not say how long a unit is.
    UnknownSize {
        /// The rank.
        rank: u32,
        /// The unit.
        unit: Unit,
    },
    /// A rank waits for ever: the schedules are wrong (`verify` says how).
    Stuck {
        /// The rank.
        rank: u32,
    },
    /// A machine needs a port at least.
    NoPorts,
    /// The model has no hardware in which ranks meet.
    NoFabric,
}

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WalkError::UnknownSize { rank, unit } => write!(
                f,
                "rank {rank}: the layout does not say how long unit {unit} is; a prediction needs all counts"
            ),
            WalkError::Stuck { rank } => {
                write!(f, "rank {rank} waits for ever; verify the schedule first")
            }
            WalkError::NoFabric => write!(
                f,
                "the model has no hardware in which all ranks meet; simulate the algorithm on a machine that has"
            ),
            WalkError::NoPorts => write!(f, "a machine has at least one port, not 0"),
        }
    }
}

impl core::error::Error for WalkError {}

/// When a rank was done, and what the critical path to that moment is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Finish<P = Breakdown> {
    /// The time since all ranks entered.
    pub time_us: f64,
    /// The path's make, as the model has it; costs `time_us`.
    pub path: P,
}

/// A walked world.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk<P = Breakdown> {
    /// When each rank was done.
    pub finish: Vec<Finish<P>>,
    /// The bytes of a unit in the breakdowns.
    pub unit_bytes: f64,
    /// Messages in all.
    pub messages: u64,
}

impl<P: Copy + Default> Walk<P> {
    /// The last rank's finish: the time of the collective.
    #[must_use]
    pub fn last(&self) -> Finish<P> {
        let later = |a: Finish<P>, b: &Finish<P>| if b.time_us > a.time_us { *b } else { a };
        self.finish.iter().fold(Finish::default(), later)
    }
}

/// A message on the time line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// The rank whose data travels.
    pub from: u32,
    /// The rank that they reach.
    pub to: u32,
    /// The port that the algorithm named.
    pub port: u8,
    /// When it has its first port.
    pub start_us: f64,
    /// When it has arrived; in LogP's family, when a port of its receiver that is free could have taken it.
    pub end_us: f64,
    /// Its length.
    pub bytes: f64,
}

/// Walks the schedules of `call`, one a rank, on `machine` with `ports` ports a rank.
///
/// # Errors
/// A [`WalkError`] if a size is not known or a rank waits for ever.
pub fn walk<M: Model>(
    call: &Call,
    schedules: &[Schedule],
    sizes: Sizes<'_>,
    machine: &M,
    ports: u32,
) -> Result<Walk<M::Path>, WalkError> {
    walk_observed(call, schedules, sizes, machine, ports, &mut |_| {})
}

/// [`walk`], with every message told to `observer` when it starts.
///
/// # Errors
/// A [`WalkError`] if a size is not known or a rank waits for ever.
pub fn walk_observed<M: Model>(
    call: &Call,
    schedules: &[Schedule],
    sizes: Sizes<'_>,
    machine: &M,
    ports: u32,
    observer: &mut dyn FnMut(Transfer),
) -> Result<Walk<M::Path>, WalkError> {
    if ports == 0 {
        return Err(WalkError::NoPorts);
    }
    let mut walker = Walker::new(call, schedules, sizes, machine, ports, observer);
    walker.run()?;
    walker.finish()
}

/// An operation under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Instance {
    rank: u32,
    strand: u16,
    op: u32,
    /// Its place in the body of a repeat; `None` in a step.
    lane: Option<u32>,
    iteration: u32,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// The sender's processor has handed this one over.
    Handed(u32),
    /// The message has left its sender's port.
    Left(u32),
    /// It comes to its receiver's port.
    Came(u32),
    /// The message has arrived.
    Arrived(u32),
    /// The operation is done.
    Done(Instance),
}

#[derive(Clone, Copy, Debug)]
struct Event<P> {
    time_us: f64,
    /// Breaks ties: first made, first handled.
    number: u64,
    path: P,
    what: What,
}

impl<P> PartialEq for Event<P> {
    fn eq(&self, other: &Event<P>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<P> Eq for Event<P> {}

impl<P> PartialOrd for Event<P> {
    fn partial_cmp(&self, other: &Event<P>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Event<P> {
    fn cmp(&self, other: &Event<P>) -> Ordering {
        self.time_us
            .total_cmp(&other.time_us)
            .then(self.number.cmp(&other.number))
    }
}

struct RankState<P> {
    strands: Vec<StrandState>,
    /// When its processor is free.
    busy_until: P,
    /// Sends, or messages that are there, and receives towards this rank that have not met, by (sender, channel).
    meetings: BTreeMap<(u32, u16), Meeting>,
    finish: Option<P>,
    /// Its last send that may leave copies on its way, if that has not left.
    carrier: Option<Instance>,
}

struct Walker<'a, M: Model> {
    call: &'a Call,
    schedules: &'a [Schedule],
    sizes: Sizes<'a>,
    machine: &'a M,
    unit_bytes: f64,
    observer: &'a mut dyn FnMut(Transfer),
    ranks: Vec<RankState<M::Path>>,
    /// For each port its sending side, then its receiving side.
    sides: Vec<PortSide<M::Path>>,
    /// Sides on which something may now start.
    dirty: Vec<u32>,
    messages: Vec<Message<M::Path>>,
    /// Messages that became ready in the present moment.
    fresh: Vec<Message<M::Path>>,
    /// Messages that processors hand over.
    handed: Vec<Message<M::Path>>,
    /// Copies that messages which have not left will leave on their way.
    riders: BTreeMap<Instance, Vec<Message<M::Path>>>,
    /// When the last message between two ports came.
    heads: BTreeMap<[u32; 2], M::Path>,
    /// How many messages have started.
    started: u64,
    flags: Flags,
    puts: BTreeMap<(u32, u16, u32), Puts>,
    ready: Vec<(u32, u16, M::Path)>,
    events: BinaryHeap<Reverse<Event<M::Path>>>,
    made: u64,
    /// The number of the present moment.
    moment: u64,
}

/// Times closer than this part of themselves are one moment: roundings of equal sums.
const SAME_MOMENT: f64 = 1.0 + 1e-12;

impl<'a, M: Model> Walker<'a, M> {
    fn new(
        call: &'a Call,
        schedules: &'a [Schedule],
        sizes: Sizes<'a>,
        machine: &'a M,
        ports: u32,
        observer: &'a mut dyn FnMut(Transfer),
    ) -> Walker<'a, M> {
        let ranks = schedules.len() as u32;
        let rank_state = |s: &Schedule| RankState {
            strands: s.strands.iter().map(|_| StrandState::default()).collect(),
            busy_until: M::Path::default(),
            meetings: BTreeMap::new(),
            finish: None,
            carrier: None,
        };
        Walker {
            call,
            schedules,
            sizes,
            machine,
            unit_bytes: sizes.unit_bytes(schedules.first().map_or(1, |s| s.parts)),
            observer,
            ranks: schedules.iter().map(rank_state).collect(),
            sides: vec![PortSide::new(ports); 2 * machine.port_count(ranks) as usize],
            dirty: Vec::new(),
            messages: Vec::new(),
            fresh: Vec::new(),
            handed: Vec::new(),
            riders: BTreeMap::new(),
            heads: BTreeMap::new(),
            started: 0,
            flags: flags::watched(schedules),
            puts: BTreeMap::new(),
            ready: Vec::new(),
            events: BinaryHeap::new(),
            made: 0,
            moment: 0,
        }
    }

    fn run(&mut self) -> Result<(), WalkError> {
        for rank in 0..self.ranks.len() {
            for strand in 0..self.ranks[rank].strands.len() {
                self.ready
                    .push((rank as u32, strand as u16, M::Path::default()));
            }
        }
        self.run_ready()?;
        self.start_messages();
        while let Some(Reverse(event)) = self.events.pop() {
            self.moment += 1;
            self.handle(event);
            let end = event.time_us * SAME_MOMENT;
            while let Some(Reverse(event)) = self.pop_until(end) {
                self.handle(event);
            }
            self.run_ready()?;
            self.start_messages();
        }
        Ok(())
    }

    fn pop_until(&mut self, end_us: f64) -> Option<Reverse<Event<M::Path>>> {
        let near = self.events.peek().is_some_and(|e| e.0.time_us <= end_us);
        if near { self.events.pop() } else { None }
    }

    fn run_ready(&mut self) -> Result<(), WalkError> {
        let mut next = 0;
        while next < self.ready.len() {
            let (rank, strand, path) = self.ready[next];
            next += 1;
            self.go_on(rank, strand, path)?;
        }
        self.ready.clear();
        Ok(())
    }

    fn handle(&mut self, event: Event<M::Path>) {
        match event.what {
            What::Arrived(message) => self.arrived(message, event.path),
            What::Handed(message) => self.ready_now(self.handed[message as usize], event.path),
            What::Left(message) => self.left(message, event.path),
            What::Came(message) => self.came(message, event.path),
            What::Done(instance) => self.complete(instance, event.path),
        }
    }

    fn push_event(&mut self, path: M::Path, what: What) {
        let time_us = self.time_us(&path);
        self.events.push(Reverse(Event {
            time_us,
            number: self.made,
            path,
            what,
        }));
        self.made += 1;
    }

    fn time_us(&self, path: &M::Path) -> f64 {
        self.machine.time_us(path, self.unit_bytes)
    }

    fn finish(self) -> Result<Walk<M::Path>, WalkError> {
        let mut finish = Vec::with_capacity(self.ranks.len());
        for (rank, state) in self.ranks.iter().enumerate() {
            let path = state.finish.ok_or(WalkError::Stuck { rank: rank as u32 })?;
            let time_us = self.time_us(&path);
            finish.push(Finish { time_us, path });
        }
        Ok(Walk {
            finish,
            unit_bytes: self.unit_bytes,
            messages: self.started,
        })
    }
}
