//! The symbolic run of a world of schedules: what every block holds, who waits for whom, and when.
//!
//! Data are names, not bytes: a block holds a unit, or a unit with the ranks whose contributions it combines.
//! Messages are synchronous (nothing is buffered); as matching does not depend on timing and flags only
//! grow, one maximal run decides every run. `verify` asks whether the laws held, `draw` what moved
//! when; both stand downstream of this.

mod flags;
mod memory;
mod order;
mod run;
mod value;

pub use run::{Entered, run, run_apart, run_observed};
pub use value::{Sets, Value};

use crate::call::{Call, Unit};
use crate::schedule::{Schedule, Space};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The laws that every algorithm obeys, by their numbers in docs/schedules.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// 1: every send meets exactly one receive of the same blocks, every wait its notifications, whatever the timing.
    Matching,
    /// 2: it ends, even when no message is buffered.
    Termination,
    /// 3: each contribution enters each result exactly once, in rank order where that matters.
    Result,
    /// 4: nothing is read before it is written, no two unordered operations touch the same block
    /// unless both read, and the input is never written.
    Hazard,
    /// 5: windows are touched only between the notifications that grant it.
    Window,
    /// 6: ports, steps, volume and work are what the algorithm claims.
    Claim,
}

impl Law {
    /// The law's number.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Law::Matching => 1,
            Law::Termination => 2,
            Law::Result => 3,
            Law::Hazard => 4,
            Law::Window => 5,
            Law::Claim => 6,
        }
    }
}

/// A broken law: where and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The law.
    pub law: Law,
    /// The rank at which it showed.
    pub rank: u32,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "law {}, rank {}: {}",
            self.law.number(),
            self.rank,
            self.what
        )
    }
}

impl core::error::Error for Failure {}

/// What a run cost, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The most messages that a rank sends, or receives, at once.
    pub ports: u32,
    /// The rounds of messages from the first to the last.
    pub steps: u32,
    /// The most blocks that a rank sends, or receives.
    pub volume: u64,
    /// The most blocks that a rank reduces.
    pub work: u64,
    /// Messages in all (puts and notifications without a put counted too).
    pub messages: u64,
}

/// One call in a run: the call and every rank's part.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// The call.
    pub call: &'a Call,
    /// The schedules, by rank.
    pub schedules: &'a [Schedule],
}

/// A message that was delivered, as an [`Observer`] sees it.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// The round in which it travelled, counted from 1.
    pub round: u32,
    /// The port.
    pub port: u8,
    /// The sender's blocks.
    pub sent: Vec<(Space, u32)>,
    /// The receiver's blocks.
    pub received: Vec<(Space, u32)>,
    /// What they held when they were sent.
    pub values: Vec<Value>,
    /// What the receiver's blocks held after it.
    pub landed: Vec<Value>,
    /// Whether the receiver combined it with its own.
    pub reduced: bool,
}

/// Sees a run as it goes, for pictures.
pub trait Observer {
    /// Whether it wants deliveries at all.
    fn watches(&self) -> bool {
        true
    }

    /// A message was delivered, by whatever operation carries data (a notification has no blocks).
    fn delivered(&mut self, _delivery: Delivery) {}

    /// `rank` has done item `item` of strand 0 by the end of round `round`; `read` tells what a block holds.
    fn item_done(
        &mut self,
        _rank: u32,
        _item: u32,
        _round: u32,
        _read: &dyn Fn(Space, u32) -> Value,
    ) {
    }

    /// The run is over and every law held; `sets` tells which contributions the values combine.
    fn finished(&mut self, _sets: &Sets) {}
}

/// An observer that looks away.
pub struct Nobody;

impl Observer for Nobody {
    fn watches(&self) -> bool {
        false
    }
}

/// The unit that a block of `schedule` stands for.
#[must_use]
pub fn unit_of(schedule: &Schedule, call: &Call, space: Space, block: u32) -> Unit {
    let regions = match space {
        Space::Input => return call.input_unit(schedule.rank, block, schedule.parts),
        Space::Output => return call.output_unit(schedule.rank, block, schedule.parts),
        Space::Scratch => &schedule.scratch,
        Space::Window => &schedule.window,
    };
    let region = &regions[regions.partition_point(|r| r.first + r.blocks <= block)];
    region.units.unit(block - region.first)
}
