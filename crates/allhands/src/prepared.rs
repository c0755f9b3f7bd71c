//! Prepared calls: the plan that serves a call's shape, kept for the next call of the same shape.

use crate::error::Error;
use crate::operation::{CallShape, Counts, Operation};
use crate::transport::TransportError;
use crate::transport::node::{Flight, Port, Stamp};
use allhands_core::algorithm::{self, Algorithm, Unsuitable, print_parameters};
use allhands_core::call::{Call, Collective};
use allhands_core::machine::Nodes;
use allhands_core::progress::Cursor;
use allhands_core::schedule::{Layout, Plan, Shape, Space};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What decides which plan serves a call: never an address.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    shape: CallShape,
    algorithm: Option<String>,
    /// The lengths of the blocks, where they have lengths of their own: as this rank was told, and as ranks then told
    /// one another, if the algorithm needs all of them.
    lengths: Option<(Counts, Option<Layout>)>,
}

impl Key {
    /// The key of a call; `exchanged` are the lengths that ranks told one another.
    pub(crate) fn of(operation: &Operation<'_>, exchanged: Option<&Layout>) -> Key {
        let lengths = operation.lengths();
        Key {
            shape: operation.shape(),
            algorithm: operation.algorithm.clone(),
            lengths: lengths.map(|counts| (counts.clone(), exchanged.cloned())),
        }
    }

    /// Whether this is the key of a call, without making another key.
    #[inline]
    fn fits(&self, operation: &Operation<'_>, exchanged: Option<&Layout>) -> bool {
        let same_lengths = match (&self.lengths, operation.lengths()) {
            (None, None) => true,
            (Some((counts, told)), Some(own)) => counts == own && told.as_ref() == exchanged,
            (None, Some(_)) | (Some(_), None) => false,
        };
        same_lengths
            && self.shape == operation.shape()
            && self.algorithm.as_deref() == operation.algorithm.as_deref()
    }
}

/// An algorithm's plan for one shape of call.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) shape: Shape,
    pub(crate) plan: Plan,
}

impl Prepared {
    /// Whether the plan uses a window, which one call at a time owns.
    pub(crate) fn has_window(&self) -> bool {
        self.plan.flags > 0 || self.plan.space_bytes[Space::Window.index()] > 0
    }

    /// Builds and lowers the schedule of `rank`.
    pub(crate) fn new(
        algorithm: &'static Algorithm,
        shape: Shape,
        rank: usize,
        layout: &Layout,
        element_bytes: usize,
    ) -> Result<Prepared, Error> {
        let (collective, name) = (algorithm.collective, algorithm.name);
        algorithm
            .admits(&shape)
            .map_err(|source| unsuitable(algorithm, source))?;
        let schedule = algorithm.schedule(&shape, rank as u32);
        let plan =
            Plan::lower(&schedule, &shape.call, layout, element_bytes).map_err(|source| {
                Error::Layout {
                    collective,
                    algorithm: name,
                    source,
                }
            })?;
        Ok(Prepared {
            algorithm,
            shape,
            plan,
        })
    }

    /// The algorithm with its parameters, as typed.
    pub(crate) fn name(&self) -> String {
        let name = match print_parameters(self.algorithm.keys, &self.shape.parameters).as_str() {
            "" => self.algorithm.name.to_string(),
            parameters => format!("{}:{parameters}", self.algorithm.name),
        };
        match (self.shape.nodes == Nodes::one(), self.shape.torus) {
            (true, None) => name,
            (_, Some(torus)) => format!("{name} on torus {torus}"),
            (false, None) => format!("{name} on nodes {}", self.shape.nodes),
        }
    }
}

/// What is said of an algorithm that does not serve a call.
pub(crate) fn unsuitable(algorithm: &Algorithm, source: Unsuitable) -> Error {
    Error::Unsuitable {
        collective: algorithm.collective,
        algorithm: algorithm.name,
        source,
    }
}

