//! The timeline: what every block of every rank held after each round, and the messages that moved it.

use super::{DrawError, MAX_NODES, MAX_PARTS, MAX_RANKS, align, live};
use crate::algorithm::Algorithm;
use crate::call::{Alias, Call};
use crate::schedule::{Schedule, Shape, Space};
use crate::symbolic::{Delivery, Observer, Sets, Value, World, run_observed};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// A block of a rank.
pub(super) type Place = (Space, u32);

/// A value that a block holds from the end of `round` on, when the rank has done `items` items.
#[derive(Clone, Copy, Debug)]
struct Moment {
    round: u32,
    items: u32,
    /// The item that wrote it; none where it was there before the run.
    writer: Option<u32>,
    value: Value,
}

/// A run of a world, by rounds.
pub(super) struct Timeline {
    pub call: Call,
    pub schedules: Vec<Schedule>,
    /// In the order of rounds, senders, receivers.
    pub messages: Vec<Delivery>,
    pub rounds: u32,
    /// For each round (0 is before the first), the ranks that only make up for a number of ranks that is no power of two.
    pub overhead: Vec<Vec<bool>>,
    pub sets: Sets,
    /// The round in which each rank did each of its items.
    items: Vec<Vec<u32>>,
    history: BTreeMap<(u32, Space, u32), Vec<Moment>>,
}

struct Recorder<'a> {
    call: &'a Call,
    schedules: &'a [Schedule],
    messages: Vec<Delivery>,
    items: Vec<Vec<u32>>,
    history: BTreeMap<(u32, Space, u32), Vec<Moment>>,
    sets: Option<Sets>,
}

impl Recorder<'_> {
    fn note(
        &mut self,
        rank: u32,
        (space, block): Place,
        (round, writer): (u32, u32),
        value: Value,
    ) {
        let items = self.items[rank as usize].len() as u32;
        let place = home(self.call, &self.schedules[rank as usize], (space, block));
        let moment = Moment {
            round,
            items,
            writer: Some(writer),
            value,
        };
        self.history
            .entry((rank, place.0, place.1))
            .or_default()
            .push(moment);
    }
}

impl Observer for Recorder<'_> {
    fn delivered(&mut self, delivery: Delivery) {
        // A message that arrives belongs to the item in progress.
        let when = (
            delivery.round,
            self.items[delivery.to as usize].len() as u32,
        );
        for (&place, &value) in delivery.received.iter().zip(&delivery.landed) {
            self.note(delivery.to, place, when, value);
        }
        self.messages.push(delivery);
    }

    fn item_done(&mut self, rank: u32, item: u32, round: u32, read: &dyn Fn(Space, u32) -> Value) {
        self.items[rank as usize].push(round);
        for place in live::written(&self.schedules[rank as usize], item) {
            self.note(rank, place, (round, item), read(place.0, place.1));
        }
    }

    fn finished(&mut self, sets: &Sets) {
        self.sets = Some(sets.clone());
    }
}

/// Where a block really lies when input and output share memory.
pub(super) fn home(call: &Call, schedule: &Schedule, (space, block): Place) -> Place {
    match (call.alias(schedule.rank, schedule.parts), space) {
        (Alias::InputInOutput { first }, Space::Input) => (Space::Output, first + block),
        (Alias::OutputInInput { first }, Space::Output) => (Space::Input, first + block),
        _ => (space, block),
    }
}

impl Timeline {
    /// Runs the algorithm.
    pub(super) fn new(algorithm: &Algorithm, shape: &Shape) -> Result<Timeline, DrawError> {
        algorithm.admits(shape).map_err(DrawError::Unsuitable)?;
        let most = match shape.torus {
            Some(_) => MAX_NODES,
            None => MAX_RANKS,
        };
        within("ranks", shape.ranks(), most)?;
        within("parts", (algorithm.parts)(shape), MAX_PARTS)?;
        let call = shape.call;
        let schedules: Vec<Schedule> = (0..call.ranks)
            .map(|rank| {
                let mut builder = algorithm.builder(shape, rank).with_views();
                (algorithm.build)(&mut builder);
                builder.finish()
            })
            .collect();
        let mut recorder = Recorder {
            call: &call,
            schedules: &schedules,
            messages: Vec::new(),
            items: vec![Vec::new(); schedules.len()],
            history: BTreeMap::new(),
            sets: None,
        };
        let world = World {
            call: &call,
            schedules: &schedules,
        };
        run_observed(&[world], &mut recorder).map_err(DrawError::Broken)?;
        let Recorder {
            messages,
            items,
            history,
            sets,
            ..
        } = recorder;
        let mut timeline = Timeline {
            call,
            messages: data_only(messages),
            rounds: 0,
            overhead: Vec::new(),
            sets: sets.unwrap_or_else(|| Sets::new(false)),
            items,
            history,
            schedules,
        };
        timeline.begin();
        timeline.arrange();
        Ok(timeline)
    }

