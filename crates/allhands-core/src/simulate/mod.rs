//! The simulator: the plans of all ranks run in virtual time, on the model of a machine.
//!
//! ```text
//! plans ─▶ world ── sends ──▶ network ─┐
//!            ▲                         │  both put events into the queue
//!            └──── events by time ◀────┘
//! ```
//!
//! The same interpreter as on real transports ([`progress`](crate::progress)) takes each rank further; what an operation costs,
//! a [`Network`] says: of its processors and of what lies between. The same input gives the same result, to the picosecond: events of one
//! moment happen in the order in which they were caused.

pub mod cell;
mod check;
mod cluster;
mod dragonfly;
mod fat_tree;
mod flags;
mod flat;
mod inflow;
mod lanes;
mod level;
mod links;
mod meetings;
mod network;
mod observer;
mod plogp;
mod queue;
mod rails;
mod record;
mod routed;
mod state;
#[cfg(test)]
mod tests;
mod time;
mod torus;
mod world;

use crate::machine::Fabric;
use crate::schedule::Plan;
use alloc::vec::Vec;
use core::fmt;

pub use check::Checker;
pub use cluster::{Cluster, ClusterTimes, Moving, Reach};
pub use dragonfly::{Dragonfly, DragonflyRoutes};
pub use fat_tree::{FatTree, FatTreeRoutes, Level, MOST_LINKS, Spread};
pub use flat::{Flat, Head, LogGp, Times};
pub use level::{AloneCurves, ClusterLevel, Curves, WindowCurves};
pub use links::{Gauges, Link, LinkLoad, Place, Use, Watch};
pub use network::{Envelope, Event, Kind, Network, Processor, Task, Work};
pub use observer::{Observer, Purpose};
pub use plogp::{Curve, CurveError, PLogP};
pub use queue::{Moment, Queue};
pub use rails::{Passing, RailTimes, Rails};
pub use record::{Carried, Recorder, Span};
pub use routed::{AtLink, Eager, Hop, Routed, Routes};
pub use time::Linear;
pub use torus::{Beginning, NetworkError, Step, TorusNetwork, TorusSettings, Tree};

/// What a simulation gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// When each rank was done, in picoseconds.
    pub ends_ps: Vec<Moment>,
    /// Messages sent, notifications and the requests of gets among them.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Events that happened.
    pub events: u64,
}

impl Outcome {
    /// When the last rank was done, in picoseconds.
    #[must_use]
    pub fn completion_ps(&self) -> Moment {
        self.ends_ps.iter().copied().max().unwrap_or(0)
    }
}

/// Why plans do not end; those of verified schedules always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimulateError {
    /// A rank waits for what never comes.
    Waits {
        /// The rank.
        rank: u32,
    },
    /// The machine has no such hardware for ranks to meet in.
    NoFabric {
        /// The hardware.
        fabric: Fabric,
    },
    /// A rank is sent what it never receives.
    Unexpected {
        /// The sender.
        from: u32,
        /// The receiver.
        to: u32,
    },
}

impl fmt::Display for SimulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimulateError::Waits { rank } => write!(
                f,
                "rank {rank} waits for what never comes; allhands verify says what is wrong with the schedule"
            ),
            SimulateError::NoFabric { fabric } => write!(
                f,
                "the machine has no {} for all ranks to meet in; bluegene-l has",
                fabric.name()
            ),
            SimulateError::Unexpected { from, to } => write!(
                f,
                "rank {from} sends to rank {to}, which never receives from there; allhands verify says more"
            ),
        }
    }
}

impl core::error::Error for SimulateError {}

/// Runs the plans of all ranks, in order of their ranks, from the same moment on.
///
/// # Errors
/// What keeps a rank from its end.
pub fn simulate<N: Network>(plans: &[Plan], network: &mut N) -> Result<Outcome, SimulateError> {
    world::run(plans, network, &mut ())
}

/// The same, while somebody looks on.
///
/// # Errors
/// What keeps a rank from its end.
pub fn simulate_observed<N: Network, O: Observer>(
    plans: &[Plan],
    network: &mut N,
    observer: &mut O,
) -> Result<Outcome, SimulateError> {
    world::run(plans, network, observer)
}