/// Finds an algorithm by what the user typed: `NAME` or `NAME:key=value,…`.
pub(crate) fn named(call: &Call, text: &str) -> Result<(&'static Algorithm, Shape), Error> {
    let collective = call.collective;
    let (name, parameters) = text.split_once(':').unwrap_or((text, ""));
    let found = algorithm::find(collective, name).ok_or_else(|| {
        let known: Vec<&str> = algorithm::of(collective).map(|a| a.name).collect();
        Error::NoSuchAlgorithm {
            collective,
            name: name.to_string(),
            known: known.join(", "),
        }
    })?;
    let shape = found
        .shape(*call, parameters)
        .map_err(|source| Error::Parameters {
            collective,
            algorithm: found.name,
            source,
        })?;
    Ok((found, shape))
}

/// What a call in progress needs besides its plan; reused by later calls of the same shape.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) flight: Flight,
    pub(crate) cursor: Cursor,
    /// Its place among those of its plan.
    place: usize,
}

/// The plans of recent shapes, at most [`PlanCache::MOST`] of each kind.
///
/// Ranks keep plans with windows alike, as a window is laid out by all of them: they see the same shapes in the same order.
/// Irregular shapes they may lawfully see differently, so plans for those, unless they have windows (for which
/// all ranks know all lengths), are kept apart and do not push others out.
#[derive(Debug)]
pub(crate) struct PlanCache {
    entries: Vec<Entry>,
    /// The entry of each collective's last call: a call that is repeated, among those of others, compares with this alone.
    last: [usize; Collective::ALL.len()],
    /// Irregular shapes without windows.
    irregular: Vec<Entry>,
    /// The irregular entry of the last irregular call.
    last_irregular: usize,
    /// Unlike that of every other cache of this process, and of this one before entries moved.
    generation: u64,
}

/// Where a regular shape's entry stands, as long as entries of its cache do not move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    generation: u64,
    at: usize,
}

/// A generation that no cache has had.
fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Only that no two are the same counts.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A shape that has been called.
#[derive(Debug)]
pub(crate) struct Entry {
    key: Key,
    pub(crate) prepared: Arc<Prepared>,
    /// The signature that every call shows.
    pub(crate) stamp: Stamp,
    /// What takes calls through the plan; `None`: out with a call.
    running: Vec<Option<Box<Running>>>,
    /// Calls so far. They take turns among [`Entry::TURNS`] places, so that a rank that is ahead finds a window, and a stage
    /// for long messages, that its peers have done with; all ranks make the same turns.
    calls: usize,
}

/// What an entry has for the next call.
pub(crate) enum Turn {
    /// This.
    Ready(Box<Running>),
    /// Nothing: a call that is under way owns the window whose turn it is.
    Taken,
    /// To be made, for this place.
    Missing(usize),
}

impl Entry {
    /// How many calls in a row use different windows.
    const TURNS: usize = 2;

    /// What the next call runs with; counts the call, unless its turn is [`Turn::Taken`].
    #[inline]
    pub(crate) fn turn(&mut self) -> Turn {
        match self.ready_turn() {
            Some(running) => Turn::Ready(running),
            None => self.make_turn(self.calls % Entry::TURNS),
        }
    }

    /// What the next call runs with, if it is there; otherwise nothing changes.
    #[inline]
    pub(crate) fn ready_turn(&mut self) -> Option<Box<Running>> {
        let running = self.running.get_mut(self.calls % Entry::TURNS)?.take()?;
        self.calls += 1;
        Some(running)
    }

    #[cold]
    fn make_turn(&mut self, place: usize) -> Turn {
        if place < self.running.len() && self.prepared.has_window() {
            return Turn::Taken;
        }
        self.calls += 1;
        if place < self.running.len() {
            // Without a window any will do.
            if let Some(running) = self.running.iter_mut().find_map(Option::take) {
                return Turn::Ready(running);
            }
        }
        self.running.push(None);
        Turn::Missing(self.running.len() - 1)
    }

    /// What a turn that is missing runs with; window keys, where there is a window, are the same on all ranks.
    pub(crate) fn make(
        port: &Port,
        plan: &Plan,
        window_key: u64,
        stamp: &Stamp,
        place: usize,
    ) -> Result<Box<Running>, TransportError> {
        Ok(Box::new(Running {
            flight: Flight::new(port, plan, window_key, stamp)?,
            cursor: Cursor::new(plan),
            place,
        }))
    }

