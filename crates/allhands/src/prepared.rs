//! Prepared calls: the plan that serves a call's shape, kept for the next call of the same shape.

mod cache;

use crate::error::Error;
use crate::operation::{CallShape, Counts, Operation};
use crate::transport::TransportError;
use crate::transport::endpoint::state::endpoint::Endpoint;
use crate::transport::endpoint::state::request::RequestState;
use crate::transport::shm::failure::member::Stamp;
use crate::transport::shm::queue::ring::EAGER_BYTES;
use crate::transport::shm::segment::window::{WindowSet, WindowSize};
use allhands_core::algorithm::{self, Algorithm, Unsuitable, print_parameters};
use allhands_core::call::Call;
use allhands_core::machine::Nodes;
use allhands_core::progress::Cursor;
use allhands_core::schedule::{Layout, OpKind, Plan, PlanOp, Shape, Space};
pub(crate) use cache::{Place, PlanCache};
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
    fn digest(&self) -> u32 {
        self.shape.digest()
    }

    /// The key of a call; `exchanged` are the lengths that ranks told one another.
    pub(crate) fn of(operation: &Operation<'_>, exchanged: Option<&Layout>) -> Key {
        let lengths = operation.lengths();
        Key {
            shape: operation.shape(),
            algorithm: operation.algorithm.clone(),
            lengths: lengths.map(|counts| (counts.clone(), exchanged.cloned())),
        }
    }

    /// Whether this is the key of a call, whatever lengths ranks told one another.
    fn is_of(&self, operation: &Operation<'_>) -> bool {
        let own = self.lengths.as_ref().map(|(counts, _)| counts);
        own == operation.lengths()
            && self.shape == operation.shape()
            && self.algorithm.as_deref() == operation.algorithm.as_deref()
    }

    /// Whether this is the key of a call, without making another key.
    #[inline]
    fn fits(&self, operation: &Operation<'_>, exchanged: Option<&Layout>) -> bool {
        let same_lengths = match (&self.lengths, operation.lengths()) {
            (None, None) => true,
            (Some((counts, others)), Some(own)) => counts == own && others.as_ref() == exchanged,
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

    /// Whether it has messages that may be bounced for their receivers.
    fn has_long_messages(&self) -> bool {
        let is_long =
            |op: &PlanOp| matches!(op.kind, OpKind::Send { .. }) && op.bytes() > EAGER_BYTES;
        self.plan.ops.iter().any(is_long)
    }

    /// The bytes of a set of windows and flags for so many ranks; 0: it has none.
    fn window_bytes(&self, ranks: u32) -> usize {
        let extent = WindowSize {
            bytes: self.plan.space_bytes[Space::Window.index()],
            flags: usize::from(self.plan.flags),
        };
        match self.has_window() {
            true => WindowSet::size(ranks, extent),
            false => 0,
        }
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
        let name = typed_name(self.algorithm, &self.shape);
        match (self.shape.nodes == Nodes::one(), self.shape.torus) {
            (true, None) => name,
            (_, Some(torus)) => format!("{name} on torus {torus}"),
            (false, None) => format!("{name} on nodes {}", self.shape.nodes),
        }
    }
}

/// An algorithm as the user types it, with the parameters of a call.
pub(crate) fn typed_name(algorithm: &Algorithm, shape: &Shape) -> String {
    match print_parameters(algorithm.keys, &shape.parameters).as_str() {
        "" => algorithm.name.to_string(),
        parameters => format!("{}:{parameters}", algorithm.name),
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
    pub(crate) request: RequestState,
    pub(crate) cursor: Cursor,
    /// Its place among those of its plan.
    place: usize,
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
    /// Calls so far. They take turns among [`Entry::TURNS`] places, so that a rank that is ahead finds a window, and a bounce buffer
    /// for long messages, that its peers have done with; all ranks make the same turns. Where there is neither, one place does.
    calls: usize,
    /// The bits of a call's number that say whose turn it is.
    turns: usize,
    /// The calls when the entry was last considered for another's place.
    calls_then: usize,
    /// The bytes of all its windows.
    window_bytes: usize,
    /// Unlike that of every other entry of this process.
    id: u64,
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
    const _POWER_OF_TWO: () = assert!(Entry::TURNS.is_power_of_two());

    /// One without calls, on a node with `ranks` ranks.
    fn new(key: Key, prepared: Prepared, stamp: Stamp, ranks: u32) -> Entry {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Entry {
            key,
            turns: match prepared.has_window() || prepared.has_long_messages() {
                true => Entry::TURNS - 1,
                false => 0,
            },
            window_bytes: Entry::TURNS * prepared.window_bytes(ranks),
            prepared: Arc::new(prepared),
            stamp,
            running: Vec::new(),
            calls: 0,
            // As if its first call had been considered: one alone spares nobody.
            calls_then: 1,
            // Only that no two are the same counts.
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// What the next call runs with; counts the call, unless its turn is [`Turn::Taken`].
    #[inline]
    pub(crate) fn turn(&mut self) -> Turn {
        match self.ready_turn() {
            Some(running) => Turn::Ready(running),
            None => self.make_turn(self.calls & self.turns),
        }
    }

    /// What the next call runs with, if it is there; otherwise nothing changes.
    #[inline]
    pub(crate) fn ready_turn(&mut self) -> Option<Box<Running>> {
        let running = self.running.get_mut(self.calls & self.turns)?.take()?;
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
        if self.running.len() == self.running.capacity() {
            self.running.reserve_exact(1);
        }
        self.running.push(None);
        Turn::Missing(self.running.len() - 1)
    }

    /// What a turn that is missing runs with; window keys, where there is a window, are the same on all ranks.
    pub(crate) fn make(
        endpoint: &Endpoint,
        plan: &Plan,
        window_key: u64,
        stamp: &Stamp,
        place: usize,
    ) -> Result<Box<Running>, TransportError> {
        Ok(Box::new(Running {
            request: RequestState::new(endpoint, plan, window_key, stamp)?,
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
