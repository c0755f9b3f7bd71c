//! The walk: a world of schedules run in Hockney's time.
//!
//! A message starts when both of its ends have come to it and have a free port each, the one that was ready first
//! first; it then holds both ports for its whole length. A rank reduces (and copies) one thing at a time. A
//! put with its notification is one message; a put's and a get's far end needs a port but no operation.
//! Times are computed from exact counts, so the walk is deterministic and ties are ties.

mod flags;
mod message;
mod strand;

#[cfg(test)]
mod tests;

use super::hockney::{Breakdown, Hockney};
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
pub struct Finish {
    /// The time since all ranks entered.
    pub time_us: f64,
    /// The path's make; costs `time_us`.
    pub path: Breakdown,
}

/// A walked world.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// When each rank was done.
    pub finish: Vec<Finish>,
    /// The bytes of a unit in the breakdowns.
    pub unit_bytes: f64,
    /// Messages in all.
    pub messages: u64,
}

impl Walk {
    /// The last rank's finish: the time of the collective.
    #[must_use]
    pub fn last(&self) -> Finish {
        let later = |a: Finish, b: &Finish| if b.time_us > a.time_us { *b } else { a };
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
    /// When it starts.
    pub start_us: f64,
    /// When it has arrived.
    pub end_us: f64,
    /// Its length.
    pub bytes: f64,
}

/// Walks the schedules of `call`, one a rank, on `machine` with `ports` ports a rank.
///
/// # Errors
/// A [`WalkError`] if a size is not known or a rank waits for ever.
pub fn walk(
    call: &Call,
    schedules: &[Schedule],
    sizes: Sizes<'_>,
    machine: &Hockney,
    ports: u32,
) -> Result<Walk, WalkError> {
    walk_observed(call, schedules, sizes, machine, ports, &mut |_| {})
}

/// [`walk`], with every message told to `observer` when it starts.
///
/// # Errors
/// A [`WalkError`] if a size is not known or a rank waits for ever.
pub fn walk_observed(
    call: &Call,
    schedules: &[Schedule],
    sizes: Sizes<'_>,
    machine: &Hockney,
    ports: u32,
    observer: &mut dyn FnMut(Transfer),
) -> Result<Walk, WalkError> {
    if ports == 0 {
        return Err(WalkError::NoPorts);
    }
    let mut walker = Walker::new(call, schedules, sizes, machine, ports, observer);
    walker.run()?;
    walker.finish()
}

/// An operation under way.
#[derive(Clone, Copy, Debug)]
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
    /// The message has arrived.
    Arrived(u32),
    /// The operation is done.
    Done(Instance),
}

#[derive(Clone, Copy, Debug)]
struct Event {
    time_us: f64,
    /// Breaks ties: first made, first handled.
    number: u64,
    path: Breakdown,
    what: What,
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Event) -> Ordering {
        self.time_us
            .total_cmp(&other.time_us)
            .then(self.number.cmp(&other.number))
    }
}

struct RankState {
    strands: Vec<StrandState>,
    /// When its processor is free.
    busy_until: Breakdown,
    /// Sends and receives towards this rank that have not met, by (sender, channel).
    meetings: BTreeMap<(u32, u16), Meeting>,
    finish: Option<Breakdown>,
}

struct Walker<'a> {
    call: &'a Call,
    schedules: &'a [Schedule],
    sizes: Sizes<'a>,
    machine: &'a Hockney,
    unit_bytes: f64,
    observer: &'a mut dyn FnMut(Transfer),
    ranks: Vec<RankState>,
    /// For each rank its sending side, then its receiving side.
    sides: Vec<PortSide>,
    /// Sides on which something may now start.
    dirty: Vec<u32>,
    messages: Vec<Message>,
    /// Messages that became ready in the present moment.
    fresh: Vec<Message>,
    flags: Flags,
    puts: BTreeMap<(u32, u16, u32), Puts>,
    ready: Vec<(u32, u16, Breakdown)>,
    events: BinaryHeap<Reverse<Event>>,
    made: u64,
    /// The number of the present moment.
    moment: u64,
}

/// Times closer than this part of themselves are one moment: roundings of equal sums.
const SAME_MOMENT: f64 = 1.0 + 1e-12;

impl<'a> Walker<'a> {
    fn new(
        call: &'a Call,
        schedules: &'a [Schedule],
        sizes: Sizes<'a>,
        machine: &'a Hockney,
        ports: u32,
        observer: &'a mut dyn FnMut(Transfer),
    ) -> Walker<'a> {
        let rank_state = |s: &Schedule| RankState {
            strands: s.strands.iter().map(|_| StrandState::default()).collect(),
            busy_until: Breakdown::default(),
            meetings: BTreeMap::new(),
            finish: None,
        };
        Walker {
            call,
            schedules,
            sizes,
            machine,
            unit_bytes: sizes.unit_bytes(schedules.first().map_or(1, |s| s.parts)),
            observer,
            ranks: schedules.iter().map(rank_state).collect(),
            sides: vec![PortSide::new(ports); 2 * schedules.len()],
            dirty: Vec::new(),
            messages: Vec::new(),
            fresh: Vec::new(),
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
                    .push((rank as u32, strand as u16, Breakdown::default()));
            }
        }
        self.run_ready()?;
        self.start_messages();
        while let Some(Reverse(event)) = self.events.pop() {
            self.moment += 1;
            self.handle(event)?;
            let end = event.time_us * SAME_MOMENT;
            while let Some(Reverse(event)) = self.pop_until(end) {
                self.handle(event)?;
            }
            self.run_ready()?;
            self.start_messages();
        }
        Ok(())
    }

    fn pop_until(&mut self, end_us: f64) -> Option<Reverse<Event>> {
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

    fn handle(&mut self, event: Event) -> Result<(), WalkError> {
        match event.what {
            What::Arrived(message) => self.arrived(message, event.path),
            What::Done(instance) => {
                self.complete(instance, event.path);
                Ok(())
            }
        }
    }

    fn push_event(&mut self, path: Breakdown, what: What) {
        let time_us = self.time_us(&path);
        self.events.push(Reverse(Event {
            time_us,
            number: self.made,
            path,
            what,
        }));
        self.made += 1;
    }

    fn time_us(&self, path: &Breakdown) -> f64 {
        self.machine.time_us(path, self.unit_bytes)
    }

    fn finish(self) -> Result<Walk, WalkError> {
        let mut finish = Vec::with_capacity(self.ranks.len());
        for (rank, state) in self.ranks.iter().enumerate() {
            let path = state.finish.ok_or(WalkError::Stuck { rank: rank as u32 })?;
            let time_us = self.time_us(&path);
            finish.push(Finish { time_us, path });
        }
        Ok(Walk {
            finish,
            unit_bytes: self.unit_bytes,
            messages: self.messages.len() as u64,
        })
    }
}
