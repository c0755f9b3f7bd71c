//! The story of a run: for each step the messages, and tables of what every rank holds then.

use super::Style;
use crate::call::{Collective, Unit};
use crate::machine::{Fabric, Torus};
use alloc::string::String;
use alloc::vec::Vec;

/// How a cell's content came there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It stood there before the step, or was moved locally.
    Unchanged,
    /// It was received in the step.
    Received,
    /// It was combined in the step.
    Combined,
}

/// One block of one rank at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// What it holds, by unit and ranks; empty where it holds nothing.
    pub text: String,
    /// The number of the piece of data, `None` where the cell is empty.
    pub unit: Option<Unit>,
    /// The label of the piece: a letter, a rank's number, a pair `ij`.
    pub part: String,
    /// The ranks whose contributions are combined in it, `0-3`; empty where nothing is reduced.
    pub ranks: String,
    /// How it came there.
    pub state: State,
    /// Whether it is sent in the next step.
    pub sent_next: bool,
}

/// What every rank holds at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// When: `initially`, `after step 2`, `result`, ….
    pub title: String,
    /// For each row (block), the cells by rank.
    pub rows: Vec<Vec<Cell>>,
}

/// A message of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// The port.
    pub port: u8,
    /// The number of its lane in [`Story::lanes`].
    pub lane: usize,
    /// What it carries: `0-3`, `01 03 05`, `A-D0-1`, or `signal`.
    pub what: String,
    /// How much that is: `2 blocks`, `n/2`; empty for a signal.
    pub amount: String,
    /// Whether the receiver combines it with its own.
    pub combined: bool,
}

/// A step: the messages that travel together, and what is held when they have arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The step's number; 0 for the time before the first.
    pub number: u32,
    /// The messages, by sender and receiver.
    pub messages: Vec<Message>,
    /// What is held afterwards: one table, or more where blocks are then rearranged.
    pub tables: Vec<Table>,
    /// The ranks that in this step only make up for a number of ranks that is no power of two.
    pub overhead: Vec<bool>,
}

/// A run of an algorithm as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// Collective, algorithm, parameters, ranks.
    pub title: String,
    /// The algorithm's summary and its source.
    pub subtitle: String,
    /// The collective.
    pub collective: Collective,
    /// The number of ranks.
    pub ranks: u32,
    /// The style of the paper's figure.
    pub style: Style,
    /// The time before the first step, then the steps.
    pub steps: Vec<Step>,
    /// Where the ranks are, if that is said.
    pub torus: Option<Torus>,
    /// On a torus: what streams, or else ways of messages, are called.
    pub lanes: Vec<String>,
    /// The hardware in which all ranks meet, if they do.
    pub meets_in: Option<Fabric>,
}

impl Story {
    /// Whether some steps only make up for a number of ranks that is no power of two.
    #[must_use]
    pub fn has_overhead(&self) -> bool {
        self.steps.iter().any(|step| step.overhead.contains(&true))
    }
}
