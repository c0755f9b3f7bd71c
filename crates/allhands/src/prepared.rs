//! Prepared calls: the plan that serves a call's shape, kept for the next call of the same shape.

use crate::error::Error;
use crate::operation::Operation;
use crate::transport::TransportError;
use crate::transport::node::{Flight, Port, Stamp};
use allhands_core::algorithm::{self, Algorithm, print_parameters};
use allhands_core::call::Call;
use allhands_core::progress::Cursor;
use allhands_core::schedule::{Layout, Plan, Shape, Space};
use std::sync::Arc;

/// What decides which plan serves a call: never an address, never a list of counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) call: Call,
    /// Elements of the vector or of a block.
    elements: usize,
    /// Whether `elements` are those of a block.
    blocks: bool,
    pub(crate) element: u64,
    pub(crate) operator: u32,
    algorithm: Option<String>,
}

impl Key {
    /// The key of a call, or `None` if its blocks have lengths of their own, which are not kept.
    pub(crate) fn of(call: &Call, layout: &Layout, operation: &Operation<'_>) -> Option<Key> {
        let (elements, blocks) = match layout {
            Layout::Even(elements) => (*elements, false),
            Layout::Regular(elements) => (*elements, true),
            Layout::Blocks(_) | Layout::Pairs(_) | Layout::Own { .. } | Layout::Exchange { .. } => {
                return None;
            }
        };
        Some(Key {
            call: *call,
            elements,
            blocks,
            element: operation.element.signature.code(),
            operator: operation.reduction.map_or(0, |r| r.signature.code()),
            algorithm: operation.algorithm.clone(),
        })
    }

    /// Whether this is the key of a call, without making another key.
    fn fits(&self, call: &Call, layout: &Layout, operation: &Operation<'_>) -> bool {
        let same_length = match layout {
            Layout::Even(elements) => !self.blocks && self.elements == *elements,
            Layout::Regular(elements) => self.blocks && self.elements == *elements,
            Layout::Blocks(_) | Layout::Pairs(_) | Layout::Own { .. } | Layout::Exchange { .. } => {
                false
            }
        };
        same_length
            && self.call == *call
            && self.element == operation.element.signature.code()
            && self.operator == operation.reduction.map_or(0, |r| r.signature.code())
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
            .map_err(|source| Error::Unsuitable {
                collective,
                algorithm: name,
                source,
            })?;
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
        match print_parameters(self.algorithm.keys, &self.shape.parameters).as_str() {
            "" => self.algorithm.name.to_string(),
            parameters => format!("{}:{parameters}", self.algorithm.name),
        }
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

/// What a call in progress needs besides its plan; reused by the next call of the same shape.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) flight: Flight,
    pub(crate) cursor: Cursor,
}

impl Running {
    /// Cursor and flight for a plan; `window_key` as [`Flight::new`] wants it.
    pub(crate) fn new(
        port: &Port,
        plan: &Plan,
        window_key: u64,
    ) -> Result<Running, TransportError> {
        Ok(Running {
            flight: Flight::new(port, plan, window_key)?,
            cursor: Cursor::new(plan),
        })
    }
}

/// The plans of recent shapes, at most [`PlanCache::MOST`].
#[derive(Debug)]
pub(crate) struct PlanCache {
    entries: Vec<Entry>,
    /// The entry of the last call: a repeated call compares with this one alone.
    last: usize,
}

/// A shape that has been called.
#[derive(Debug)]
pub(crate) struct Entry {
    key: Key,
    pub(crate) prepared: Arc<Prepared>,
    /// The signature that every call shows.
    pub(crate) stamp: Stamp,
    /// The key of its window, if the plan has one.
    pub(crate) window_key: u64,
    /// Cursors and scratch of calls that have ended.
    pub(crate) idle: Vec<Running>,
}

impl PlanCache {
    /// How many shapes are kept.
    const MOST: usize = 64;

    pub(crate) fn new() -> PlanCache {
        PlanCache {
            entries: Vec::new(),
            last: 0,
        }
    }

    /// The entry of a call, if its shape has been called.
    pub(crate) fn find(
        &mut self,
        call: &Call,
        layout: &Layout,
        operation: &Operation<'_>,
    ) -> Option<&mut Entry> {
        let hit = self
            .entries
            .get(self.last)
            .is_some_and(|e| e.key.fits(call, layout, operation));
        if !hit {
            self.last = self
                .entries
                .iter()
                .position(|e| e.key.fits(call, layout, operation))?;
        }
        self.entries.get_mut(self.last)
    }

    /// Keeps a plan, in the place of the oldest if there are too many.
    pub(crate) fn insert(
        &mut self,
        key: Key,
        prepared: Arc<Prepared>,
        stamp: Stamp,
        window_key: u64,
    ) {
        if self.entries.len() == Self::MOST {
            self.entries.remove(0);
        }
        self.entries.push(Entry {
            key,
            prepared,
            stamp,
            window_key,
            idle: Vec::new(),
        });
        self.last = self.entries.len() - 1;
    }

    /// Takes back what an ended call used, if its shape is still kept.
    pub(crate) fn give_back(&mut self, prepared: &Arc<Prepared>, running: Running) {
        let last = self
            .entries
            .get(self.last)
            .is_some_and(|e| Arc::ptr_eq(&e.prepared, prepared));
        let at = if last {
            Some(self.last)
        } else {
            self.entries
                .iter()
                .position(|e| Arc::ptr_eq(&e.prepared, prepared))
        };
        if let Some(entry) = at.and_then(|at| self.entries.get_mut(at)) {
            entry.idle.push(running);
        }
    }
}