    /// Notes what the input holds before the run.
    fn begin(&mut self) {
        for schedule in &self.schedules {
            let rank = schedule.rank;
            for block in 0..self.call.input_blocks(rank, schedule.parts) {
                let content = self.call.before(rank, block, schedule.parts);
                let value = match content.contributions {
                    None => Value::data(content.unit),
                    Some((start, end)) => self.sets.value(content.unit, start, end),
                };
                let (space, at) = home(&self.call, schedule, (Space::Input, block));
                let moment = Moment {
                    round: 0,
                    items: 0,
                    writer: None,
                    value,
                };
                self.history
                    .entry((rank, space, at))
                    .or_default()
                    .insert(0, moment);
            }
        }
    }

    /// Brings everything into the order of rounds, after lining up what runs beside a fold.
    fn arrange(&mut self) {
        let lines = align::align(&self.call, &self.messages);
        for message in &mut self.messages {
            message.round = lines.round(message.from, message.round);
        }
        self.messages
            .sort_by_key(|m| (m.round, m.from, m.to, m.port));
        for (rank, items) in (0..).zip(&mut self.items) {
            items
                .iter_mut()
                .for_each(|round| *round = lines.round(rank, *round));
        }
        for (&(rank, ..), moments) in &mut self.history {
            moments
                .iter_mut()
                .for_each(|m| m.round = lines.round(rank, m.round));
            moments.sort_by_key(|m| m.round);
        }
        self.rounds = self.messages.last().map_or(0, |m| m.round);
        self.overhead = align::overhead(&lines, &self.messages, self.rounds, self.call.ranks);
    }

    /// The messages of a round.
    pub(super) fn messages_of(&self, round: u32) -> &[Delivery] {
        let start = self.messages.partition_point(|m| m.round < round);
        let end = self.messages.partition_point(|m| m.round <= round);
        &self.messages[start..end]
    }

    /// The number of items that a rank has done by the end of a round.
    pub(super) fn items_by(&self, rank: u32, round: u32) -> u32 {
        self.items[rank as usize]
            .iter()
            .filter(|r| **r <= round)
            .count() as u32
    }

    /// What a block holds at the end of a round, when its rank has done at most `items` items.
    pub(super) fn value(&self, rank: u32, place: Place, round: u32, items: u32) -> Value {
        self.moment(rank, place, round, items)
            .map_or(Value::NONE, |m| m.value)
    }

    /// The item that wrote what a block holds at the end of a round.
    pub(super) fn writer(&self, rank: u32, place: Place, round: u32) -> Option<u32> {
        self.moment(rank, place, round, u32::MAX)?.writer
    }

    fn moment(&self, rank: u32, place: Place, round: u32, items: u32) -> Option<&Moment> {
        let (space, block) = home(&self.call, &self.schedules[rank as usize], place);
        let moments = self.history.get(&(rank, space, block))?;
        let known = |m: &&Moment| m.round <= round && m.items <= items;
        moments.iter().rev().find(known)
    }

    /// Every block that a rank holds something in at the end of a round, with what it holds.
    pub(super) fn held(&self, rank: u32, round: u32) -> impl Iterator<Item = (Place, Value)> {
        let first = (rank, Space::Input, 0);
        let blocks = self.history.range(first..(rank + 1, Space::Input, 0));
        blocks.filter_map(move |(&(_, space, block), moments)| {
            let last = moments.iter().rev().find(|m| m.round <= round)?;
            Some(((space, block), last.value))
        })
    }
}

fn within(what: &'static str, found: u32, limit: u32) -> Result<(), DrawError> {
    if found <= limit {
        return Ok(());
    }
    Err(DrawError::TooLarge { what, found, limit })
}

/// Messages between ranks; signals without data only where there is nothing else (in a barrier), and before all data (in a prefix).
fn data_only(messages: Vec<Delivery>) -> Vec<Delivery> {
    let carries = |m: &&Delivery| m.from != m.to && !m.values.is_empty();
    let first = messages.iter().filter(carries).map(|m| m.round).min();
    let comes_before = |m: &Delivery| first.is_none_or(|first| m.round < first);
    let shown = |m: &Delivery| m.from != m.to && (comes_before(m) || !m.values.is_empty());
    messages.into_iter().filter(shown).collect()
}