    /// Takes back what an ended call ran with.
    #[inline]
    pub(crate) fn give_back(&mut self, running: Box<Running>) {
        let place = running.place;
        self.running[place] = Some(running);
    }
}

impl PlanCache {
    /// How many shapes are kept.
    const MOST: usize = 64;

    pub(crate) fn new() -> PlanCache {
        PlanCache {
            entries: Vec::new(),
            last: [0; Collective::ALL.len()],
            irregular: Vec::new(),
            last_irregular: 0,
            generation: next_generation(),
        }
    }

    /// Where the entry of a regular call stands, if its shape has been called.
    pub(crate) fn place(&self, operation: &Operation<'_>) -> Option<Place> {
        let fits = |entry: &Entry| entry.key.fits(operation, None);
        let last = self.last[operation.collective as usize];
        let at = match self.entries.get(last) {
            Some(entry) if fits(entry) => last,
            _ => self.entries.iter().position(fits)?,
        };
        (!operation.irregular()).then_some(Place {
            generation: self.generation,
            at,
        })
    }

    /// The entry at a place, if it still stands there.
    #[inline]
    pub(crate) fn at(&mut self, place: Place) -> Option<&mut Entry> {
        match place.generation == self.generation {
            true => self.entries.get_mut(place.at),
            false => None,
        }
    }

    /// The entry of a call, if its shape has been called; `exchanged` are the lengths that ranks told one another.
    #[inline]
    pub(crate) fn find(
        &mut self,
        operation: &Operation<'_>,
        exchanged: Option<&Layout>,
    ) -> Option<&mut Entry> {
        let fits = |entry: &Entry| entry.key.fits(operation, exchanged);
        if operation.lengths().is_some()
            && self.irregular.get(self.last_irregular).is_some_and(fits)
        {
            return self.irregular.get_mut(self.last_irregular);
        }
        let last = self.last[operation.collective as usize];
        if self.entries.get(last).is_some_and(fits) {
            return self.entries.get_mut(last);
        }
        self.search(operation, exchanged)
    }

    #[cold]
    fn search(
        &mut self,
        operation: &Operation<'_>,
        exchanged: Option<&Layout>,
    ) -> Option<&mut Entry> {
        let fits = |entry: &Entry| entry.key.fits(operation, exchanged);
        if let Some(found) = self.entries.iter().position(fits) {
            self.last[operation.collective as usize] = found;
            return self.entries.get_mut(found);
        }
        operation.lengths()?;
        self.last_irregular = self.irregular.iter().position(fits)?;
        self.irregular.get_mut(self.last_irregular)
    }

    /// Keeps a plan, in the place of the oldest of its kind if there are too many.
    pub(crate) fn insert(&mut self, key: Key, prepared: Prepared, stamp: Stamp) -> &mut Entry {
        let apart = key.lengths.is_some() && !prepared.has_window();
        let collective = key.shape.collective as usize;
        let entries = if apart {
            &mut self.irregular
        } else {
            &mut self.entries
        };
        if entries.len() == Self::MOST {
            entries.remove(0);
            self.generation = next_generation();
        }
        let at = entries.len();
        entries.push(Entry {
            key,
            prepared: Arc::new(prepared),
            stamp,
            running: Vec::new(),
            calls: 0,
        });
        match apart {
            true => self.last_irregular = at,
            false => self.last[collective] = at,
        }
        &mut entries[at]
    }

    /// Takes back what an ended call ran with, if its shape is still kept.
    pub(crate) fn give_back(&mut self, prepared: &Arc<Prepared>, running: Box<Running>) {
        let of_plan = |entry: &&mut Entry| Arc::ptr_eq(&entry.prepared, prepared);
        let mut entries = self.entries.iter_mut().chain(&mut self.irregular);
        if let Some(entry) = entries.find(of_plan) {
            entry.give_back(running);
        }
    }
}
